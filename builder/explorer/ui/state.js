// The explorer's state: what it shows, also as the fragment of an address.
import { STOPS } from "./stops.js";

export const LONGEST = 400; // characters of a sentence: more would take a phone too long

export const START = {
  direction: "en-de",
  text: "",
  prefix: /** @type {number[]} */ ([]), // ids that the target must begin with
  forced: /** @type {number[]} */ ([]), // the steps of the prefix that the reader forced; its last is one of them
  ablated: /** @type {Head[]} */ ([]), // heads that are switched off
  view: /** @type {Kind} */ ("cross"), // whose attention is drawn
  layer: /** @type {number | null} */ (3), // null: the mean of all
  head: /** @type {number | null} */ (null), // null: the mean of all
  step: 0, // the target token in focus
  stop: /** @type {number | null} */ (null), // of that token in the picture; null: all stops together
  word: 0, // the source token in focus, if the encoder is drawn
  tensor: "", // the tensor that is open
  at: /** @type {number[]} */ ([]), // the number in it
};

// The prefix of a target's ids that ends with the last forced token: the tokens after it need not be fixed.
/** @type {(ids: number[], forced: number[]) => { prefix: number[], forced: number[] }} */
export const forcing = (ids, forced) => ({ prefix: ids.slice(0, (forced.at(-1) ?? -1) + 1), forced });

// Whether two objects, such as states, have the same sentence and the same direction.
/** @type {(one: Typed, other: Typed) => boolean} */
export const sameSentence = (one, other) => one.text === other.text && one.direction === other.direction;

/** @type {(heads: Head[], one: Head) => boolean} */
export const holdsHead = (heads, one) => heads.some((other) => String(other) === String(one));

// How the fields that are no text are written and read.
/** @typedef {{ write: (value: any) => string, read: (text: string) => unknown }} Format */
/** @type {Format} */
const NUMBER = {
  write: (place) => String(place ?? "mean"),
  read: (text) => (text === "mean" ? null : Number(text)),
};
/** @type {Format} */
const LIST = {
  write: (numbers) => numbers.join("."),
  read: (text) => (text ? text.split(".").map(Number) : []),
};
/** @type {Record<string, Format>} */
const FORMATS = {
  prefix: LIST,
  forced: LIST,
  ablated: {
    write: (/** @type {Head[]} */ heads) => heads.map((head) => head.join(".")).join("_"),
    read: (text) =>
      text.split("_").flatMap((head) => {
        const [kind, ...place] = head.split(".");
        return head ? [[kind, ...place.map(Number)]] : [];
      }),
  },
  layer: NUMBER,
  head: NUMBER,
  step: NUMBER,
  stop: NUMBER,
  word: NUMBER,
  at: LIST,
};

/** @type {(state: State) => string} */
export function toFragment(state) {
  /** @type {(name: string, from: Record<string, unknown>) => string} */
  const text = (name, from) => (FORMATS[name]?.write ?? String)(from[name]);
  const changed = Object.keys(START).filter(
    (name) => ["direction", "text"].includes(name) || text(name, state) !== text(name, START),
  );
  return `#${new URLSearchParams(changed.map((name) => [name, text(name, state)]))}`;
}

// The state in a fragment, or null if there is none or if it is invalid.
/** @type {(fragment: string) => State | null} */
export function fromFragment(fragment) {
  const fields = Object.fromEntries(new URLSearchParams(fragment.slice(1)));
  if (!fields.text || !fields.direction) return null;
  const state = { ...START };
  for (const name of Object.keys(START))
    if (name in fields) Object.assign(state, { [name]: (FORMATS[name]?.read ?? String)(fields[name]) });
  return possible(state) ? state : null;
}

/** @type {(state: State) => boolean} */
function possible({ direction, text, prefix, forced, ablated, view, layer, head, step, stop, word, at }) {
  /** @type {(value: number | null, limit?: number) => boolean} */
  const below = (value, limit = Infinity) =>
    Number.isInteger(value) && Number(value) >= 0 && Number(value) < limit;
  const { layers, heads, vocabulary, special } = BOOK.shape;
  const kinds = ["encoder", "decoder", "cross"];
  return (
    Object.hasOwn(BOOK.models, direction) &&
    text.length <= LONGEST &&
    kinds.includes(view) &&
    (layer === null || below(layer, layers)) &&
    (head === null || below(head, heads)) &&
    (stop === null || below(stop, STOPS.length)) &&
    [step, word, ...at].every((place) => below(place)) &&
    prefix.every(
      (id, i) =>
        below(id, vocabulary) &&
        ![special.pad, special.bos].includes(id) &&
        (id !== special.eos || i === prefix.length - 1),
    ) &&
    forced.every((step, i) => below(step, prefix.length) && (i === 0 || step > forced[i - 1])) &&
    prefix.length === (forced.at(-1) ?? -1) + 1 &&
    ablated.every(
      ([kind, layer, head, ...more]) =>
        kinds.includes(kind) && below(layer, layers) && below(head, heads) && !more.length,
    ) &&
    new Set(ablated.map(String)).size === ablated.length
  );
}
