// Where the chosen number comes from: its formula, with the numbers that went into it.
import { button, fill, h } from "./dom.js";
import { ROOT } from "./page.js";
import { axes, chapterLink, tensorTitle } from "./names.js";
import { number, plain, sentenceOf } from "./words.js";
/** @import { Provenance } from "../engine/provenance.js" */
/** @import { Child } from "./dom.js" */
/** @import { Explorer } from "./explorer.js" */
/** @import { Translated } from "./session.js" */

/** @typedef {{ value: number, name?: string, index?: number[] }} Factor  a number, and where it is an entry */
/** @typedef {{ words: Child, factors?: Factor[], value?: number, total?: boolean }} Line  of a calculation */

export class NumberPanel {
  // What render() has asked for.
  /** @type {Translated} */
  result;

  /** @param {Explorer} explorer */
  constructor(explorer) {
    this.explorer = explorer;
    this.element = h("section", { class: "at-x-number", "aria-label": "Where the number comes from" });
    /** @type {string | null} */
    this.wanted = null;
    /** @type {unknown} */
    this.drawn = null;
  }

  async render() {
    const { heat } = this.explorer;
    const { state, result, session } = this.explorer.store;
    this.element.hidden = !state.tensor;
    if (!state.tensor || result.frame) return (this.wanted = null); // an answer that is still pending comes too late
    const wanted = `${state.tensor} ${state.at}`;
    if (this.wanted === wanted && this.result === result) return this.drawn; // it may still be pending
    this.wanted = wanted;
    this.result = result;
    this.element.setAttribute("aria-busy", "true"); // it still shows another number
    const found = await session
      .provenance(result, state.tensor, state.at)
      .catch((/** @type {Error} */ error) => error);
    if (this.wanted !== wanted || this.result !== result) return; // superseded
    this.element.setAttribute("aria-busy", "false");
    if (found instanceof Error) {
      this.wanted = null; // the next call asks the engine again
      return fill(this.element, h("p", { class: "at-x-error", role: "alert" }, sentenceOf(found.message)));
    }
    const info = BOOK.kinds[found.kind];
    const suppressed = "forbidden" in (found.aside ?? {}); // its formula does not give its value
    const formula =
      !suppressed &&
      document.getElementById(`formula-${found.kind}`)?.querySelector(".math")?.cloneNode(true);
    fill(
      this.element,
      h(
        "h4",
        { tabindex: -1, "data-key": "number" },
        "Where does ",
        h("b", {}, number(found.value)),
        " come from?",
      ),
      h(
        "p",
        { class: "at-x-label" },
        `${tensorTitle(found.name)}; ${heat.placeWords(found.name, found.index)}.`,
      ),
      formula && h("p", { class: "at-x-formula" }, formula),
      formula && info.symbols && h("p", { class: "at-x-label at-x-symbols" }, info.symbols),
      this.steps(found),
      !suppressed && this.verdict(found),
      h(
        "dl",
        {},
        h("dt", {}, "computed by"),
        h(
          "dd",
          {},
          h(
            "a",
            { href: `${ROOT}${info.page}.html#${info.function}` },
            h("code", {}, info.function.replace("annotated_transformer.", "")),
          ),
        ),
        h("dt", {}, "guarded by"),
        h("dd", {}, h("code", {}, info.test.split("::")[1]), ` in ${info.test.split("::")[0]}`),
        h("dt", {}, "explained in"),
        h("dd", {}, chapterLink(info.chapter)),
      ),
    );
  }

  /** @type {(found: Provenance) => Element} */
  steps(found) {
    const lines = found.terms.length ? sumLines(found, this.keyTokens(found)) : plainLines(found);
    return h(
      "table",
      { class: "at-x-sum" },
      h("caption", { class: "at-hidden" }, "What the number is computed from"),
      h(
        "tbody",
        {},
        lines.map(({ words, factors = [], value, total }) =>
          h(
            "tr",
            { class: total ? "at-x-total" : null },
            h("th", { scope: "row", colspan: factors.length > 1 ? null : 2 }, words),
            factors.length > 1 &&
              h(
                "td",
                {},
                factors.map((factor, i) => [i > 0 && " × ", this.operand(factor)]),
              ),
            h(
              "td",
              {},
              factors.length === 1 ? this.operand(factors[0]) : value === undefined ? "" : number(value),
            ),
          ),
        ),
      ),
    );
  }

  /** @type {(found: Provenance) => string[] | null} */
  keyTokens({ kind, name }) {
    return kind === "heads"
      ? (axes(name.replace(/heads$/, "weights"), this.result).columns.tokens ?? null)
      : null;
  }

  // A number that is an entry of a tensor links to it.
  /** @type {(factor: Factor) => Child} */
  operand({ value, name, index }) {
    if (!name) return number(value);
    return button(number(value), () => this.explorer.openTensor(name, index, "number"), {
      class: "at-x-link",
      "data-key": `operand ${name} ${index}`,
      "aria-label": `${number(value)}, from ${tensorTitle(name)}`,
    });
  }

