// What a tensor is, from its name: "decoder.layers.3.cross_attention.weights".
import { h } from "./dom.js";
import { ROOT } from "./page.js";
import { languages, LANGUAGES } from "./words.js";
/** @import { Result } from "./session.js" */

/** @typedef {{ kind: string, stack: string, layer?: number, module: string }} Place  of a tensor in the model */
/**
 * What rows or columns stand for, if it is tokens, these tokens, and what comes `next` after each.
 * @typedef {{ name: string, tokens?: string[], next?: string[], language?: string, direction?: string }} Axis
 */

/** @typedef {{ rows: Axis & { tokens: string[] }, columns: Axis }} Axes */

export const KINDS_OF_ATTENTION = {
  encoder: "encoder self-attention",
  decoder: "decoder self-attention",
  cross: "cross-attention",
};

/** @type {Record<string, string>} */
const MODULES = {
  self_attention: "self-attention",
  cross_attention: "cross-attention",
  feed_forward: "feed-forward network",
  add_norm: "Add & Norm",
};
/** @type {(name: string) => string} */
const kindOfTensor = (name) => name.slice(name.lastIndexOf(".") + 1).replace(/_\d$/, "");

/** @type {(name: string) => Place} */
export function parsed(name) {
  const [stack, layers, layer, module] = name.split(".");
  const kind = kindOfTensor(name);
  if (layers !== "layers") return { kind, stack: layers ? stack : "output", module: "" };
  return { kind, stack, layer: Number(layer), module };
}

/** @type {(place: { stack: string, module: string }) => string} */
export function moduleTitle({ stack, module }) {
  const words = MODULES[module.replace(/_\d$/, "")];
  return stack === "decoder" && module === "self_attention" ? `masked ${words}` : words;
}

// "Decoder layer 4, cross-attention: attention weights"
/** @type {(name: string) => string} */
export function tensorTitle(name) {
  const place = parsed(name);
  const { title } = BOOK.kinds[place.kind];
  if (place.stack === "output") return capital(title);
  const stack = capital(place.stack);
  return place.layer === undefined
    ? `${stack}: ${title}`
    : `${stack} layer ${place.layer + 1}, ${moduleTitle(place)}: ${title}`;
}

/** @type {(text: string) => string} */
export const capital = (text) => text[0].toUpperCase() + text.slice(1);

// What the rows and columns of a tensor stand for: { name, tokens } if it is tokens, otherwise { name }.
// A row of the decoder comes after one token and predicts the `next`.
/** @type {(name: string, result: Result) => Axes} */
export function axes(name, result) {
  const { kind, stack, module } = parsed(name);
  const [from, to] = languages(result.direction);
  const source = { name: `${LANGUAGES[from]} tokens`, tokens: result.source.tokens, language: from };
  const read = {
    name: `${LANGUAGES[to]} tokens`,
    tokens: ["<bos>", ...result.target.tokens.slice(0, -1)],
    next: result.target.tokens,
    language: to,
  };
  const own = stack === "encoder" ? source : read;
  const memory = module === "cross_attention" ? source : own;
  if (stack === "output")
    return {
      rows: read,
      columns: { name: "the vocabulary, which both languages share", direction: result.direction },
    };
  if (["scores", "weights"].includes(kind)) return { rows: own, columns: memory };
  return { rows: ["key", "value"].includes(kind) ? memory : own, columns: { name: "features" } };
}

// A link to the chapter that explains something.
/** @type {(number: number) => HTMLElement} */
export function chapterLink(number) {
  const { title, page } = BOOK.chapters[number];
  return h("a", { href: `${ROOT}${page}.html` }, `Chapter ${number}: ${title}`);
}
