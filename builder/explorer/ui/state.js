// The explorer's state: what it shows, also as the fragment of an address.
import { STOPS } from "./stops.js";
/** @import { Head, Kind } from "../engine/transformer.js" */

export const LONGEST = 400; // characters of a sentence: more would take a phone too long

export const START = {
  direction: "en-de",
  text: "",
  prefix: /** @type {number[]} */ ([]), // ids that the target must begin with
  forced: /** @type {number[]} */ ([]), // the steps of the prefix that the reader forced; its last is one of them
  ablated: /** @type {Head[]} */ ([]), // heads that are switched off: [kind, layer, head]
  view: /** @type {Kind} */ ("cross"), // whose attention is drawn: "encoder", "decoder" or "cross"
  layer: /** @type {number | null} */ (3), // null: the mean of all
  head: /** @type {number | null} */ (null), // null: the mean of all
  step: 0, // the target token in focus
  stop: /** @type {number | null} */ (null), // of that token in the picture; null: all stops together
  word: 0, // the source token in focus, if the encoder is drawn
  tensor: "", // the tensor that is open
  at: /** @type {number[]} */ ([]), // the number in it
};

/** @typedef {typeof START} State */
/** @typedef {{ direction: string, text: string }} Typed  a sentence and its direction */

// The prefix of a target's ids that ends with the last forced token: the tokens after it need not be fixed.
/** @type {(ids: number[], forced: number[]) => { prefix: number[], forced: number[] }} */
export const forcing = (ids, forced) => ({ prefix: ids.slice(0, (forced.at(-1) ?? -1) + 1), forced });

// Whether two objects, such as states, have the same sentence and the same direction.
/** @type {(one: Typed, other: Typed) => boolean} */
export const sameSentence = (one, other) => one.text === other.text && one.direction === other.direction;

// Whether a head is among these: [kind, layer, head].
/** @type {(heads: Head[], one: Head) => boolean} */
export const holdsHead = (heads, one) => heads.some((other) => String(other) === String(one));

/** @type {(text: string, separator: string) => string[]} */
const list = (text, separator) => (text ? text.split(separator) : []);
/** @type {(text: string) => number | null} */
const whole = (text) => (text === "mean" ? null : Number(text));

/** @type {Record<string, (value: any) => unknown>} */
const WRITE = {
  prefix: (ids) => ids.join("."),
  forced: (steps) => steps.join("."),
  ablated: (/** @type {Head[]} */ heads) => heads.map((head) => head.join(".")).join("_"),
  layer: (layer) => layer ?? "mean",
  head: (head) => head ?? "mean",
  at: (index) => index.join("."),
};
/** @type {Record<string, (text: string) => unknown>} */
const READ = {
  prefix: (text) => list(text, ".").map(Number),
  forced: (text) => list(text, ".").map(Number),
  ablated: (text) =>
    list(text, "_")
      .map((head) => head.split("."))
      .map(([kind, ...place]) => [kind, ...place.map(Number)]),
  layer: whole,
  head: whole,
  step: Number,
  stop: Number,
  word: Number,
  at: (text) => list(text, ".").map(Number),
};

/** @type {(state: State) => string} */
export function toFragment(state) {
  /** @type {(name: string, from: Record<string, unknown>) => string} */
  const text = (name, from) => String((WRITE[name] ?? String)(from[name]));
  const told = Object.keys(START).filter(
    (name) => ["direction", "text"].includes(name) || text(name, state) !== text(name, START),
  );
  return `#${new URLSearchParams(told.map((name) => [name, text(name, state)]))}`;
}

// The state in a fragment, or null if there is none or if it is invalid.
/** @type {(fragment: string) => State | null} */
export function fromFragment(fragment) {
  const fields = Object.fromEntries(new URLSearchParams(fragment.slice(1)));
  if (!fields.text || !fields.direction) return null;
  const state = { ...START };
  for (const name of Object.keys(START))
    if (name in fields) Object.assign(state, { [name]: (READ[name] ?? String)(fields[name]) });
  return possible(state) ? state : null;
}

/** @type {(state: State) => boolean} */
function possible({ direction, text, prefix, forced, ablated, view, layer, head, step, stop, word, at }) {
  /** @type {(value: number) => boolean} */
  const count = (value) => Number.isInteger(value) && value >= 0;
  /** @type {(value: number, limit: number) => boolean} */
  const below = (value, limit) => count(value) && value < limit;
  const { layers, heads, vocabulary, special } = BOOK.shape;
  const kinds = ["encoder", "decoder", "cross"];
  return (
    Object.hasOwn(BOOK.models, direction) &&
    text.length <= LONGEST &&
    kinds.includes(view) &&
    (layer === null || below(layer, layers)) &&
    (head === null || below(head, heads)) &&
    (stop === null || below(stop, STOPS.length)) &&
    [step, word, ...at].every(count) &&
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
