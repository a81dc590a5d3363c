// What is shown beside the translation as long as it has the reader's changes: forced tokens, heads switched off.
import { button, h, p } from "./dom.js";
import { KINDS_OF_ATTENTION } from "./names.js";
import { directionName, LANGUAGES, languages, percent, plain } from "./words.js";

const NAMED = 4; // heads; more would make a paragraph

/** @type {(explorer: Explorer) => Child} */
export function notices({ store }) {
  const { state, result } = store;
  if (result.frame) return null;
  const { forced, ablated } = state;
  const [, language] = languages(result.direction);
  const names = forced.map((step, i) => [
    i > 0 && (i + 1 < forced.length ? ", " : " and "),
    h("q", { lang: language }, plain(result.target.tokens[step], step)),
    ` at token ${step + 1}`,
  ]);
  const { layers, heads } = BOOK.shape;
  const all = Object.keys(KINDS_OF_ATTENTION).length * layers * heads;
  // "encoder layer 2, head 1; cross-attention layer 4, head 3"
  const named = ablated
    .map(([kind, layer, head]) => `${KINDS_OF_ATTENTION[kind]} layer ${layer + 1}, head ${head + 1}`)
    .sort();
  if (named.length > NAMED) named.splice(NAMED, Infinity, "…");
  const off = `${ablated.length} of ${all} heads ${ablated.length === 1 ? "is" : "are"} off: ${named.join("; ")}. `;
  /** @type {(words: string, key: string, patch: Partial<State>) => Element} */
  const undo = (words, key, patch) =>
    button(words, () => store.compute({ ...store.latest, ...patch }), {
      class: "at-x-link at-x-action",
      "data-key": key,
    });
  const undoWords = forced.length > 1 ? "Undo all" : "Undo";
  return [
    forced.length > 0 && p("You forced ", names, ". ", undo(undoWords, "undo", { prefix: [], forced: [] })),
    ablated.length > 0 && p(off, undo("Switch all on", "switch on", { ablated: [] })),
    warning(result) && p(warning(result)),
  ];
}

// Frequent words that the other language does not have. Of 20,000 pairs of Tatoeba, no English sentence was taken for
// German, and 2 German ones for English; 86% and 82% of those under the other direction are noticed.
/** @type {Record<string, string[]>} */
const FREQUENT = {
  en: "the and is are of to with you he she we they it have my this what not".split(" "),
  de: "der das und ist sind nicht ein eine ich du er sie wir es mit zu auf haben mein den dem".split(" "),
};
/** @type {(text: string, language: string) => number} */
const frequent = (text, language) =>
  (text.toLowerCase().match(/\p{L}+/gu) ?? []).filter((word) => FREQUENT[language].includes(word)).length;

// Why a translation may be nonsense: the first reason that applies, or "".
/** @type {(result: Translation) => string} */
export function warning({ direction, source, target, logProb, options: { prefix, ablated } }) {
  const { longest, least } = BOOK.models[direction].limits;
  const { length } = target.ids;
  const [text, [from, to]] = [source.tokens.join(""), languages(direction)];
  if (frequent(text, to) > frequent(text, from))
    return `This sentence looks ${LANGUAGES[to]}, and the direction is ${directionName(direction)}. Choose the other one, or expect nonsense.`;
  if (source.tokens.some((token) => token.includes("\ufffd")))
    return "Some characters of this sentence are not in the model’s vocabulary: they are split into bytes, and a part of a character is shown as “�”. Expect nonsense where they are many.";
  if (source.tokens.length > longest)
    return `Of the sentences that the model was trained on, hardly any has more than ${longest} tokens, and this one has ${source.tokens.length}. Expect parts that are missing or made up.`;
  if (target.ids.at(-1) !== BOOK.shape.special.eos)
    return `The translation was cut: it was stopped at ${length} tokens, the limit.`;
  if (!prefix.length && !ablated.length && logProb / length < least)
    return `The model doubts this translation: the mean probability of its tokens is ${percent(Math.exp(logProb / length))}, lower than that of 97 in 100 everyday sentences. Expect mistakes.`;
  return "";
}

// "5 heads off, with your forced token": what the reader has changed, in short.
/** @type {(count: number) => string} */
export const headsOff = (count) => `${count} ${count === 1 ? "head" : "heads"} off`;
/** @type {(state: Pick<State, "ablated" | "forced">) => string} */
export function changes({ ablated, forced }) {
  const tokens = forced.length > 0 && `with your forced ${forced.length === 1 ? "token" : "tokens"}`;
  return [ablated.length > 0 && headsOff(ablated.length), tokens].filter(Boolean).join(", ");
}
