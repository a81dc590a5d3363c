// Where the chosen number comes from: its formula, with the numbers that went into it.
import { button, fill, h, note } from "./dom.js";
import { ROOT } from "./page.js";
import { axes, chapterLink, tensorTitle } from "./names.js";
import { number, plain, sentenceOf } from "./words.js";

/** @typedef {Provenance["terms"][number]["factors"][number]} Operand */
/** @typedef {{ words: Child, factors?: Operand[], value?: number, total?: boolean }} Line  of a calculation */

const WRITTEN = 5; // products written out; the others are added up

export class NumberPanel {
  /** @param {Explorer} explorer */
  constructor(explorer) {
    this.explorer = explorer;
    this.element = h("section", { class: "at-x-number", "aria-label": "Where the number comes from" });
    this.place = ""; // what is shown or asked for, of the `result`
    /** @type {Result | null} */
    this.result = null;
    /** @type {Promise<void> | undefined} */
    this.drawn = undefined;
  }

  /** @type {() => Promise<void> | undefined} */
  render() {
    const { state, result } = this.explorer.store;
    const place = `${state.tensor} ${state.at}`;
    this.element.hidden = !state.tensor;
    if (this.place === place && this.result === result) return this.drawn; // it may still be pending
    Object.assign(this, { place, result }); // an answer that is still pending comes too late
    this.drawn = state.tensor && !result.frame ? this.draw(result, state) : undefined;
    return this.drawn;
  }

  /** @type {(result: Translation, state: State) => Promise<void>} */
  async draw(result, { tensor, at }) {
    const { place } = this;
    this.element.setAttribute("aria-busy", "true"); // it still shows another number
    const provenance = await this.explorer.store.session
      .provenance(result, tensor, at)
      .catch((/** @type {Error} */ error) => error);
    if (this.place !== place || this.result !== result) return; // superseded
    this.element.setAttribute("aria-busy", "false");
    if (provenance instanceof Error) {
      this.result = null; // the next call asks the engine again
      const words = sentenceOf(provenance.message);
      return fill(this.element, h("p", { class: "at-x-error", role: "alert" }, words));
    }
    const { kind, value, name, index, aside = {} } = provenance;
    const info = BOOK.kinds[kind];
    const [file, test] = info.test.split("::");
    const suppressed = "forbidden" in aside; // its formula does not give its value
    const formula =
      !suppressed && document.getElementById(`formula-${kind}`)?.querySelector(".math")?.cloneNode(true);
    const code = h("code", {}, info.function.replace("annotated_transformer.", ""));
    fill(
      this.element,
      h(
        "h4",
        { tabindex: -1, "data-key": "number" },
        "Where does ",
        h("b", {}, number(value)),
        " come from?",
      ),
      note(`${tensorTitle(name)}; ${this.explorer.heat.placeWords(name, index)}.`),
      formula && h("p", { class: "at-x-formula" }, formula),
      formula && info.symbols && h("p", { class: "at-x-label at-x-symbols" }, info.symbols),
      this.steps(provenance),
      !suppressed && verdict(provenance),
      h(
        "dl",
        {},
        h("dt", {}, "computed by"),
        h("dd", {}, h("a", { href: `${ROOT}${info.page}.html#${info.function}` }, code)),
        h("dt", {}, "guarded by"),
        h("dd", {}, h("code", {}, test), ` in ${file}`),
        h("dt", {}, "explained in"),
        h("dd", {}, chapterLink(info.chapter)),
      ),
    );
  }

