// The numbers that the picture shows: the engine's tensors, or, until a model is loaded, those of the first frame.

export class Strips {
  /** @param {Session} session */
  constructor(session) {
    this.session = session;
    /** @type {WeakMap<Result, Map<string, Promise<ArrayLike<number>[]>>>} */
    this.known = new WeakMap();
  }

  // These tensors of a result.
  /** @type {(result: Result, names: string[]) => Promise<Rows>} */
  async read(result, names) {
    const known = this.known.get(result) ?? new Map();
    this.known.set(result, known);
    for (const name of names) if (!known.has(name)) known.set(name, this.one(result, name, known));
    const rows = await Promise.all(names.map((name) => known.get(name)));
    return Object.fromEntries(names.map((name, i) => [name, rows[i]]));
  }

  /** @type {(result: Result, name: string, known: Map<string, unknown>) => Promise<ArrayLike<number>[]>} */
  async one(result, name, known) {
    if (result.frame) return stored(name, result.target.tokens.length, result.source.tokens.length);
    try {
      return /** @type {Matrix} */ (await this.session.tensor(result, name));
    } catch (error) {
      known.delete(name); // the next call asks the engine again
      throw error;
    }
  }
}

// Rows that the book was built with: signed bytes, of which 127 is full color.
/** @type {(name: string, targets: number, sources: number) => Float32Array[]} */
function stored(name, targets, sources) {
  const bytes = Int8Array.from(atob(BOOK.frame.strips[name]), (one) => one.charCodeAt(0));
  const count = name.startsWith("encoder") ? sources : targets;
  const width = bytes.length / count;
  return Array.from({ length: count }, (_, row) =>
    Float32Array.from(bytes.subarray(row * width, (row + 1) * width), (byte) => (byte * BOOK.full) / 127),
  );
}

// Whether all of these are stored with the first frame.
/** @type {(names: string[]) => boolean} */
export const areStored = (names) => names.every((name) => name in BOOK.frame.strips);
