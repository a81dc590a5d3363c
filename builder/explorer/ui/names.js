// What a tensor is, in words, and what its rows and columns stand for.
import { parsed } from "../engine/names.js";
import { h } from "./dom.js";
import { ROOT } from "./page.js";
import { languages, LANGUAGES } from "./words.js";

/** @type {Record<Kind, string>} */
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

// "Decoder layer 4, cross-attention: attention weights"
/** @type {(name: string) => string} */
export function tensorTitle(name) {
  const { kind, stack, layer, module } = parsed(name);
  const { title } = BOOK.kinds[kind];
  if (stack === "output") return capital(title);
  if (layer === undefined) return `${capital(stack)}: ${title}`;
  const masked = stack === "decoder" && module === "self_attention" ? "masked " : "";
  return `${capital(stack)} layer ${layer + 1}, ${masked}${MODULES[module.replace(/_\d$/, "")]}: ${title}`;
}

/** @type {(text: string) => string} */
export const capital = (text) => text[0].toUpperCase() + text.slice(1);

/**
 * What rows or columns stand for: if it is tokens, these tokens, and what comes `next` after each.
 * @typedef {{ name: string, tokens?: string[], next?: string[], language?: string, direction?: string }} Axis
 */

// What the rows and columns of a tensor stand for. A row of the decoder comes after one token and predicts the `next`.
/** @type {(name: string, result: Result) => { rows: Axis & { tokens: string[] }, columns: Axis }} */
export function axes(name, { source, target, direction }) {
  const { kind, stack, module } = parsed(name);
  const [from, to] = languages(direction);
  const reads = { name: `${LANGUAGES[from]} tokens`, tokens: source.tokens, language: from };
  const writes = {
    name: `${LANGUAGES[to]} tokens`,
    tokens: ["<bos>", ...target.tokens.slice(0, -1)],
    next: target.tokens,
    language: to,
  };
  if (stack === "output")
    return { rows: writes, columns: { name: "the vocabulary, which both languages share", direction } };
  const queries = stack === "encoder" ? reads : writes;
  const keys = module === "cross_attention" ? reads : queries;
  if (["scores", "weights"].includes(kind)) return { rows: queries, columns: keys };
  return { rows: ["key", "value"].includes(kind) ? keys : queries, columns: { name: "features" } };
}

/** @type {(number: number) => HTMLElement} */
export function chapterLink(number) {
  const { title, page } = BOOK.chapters[number];
  return h("a", { href: `${ROOT}${page}.html` }, `Chapter ${number}: ${title}`);
}