  // Both are equal up to rounding, which is small compared with the largest term.
  /** @type {(found: Provenance) => Element} */
  verdict({ value, result, terms }) {
    const scale = Math.max(Math.abs(value), ...terms.map((term) => Math.abs(term.value)));
    const same = value === result || (Number.isFinite(scale) && Math.abs(value - result) <= 1e-6 * scale);
    return same
      ? h(
          "p",
          { class: "at-x-same" },
          "✓ The formula gives ",
          h("b", {}, number(result)),
          ", the number in the tensor.",
        )
      : h(
          "p",
          { class: "at-x-error" },
          `The formula gives ${number(result)}, but the tensor holds ${number(value)}.`,
        );
  }
}

const SHOWN = 5; // products written out; the others are added up

// `tokens` are the keys, if there is a term for each of them.
/** @type {(found: Provenance, tokens: string[] | null) => Line[]} */
function sumLines(found, tokens) {
  const { terms, aside = {} } = found;
  const order = terms
    .map((term, i) => ({ ...term, i }))
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const rest = order.slice(SHOWN);
  /** @type {Line[]} */
  const lines = order.slice(0, SHOWN).map(({ factors, value, from, i }) => ({
    words: from ? tensorTitle(from) : termName(found, i, tokens),
    factors: factors.map((factor, place) => ({ value: factor, ...address(found, place, i, from) })),
    value,
  }));
  if (rest.length)
    lines.push({
      words: `the other ${rest.length} products`,
      value: rest.reduce((total, { value }) => total + value, 0),
    });
  if (aside.bias !== undefined) lines.push({ words: "bias", value: aside.bias });
  const sum = terms.reduce((total, { value }) => total + value, 0);
  if (aside.divisor)
    lines.push(
      { words: "sum", value: sum },
      {
        words: ["divided by √", h("i", {}, "d"), h("sub", {}, "k"), ` = ${number(aside.divisor)}`],
        value: found.result,
        total: true,
      },
    );
  else if (aside.off) lines.push({ words: "this head is switched off", value: 0, total: true });
  else if (lines.length > 1) lines.push({ words: "sum", value: found.result, total: true });
  return lines;
}

// A word that occurs more than once is distinguished by its position.
/** @type {(tokens: string[], i: number) => string} */
const tokenName = (tokens, i) =>
  `“${plain(tokens[i], i)}”${tokens.filter((token) => token === tokens[i]).length > 1 ? ` (token ${i + 1})` : ""}`;
/** @type {(found: Provenance, i: number, tokens: string[] | null) => string} */
const termName = ({ kind }, i, tokens) =>
  kind === "heads" && tokens ? tokenName(tokens, i) : kind === "embedding" ? "entry × scale" : `feature ${i}`;

// The tensor and index of a factor: of a first factor if it is in a tensor, of a second one if it is in a key or value.
/** @type {(found: Provenance, place: number, i: number, own: string | undefined) => { name?: string, index?: number[] }} */
function address({ kind, name, from, index }, place, i, own) {
  const parent = name.split(".").slice(0, -1).join(".");
  const [row, column] = index.slice(-2);
  if (own) return { name: own, index };
  if (kind === "scores")
    return place === 0
      ? { name: `${parent}.query`, index: [index[0], row, i] }
      : { name: `${parent}.key`, index: [index[0], column, i] };
  if (kind === "heads")
    return place === 0
      ? { name: `${parent}.weights`, index: [index[0], row, i] }
      : { name: `${parent}.value`, index: [index[0], i, column] };
  if (place === 1 || !from) return {};
  const { heads, width } = BOOK.shape;
  const each = width / heads;
  return kind === "output"
    ? { name: from, index: [Math.floor(i / each), row, i % each] }
    : { name: from, index: [row, i] };
}

// The kinds that are not sums of products.
/** @type {(found: Provenance) => Line[]} */
function plainLines({ kind, from, index, result, aside = {} }) {
  /** @type {(value: number) => Factor[]} */
  const factor = (value) => [{ value, name: from, index }];
  if ("later" in aside)
    return [{ words: "The key comes later than the query, so the causal mask makes the score −∞." }];
  if ("forbidden" in aside)
    return [{ words: "Padding and the start token occur in no translation, so their logits are −∞." }];
  if (kind === "positions") {
    return [
      { words: "position", value: aside.position },
      { words: "divided by", value: aside.divisor },
      {
        words: index[index.length - 1] % 2 ? "cosine of the quotient" : "sine of the quotient",
        value: result,
        total: true,
      },
    ];
  }
  if (kind === "activation")
    return [
      { words: "hidden unit", factors: factor(aside.x), value: aside.x },
      { words: "the larger of it and 0", value: result, total: true },
    ];
  if (kind === "add_norm") {
    return [
      { words: "sum", factors: factor(aside.x), value: aside.x },
      { words: "minus the mean of its token", value: aside.mean },
      { words: "divided by √(variance + 10⁻⁵)", value: Math.sqrt(aside.variance + 1e-5) },
      { words: "times the gain", value: aside.gain },
      { words: "plus the bias", value: aside.bias },
      { words: "result", value: result, total: true },
    ];
  }
  return [
    { words: kind === "weights" ? "score" : "logit", factors: factor(aside.score), value: aside.score },
    {
      words: "minus the largest of its row, which cancels out and keeps the powers small",
      value: aside.largest,
    },
    { words: "e to the power of the difference", value: Math.exp(aside.score - aside.largest) },
    { words: "divided by the sum over the row", value: aside.total },
    { words: "result", value: result, total: true },
  ];
}
