// How numbers and tokens are written and read out.
import { h } from "./dom.js";

// Tables without a prototype: a token may be "constructor".
/** @type {Record<string, string | null>} */
export const LANGUAGES = { __proto__: null, en: "English", de: "German" };
/** @type {(direction: string) => string[]} */
export const languages = (direction) => direction.split("-");
/** @type {(direction: string) => string} */
export const directionName = (direction) =>
  languages(direction)
    .map((code) => LANGUAGES[code])
    .join(" to ");

/** @type {Record<string, string | null>} */
export const SPECIAL = { __proto__: null, "<eos>": "end", "<bos>": "start", "<pad>": "padding" };
/** @type {Record<string, string | null>} */
export const SIGNS = {
  __proto__: null,
  ".": "period",
  ",": "comma",
  "?": "question mark",
  "!": "exclamation mark",
  "<eos>": "end of sentence",
  "<bos>": "start of sentence",
  "<pad>": "padding",
};

// A token that continues the word before it is marked by a plus.
/** @type {(token: string, place: number) => boolean} */
const continues = (token, place) => place > 0 && /^[\p{L}\p{N}]/u.test(token);
/** @type {(token: string, place?: number) => string} */
export const plain = (token, place = 0) =>
  SPECIAL[token] ?? (continues(token, place) ? `+${token}` : token.trim() || "space");
/** @type {(token: string) => string} */
export const spoken = (token) => SIGNS[token.trim()] ?? (token.trim() || "space");

// A token as an element, in its language.
/** @type {(token: string, place: number, language: string | undefined) => HTMLElement} */
export function tokenElement(token, place, language) {
  if (token in SPECIAL) return h("span", { class: "at-x-special" }, SPECIAL[token]);
  const mark = continues(token, place) && h("span", { class: "at-x-plus" }, "+");
  return h("span", { lang: language }, mark, token.trim() || "␣");
}

// Each term is explained in one line.
export const HELP = {
  logProb:
    "The probabilities of all tokens, multiplied, give that of the whole sentence; its logarithm is the log-probability.",
  token:
    "Each line is a token: a word or a part of one; “+” continues the word before it. Each query, on the right, attends to the keys, on the left: the wider the curve, the larger the attention weight. Choose a word on the right, or use the arrow keys.",
};

// The keys that are read, the largest weight first.
/** @type {(row: ArrayLike<number>) => number[]} */
export const heaviest = (row) =>
  [...Array(row.length).keys()].sort((a, b) => row[b] - row[a]).filter((key) => row[key] >= BOOK.least);

// "“tomorrow” 88%, “come” 5%, period 4%"
/** @type {(keys: string[], row: ArrayLike<number>, order?: number[]) => string} */
export const reads = (keys, row, order = heaviest(row)) =>
  order
    .map((key) => `${SIGNS[keys[key].trim()] ?? `“${plain(keys[key], key)}”`} ${percent(row[key])}`)
    .join(", ");

// With no-break spaces: a number and its sign stay on one line.
/** @type {(share: number) => string} */
export const percent = (share) => `${Math.round(100 * share)}%`;
/** @type {(share: number) => string} */
export const exactPercent = (share) => (share < 0.0005 ? "<\u00a00.1%" : `${(100 * share).toFixed(1)}%`);

/** @type {(text: string) => string} */
const minus = (text) => text.replace("-", "−");

// A number in at most `digits` significant digits: −0.5342, 3.1·10⁻⁵, −∞.
/** @type {(value: number, digits?: number) => string} */
export function number(value, digits = 4) {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "not a number";
  if (value === 0) return "0";
  if (Math.abs(value) >= 1e-3) return minus(String(Number(value.toPrecision(digits))));
  const [digitsOf, exponent] = value.toExponential(Math.min(digits, 3) - 1).split("e");
  return (
    minus(`${Number(digitsOf)}·10`) +
    [...exponent].map((sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]).join("")
  );
}

/** @type {(shape: number[]) => string} */
export const shapeWords = (shape) => shape.join(" × ");

// The engine's error message, reworded for someone who typed one sentence.
/** @type {(message: string) => string} */
export const sentenceOf = (message) =>
  message.startsWith("text 1 of 1 has nothing to translate")
    ? EMPTY
    : message.replace(/^text 1 of 1/, "The sentence");
export const EMPTY = "Type a sentence first.";
