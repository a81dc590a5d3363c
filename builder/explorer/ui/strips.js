// The numbers that the picture shows: the engine's tensors, or, until a model is loaded, those of the first frame.

/** @type {WeakMap<Result, Map<string, Promise<ArrayLike<number>[]>>>} */
const readBefore = new WeakMap();

// These tensors of a result. Each is read once; if that fails, the next call asks the engine again.
/** @type {(session: Session, result: Result, names: string[]) => Promise<Rows>} */
export async function readStrips(session, result, names) {
  const known = readBefore.get(result) ?? new Map();
  readBefore.set(result, known);
  const rows = names.map((name) => {
    if (!known.has(name)) {
      const reading = result.frame ? stored(name, result) : session.tensor(result, name);
      known.set(name, reading);
      reading.catch(() => known.delete(name));
    }
    return known.get(name);
  });
  const all = await Promise.all(rows);
  return Object.fromEntries(names.map((name, i) => [name, all[i]]));
}

// Rows that the book was built with: signed bytes, of which 127 is full color.
/** @type {(name: string, frame: FirstFrame) => Promise<Float32Array[]>} */
async function stored(name, { source, target }) {
  const bytes = Int8Array.from(atob(BOOK.frame.strips[name]), (one) => one.charCodeAt(0));
  const { length } = (name.startsWith("encoder") ? source : target).tokens;
  const width = bytes.length / length;
  return Array.from({ length }, (_, row) =>
    Float32Array.from(bytes.subarray(row * width, (row + 1) * width), (byte) => (byte * BOOK.full) / 127),
  );
}
