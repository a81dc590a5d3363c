// The explorer's state: what it shows, also as the fragment of an address.

const START = {
  direction: "en-de",
  text: "",
  prefix: [], // ids that the target must begin with
  forced: [], // the steps of the prefix that the reader forced; its last is one of them
  ablated: [], // heads that are switched off: [kind, layer, head]
  view: "cross", // whose attention is drawn: "encoder", "decoder" or "cross"
  layer: 3, // null: the mean of all
  head: null, // null: the mean of all
  step: 0, // the target token in focus
  word: 0, // the source token in focus, if the encoder is drawn
  tensor: "", // the tensor that is open
  at: [], // the number in it
};

// The prefix of a target's ids that ends with the last forced token: the tokens after it need not be fixed.
const forcing = (ids, forced) => ({ prefix: ids.slice(0, (forced.at(-1) ?? -1) + 1), forced });

// Whether two objects, such as states, have the same sentence and the same direction.
const sameSentence = (one, other) => one.text === other.text && one.direction === other.direction;

// Whether a head is among these: [kind, layer, head].
const holdsHead = (heads, one) => heads.some((other) => String(other) === String(one));

const list = (text, separator) => (text ? text.split(separator) : []);
const whole = (text) => (text === "mean" ? null : Number(text));

const WRITE = {
  prefix: (ids) => ids.join("."),
  forced: (steps) => steps.join("."),
  ablated: (heads) => heads.map((head) => head.join(".")).join("_"),
  layer: (layer) => layer ?? "mean",
  head: (head) => head ?? "mean",
  at: (index) => index.join("."),
};
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
  word: Number,
  at: (text) => list(text, ".").map(Number),
};

function toFragment(state) {
  const text = (name, from) => String((WRITE[name] ?? String)(from[name]));
  const told = Object.keys(START).filter(
    (name) => ["direction", "text"].includes(name) || text(name, state) !== text(name, START),
  );
  return `#${new URLSearchParams(told.map((name) => [name, text(name, state)]))}`;
}

// The state in a fragment, or null if there is none or if it is invalid.
function fromFragment(fragment) {
  const fields = Object.fromEntries(new URLSearchParams(fragment.slice(1)));
  if (!fields.text || !fields.direction) return null;
  const state = { ...START };
  for (const name of Object.keys(START))
    if (name in fields) state[name] = (READ[name] ?? String)(fields[name]);
  if (!("forced" in fields)) state.forced = [...state.prefix.keys()].slice(-1); // an old link: only the last one is certain
  return possible(state) ? state : null;
}

function possible({ direction, text, prefix, forced, ablated, view, layer, head, step, word, at }) {
  const count = (value) => Number.isInteger(value) && value >= 0;
  const below = (value, limit) => count(value) && value < limit;
  const { layers, heads, vocabulary, special } = BOOK.shape;
  const kinds = ["encoder", "decoder", "cross"];
  return (
    Object.hasOwn(BOOK.models, direction) &&
    text.length <= LONGEST &&
    kinds.includes(view) &&
    (layer === null || below(layer, layers)) &&
    (head === null || below(head, heads)) &&
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
