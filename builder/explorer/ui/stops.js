// The picture as data: its parts from the bottom up, and the eight stops of a token on its way through them.
import { exactPercent, heaviest, plain, reads, SPECIAL } from "./words.js";

// It has done its work before the first stop.
/** @type {Part[]} */
export const ENCODER = [
  { box: "embedding", tensor: "encoder.embedding", role: "first", stop: 0 },
  { box: "+ position", tensor: "encoder.embedded", role: "first", stop: 0 },
  { box: "self-attention", tensor: ".self_attention.output", role: "query", stop: 0, inLayer: true },
  { box: "Add & Norm", tensor: ".add_norm_1", role: "muted", stop: 0, inLayer: true },
  { box: "feed-forward", tensor: ".feed_forward.activation", role: "value", stop: 0, inLayer: true },
  { box: "Add & Norm", tensor: ".add_norm_2", role: "muted", stop: 0, inLayer: true },
];

/** @type {Part[]} */
export const DECODER = [
  { box: "embedding", tensor: "decoder.embedding", role: "first", stop: 0 },
  { box: "+ position", tensor: "decoder.embedded", role: "first", stop: 1, past: "decoder.positions" },
  { tensor: "input", role: "muted", stop: 2, inLayer: true },
  { box: "self-attention", tensor: ".self_attention.output", role: "query", stop: 2, inLayer: true },
  { box: "Add & Norm", tensor: ".add_norm_1", role: "muted", stop: 3, past: "input", inLayer: true },
  { box: "cross-attention", tensor: ".cross_attention.output", role: "query", stop: 4, inLayer: true },
  { box: "Add & Norm", tensor: ".add_norm_2", role: "muted", stop: 4, past: ".add_norm_1", inLayer: true },
  {
    box: "feed-forward",
    tensor: ".feed_forward.contract",
    role: "value",
    stop: 5,
    cells: ".feed_forward.activation",
    inLayer: true,
  },
  { box: "Add & Norm", tensor: ".add_norm_3", role: "muted", stop: 5, past: ".add_norm_2", inLayer: true },
];

// Stops at which something happens that happens nowhere else.
export const SELF_ATTENTION = 2;
export const CROSS_ATTENTION = 4;
export const DROP = 7; // the word drops into the decoder's input

/** @type {Part} */
export const SOFTMAX = { box: "softmax", tensor: "probabilities", role: "output", stop: 6 };

// The parts if this layer is drawn: those below it are passed at the second stop, those above it before softmax.
/** @type {(layer: number) => Part[]} */
export function partsAt(layer) {
  const stop = [1, SOFTMAX.stop];
  const closed = Array.from({ length: BOOK.shape.layers }, (_, i) => ({
    tensor: fullName(".add_norm_3", "decoder", i),
    role: "muted",
    stop: stop[Number(i > layer)],
    closed: i + 1,
  }));
  return [...DECODER.slice(0, 2), ...closed.slice(0, layer), ...DECODER.slice(2), ...closed.slice(layer + 1)];
}

// The engine's name of a tensor of a part: "input" is what enters the layer.
/** @type {(tensor: string, stack: "encoder" | "decoder", layer: number) => string} */
export function fullName(tensor, stack, layer) {
  if (tensor.startsWith(".")) return `${stack}.layers.${layer}${tensor}`;
  if (tensor === "input") return layer ? `decoder.layers.${layer - 1}.add_norm_3` : "decoder.embedded";
  return tensor;
}

// The vectors that the decoder reads: those of the encoder's last layer.
export const memoryName = () => `encoder.layers.${BOOK.shape.layers - 1}.add_norm_2`;

/** @type {(token: string, place: number) => string} */
const name = (token, place) => (token in SPECIAL ? `the ${SPECIAL[token]} sign` : `“${plain(token, place)}”`);

/** @type {(tokens: string[], row: number[] | null) => string} */
const gathers = (tokens, row) => {
  if (!row) return "nothing, since these heads are off";
  const most = heaviest(row).slice(0, 2);
  if (!most.length) return "a little of each";
  const rest = most.reduce((left, key) => left - Math.round(100 * row[key]), 100);
  return reads(tokens, row, most) + (rest > 0 ? `, the others ${rest}%` : "");
};

/** @type {(values: ArrayLike<number>) => number} */
const active = (values) => Array.from(values).filter((value) => value > 0).length;

/** @typedef {{ title: string, chapter: number, words: (scene: Scene) => string }} Stop */
/** @type {Stop[]} */
export const STOPS = [
  {
    title: "Embedding",
    chapter: 7,
    words: ({ read, step }) =>
      `The encoder has read the whole sentence, once. Now the last word written, ${name(read[step], step)}, is looked up in a table: ${BOOK.shape.width} numbers, drawn as a strip.`,
  },
  {
    title: "+ position",
    chapter: 8,
    words: ({ layer, step }) =>
      `A second strip, of sines and cosines, is added: it marks place ${step + 1}${step ? ", counted from the start sign" : ""}. Then the strip passes through ${BOOK.shape.layers} layers with the same parts, each with weights of its own; layer ${layer + 1} is drawn open.`,
  },
  {
    title: "Self-attention",
    chapter: 4,
    words: ({ read, past }) =>
      `Only attention moves numbers sideways. Learned matrices turn strips into a query here, and a key and a value for each word; softmax of query · key / √${BOOK.shape.width / BOOK.shape.heads} is the share of each value (mean of ${BOOK.shape.heads} heads): ${gathers(read, past)}.`,
  },
  {
    title: "Add & Norm",
    chapter: 9,
    words: () =>
      "The old strip went past the box, unchanged; the new one, what was gathered, is added to it, and the sum is brought to one scale.",
  },
  {
    title: "Cross-attention",
    chapter: 12,
    words: ({ source, cross }) =>
      `Sideways again, with keys and values of the other sentence’s strips, which the encoder made once: ${gathers(source, cross)}; then Add & Norm.`,
  },
  {
    title: "Feed-forward",
    chapter: 10,
    words: ({ hidden }) =>
      `Attention only averages. A small network, on this strip alone, combines what was collected: ${active(hidden)} of its ${hidden.length} cells are on; then Add & Norm.`,
  },
  {
    title: "Softmax",
    chapter: 13,
    words: ({ written, step, probability, top }) =>
      `Each of ${BOOK.shape.vocabulary.toLocaleString("en")} tokens has its own strip in the table of stop 1; its dot product with this strip, through softmax (exponentials, divided by their sum), is its probability: ${name(written, step)} ${exactPercent(probability)}. The bars are the ${top.length} likeliest; the others share the rest.`,
  },
  {
    title: "The next word",
    chapter: 18,
    words: ({ written, step, id }) =>
      id === BOOK.shape.special.eos
        ? "The end sign is written, so the translation is complete."
        : `${name(written, step)} drops into the decoder’s input, and the same way begins again for the word after it.`,
  },
];

/** @type {(scene: Scene) => string} */
export const overview = ({ read, written, step }) =>
  `Each word is made this way, from the bottom up: here ${name(written, step)}, from ${name(read[step], step)} and all that it reads.`;