  /** @type {(provenance: Provenance) => Element} */
  steps(provenance) {
    const lines = provenance.terms.length ? this.sumLines(provenance) : plainLines(provenance);
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

  // A number that is an entry of a tensor links to it.
  /** @type {(operand: Operand) => Child} */
  operand({ value, name, index }) {
    if (!name) return number(value);
    return button(number(value), () => this.explorer.openTensor(name, index, "number"), {
      class: "at-x-link",
      "data-key": `operand ${name} ${index}`,
      "aria-label": `${number(value)}, from ${tensorTitle(name)}`,
    });
  }

  /** @type {(provenance: Provenance) => Line[]} */
  sumLines({ kind, name, terms, result, aside = {} }) {
    const keys =
      kind === "heads" && axes(name.replace(/heads$/, "weights"), this.explorer.store.result).columns.tokens;
    /** @type {(factors: Operand[], i: number) => string} */
    const words = ([first, second], i) => {
      if (!second) return tensorTitle(/** @type {string} */ (first.name));
      if (kind === "embedding") return "entry × scale";
      if (!keys) return `feature ${i}`;
      const alike = keys.filter((token) => token === keys[i]).length; // which their position distinguishes
      return `“${plain(keys[i], i)}”${alike > 1 ? ` (token ${i + 1})` : ""}`;
    };
    /** @type {(some: { value: number }[]) => number} */
    const total = (some) => some.reduce((sum, { value }) => sum + value, 0);
    const order = terms
      .map(({ factors, value }, i) => ({ words: words(factors, i), factors, value }))
      .sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const rest = order.slice(WRITTEN);
    /** @type {Line[]} */
    const lines = order.slice(0, WRITTEN);
    if (rest.length) lines.push({ words: `the other ${rest.length} products`, value: total(rest) });
    if (aside.bias !== undefined) lines.push({ words: "bias", value: aside.bias });
    if (aside.divisor) {
      const root = ["divided by √", h("i", {}, "d"), h("sub", {}, "k"), ` = ${number(aside.divisor)}`];
      lines.push({ words: "sum", value: total(terms) }, { words: root, value: result, total: true });
    } else if (aside.off) lines.push({ words: "this head is switched off", value: 0, total: true });
    else if (lines.length > 1) lines.push({ words: "sum", value: result, total: true });
    return lines;
  }
}

// Whether the formula gives the number: up to rounding, which is small compared with the largest term.
/** @type {(provenance: Provenance) => Element} */
function verdict({ value, result, terms }) {
  const scale = Math.max(Math.abs(value), ...terms.map((term) => Math.abs(term.value)));
  const same = value === result || (Number.isFinite(scale) && Math.abs(value - result) <= 1e-6 * scale);
  if (!same) {
    const words = `The formula gives ${number(result)}, but the tensor holds ${number(value)}.`;
    return h("p", { class: "at-x-error" }, words);
  }
  const words = ["✓ The formula gives ", h("b", {}, number(result)), ", the number in the tensor."];
  return h("p", { class: "at-x-same" }, words);
}

// The kinds that are not sums of products.
/** @type {(provenance: Provenance) => Line[]} */
function plainLines({ kind, index, result, read = { value: NaN }, aside = {} }) {
  /** @type {(words: string) => Line} */
  const last = (words) => ({ words, value: result, total: true });
  /** @type {(words: string) => Line} */
  const first = (words) => ({ words, factors: [read] });
  if ("later" in aside)
    return [{ words: "The key comes later than the query, so the causal mask makes the score −∞." }];
  if ("forbidden" in aside)
    return [{ words: "Padding and the start token occur in no translation, so their logits are −∞." }];
  if (kind === "positions")
    return [
      { words: "position", value: aside.position },
      { words: "divided by", value: aside.divisor },
      last(index[1] % 2 ? "cosine of the quotient" : "sine of the quotient"),
    ];
  if (kind === "activation") return [first("hidden unit"), last("the larger of it and 0")];
  if (kind === "add_norm")
    return [
      first("sum"),
      { words: "minus the mean of its token", value: aside.mean },
      { words: "divided by √(variance + 10⁻⁵)", value: Math.sqrt(aside.variance + 1e-5) },
      { words: "times the gain", value: aside.gain },
      { words: "plus the bias", value: aside.bias },
      last("result"),
    ];
  return [
    first(kind === "weights" ? "score" : "logit"),
    {
      words: "minus the largest of its row, which cancels out and keeps the powers small",
      value: aside.largest,
    },
    { words: "e to the power of the difference", value: Math.exp(read.value - aside.largest) },
    { words: "divided by the sum over the row", value: aside.total },
    last("result"),
  ];
}
