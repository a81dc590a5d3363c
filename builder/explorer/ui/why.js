// Why this word: what was written before it, what it read, and which other tokens were likely.
import { button, fill, focusOn, h, show } from "./dom.js";
import { capital } from "./names.js";
import {
  exactPercent,
  languages,
  LEAST,
  number,
  percent,
  plain,
  SIGNS,
  SPECIAL,
  tokenElement,
} from "./words.js";
/** @import { Likely } from "../engine/translator.js" */
/** @import { Explorer } from "./explorer.js" */
/** @import { Outcome } from "./session.js" */

export class Why {
  /** @param {Explorer} explorer */
  constructor(explorer) {
    this.explorer = explorer;
    this.element = h("div", { class: "at-x-why" });
  }

  render() {
    if (this.explorer.store.state.view === "encoder") return this.renderEncoder();
    const { result, state } = this.explorer.store;
    const language = languages(result.direction)[1];
    const step = Math.min(state.step, result.target.tokens.length - 1);
    const chosen = result.target.ids[step];
    const top = result.top[step];
    const best = top[0].id === chosen;
    const before =
      result.written?.[step].replace(/\ufffd+$/, "…") ?? result.target.tokens.slice(0, step).join("").trim();
    const probability = probabilityOf(result, step);
    const name = whyName(result.target.tokens[step], step, language);
    const forced = state.forced.includes(step);
    fill(
      this.element,
      this.steps("step", step, result.target.tokens.length),
      h("h3", {}, "Why ", name.cloneNode(true), "?"),
      h(
        "p",
        { class: "at-x-label" },
        "The five likeliest next tokens",
        !result.frame && h("span", { class: "at-x-action" }, ": choose one to go on from there"),
      ),
      h(
        "ol",
        { class: "at-x-top", role: "list" },
        top.map((entry) => h("li", {}, this.bar(entry, step, chosen, language))),
      ), // stays in place when one is chosen
      h(
        "p",
        {},
        before
          ? ["After ", h("q", { lang: language }, before), ", the model gives "]
          : ["To begin with, the model gives "],
        h("b", {}, name),
        ` a probability of ${exactPercent(probability)}`,
        best ? ", more than any other token. " : `; its own choice was “${plain(top[0].token, step)}”. `,
        forced
          ? best
            ? "You forced this one, but the model would choose it too. "
            : "You forced this one. "
          : !best && "This one is kept, because you forced a later one. ",
        `Before ${best && !forced ? "it chose" : "that"}, ${this.explorer.readSentence("it")}.`,
      ),
      this.meaning(step, forced),
      h("p", { class: "at-x-label" }, sentenceShare(result)),
      (forced || !best) && this.freedom(step, state.forced),
      this.numberLink(step, chosen),
    );
  }

  // What attention explains, and what it does not.
  /** @type {(step: number, forced: boolean) => Element} */
  meaning(step, forced) {
    const { sections } = this.explorer;
    const { result } = this.explorer.store;
    if (result.frame) return h("p", { class: "at-x-label" }, `${LEFT_OUT} ${LOOKED}`);
    return h(
      "p",
      { class: "at-x-label" },
      forced && "These weights do not depend on which token you forced: they were computed before it. ",
      `${LEFT_OUT} ${LOOKED}`,
      sections &&
        h(
          "span",
          { class: "at-x-action" },
          " To test what matters for this token, ",
          h(
            "span",
            { class: "at-x-together" },
            button("switch heads off", () => this.explorer.openHeads(), {
              class: "at-x-link",
              "data-key": "to heads",
            }),
            ".",
          ),
        ),
    );
  }

  // Tokens forced before this one stay; those after it depend on it.
  /** @type {(step: number, forced: number[]) => Element} */
  freedom(step, forced) {
    const { explorer } = this;
    const words =
      (forced.at(-1) ?? -1) > step
        ? "Let the model choose again from here"
        : "Let the model choose this one again";
    return h(
      "p",
      { class: "at-x-action at-x-free" },
      button(words, () => explorer.store.free(step), { "data-key": "free" }),
      forced.length > 1 &&
        forced[0] < step &&
        button("Let the model choose every token again", () => explorer.store.free(), {
          "data-key": "free all",
        }),
    );
  }

  /** @type {(entry: Likely, step: number, chosen: number, language: string) => Element} */
  bar({ id, token, probability }, step, chosen, language) {
    const parts = [
      h(
        "span",
        { class: "at-x-bar-token" },
        tokenElement(token, step, language),
        id === chosen &&
          h("span", { class: "at-x-chosen" }, " ✓", h("span", { class: "at-hidden" }, " written")),
      ),
      h("span", { class: "at-x-bar", "aria-hidden": "true", style: `--share:${probability.toFixed(4)}` }),
      h("span", { class: "at-x-bar-number" }, exactPercent(probability)),
    ];
    if (this.explorer.store.result.frame) return h("span", { class: "at-x-option" }, parts);
    return button(parts, () => this.explorer.store.force(step, id), {
      class: "at-x-option",
      "data-key": `option ${id}`,
      "aria-pressed": String(id === chosen),
    });
  }

  /** @type {(place: "word" | "step", step: number, count: number) => Element} */
  steps(place, step, count) {
    /** @type {(to: number, words: string, sign: string) => Element} */
    const go = (to, words, sign) =>
      button(
        [h("span", { "aria-hidden": "true" }, sign), h("span", { class: "at-hidden" }, words)],
        () => this.step(place, to),
        {
          "data-key": words,
          disabled: to < 0 || to >= count,
        },
      );
    return h(
      "div",
      { class: "at-x-steps" },
      go(step - 1, "One token back", "◀"),
      h("span", {}, `Token ${step + 1} of ${count}`),
      go(step + 1, "One token on", "▶"),
    );
  }

  // If this panel stays in view beside the columns, the highlighted token has to as well.
  /** @type {(place: "word" | "step", to: number) => void} */
  step(place, to) {
    const { explorer } = this;
    explorer.change({ [place]: to }, true);
    if (getComputedStyle(this.element).position === "sticky") show(explorer.stage.queryItems[to], "nearest");
  }

  // Leads to the tokens from which the translation can go on.
  offer() {
    show(this.element);
    focusOn(this.element, `option ${this.explorer.store.result.target.ids[this.explorer.store.state.step]}`);
  }

  /** @type {(step: number, chosen: number) => Element | null} */
  numberLink(step, chosen) {
    const { explorer } = this;
    if (explorer.store.result.frame || !explorer.heat) return null;
    return h(
      "p",
      {},
      button(
        "See where this probability comes from",
        () => explorer.openTensor("probabilities", [step, chosen], "number"),
        { class: "at-x-link at-x-action", "data-key": "why number" },
      ),
    );
  }

  renderEncoder() {
    const { result, state } = this.explorer.store;
    const [language] = languages(result.direction);
    const word = Math.min(state.word, result.source.tokens.length - 1);
    const name = whyName(result.source.tokens[word], word, language);
    fill(
      this.element,
      this.steps("word", word, result.source.tokens.length),
      h("h3", {}, "What does ", name, " attend to?"),
      h("p", {}, `${capital(this.explorer.readSentence("it", "attends to"))}.`),
      h(
        "p",
        {},
        "In the encoder, each token attends to all tokens of its own sentence, later ones included.",
      ),
      h("p", { class: "at-x-label" }, LEFT_OUT),
    );
  }
}

const LEFT_OUT = `Attention weights below ${percent(LEAST)} are left out.`;
const LOOKED = "Attention shows where the model looked, not why it chose.";

// "All tokens multiplied: 17.7% (log-probability −1.73)."
/** @type {(result: Pick<Outcome, "logProb">) => string} */
const sentenceShare = ({ logProb }) =>
  `All tokens multiplied: ${exactPercent(Math.exp(logProb))} (log-probability ${number(logProb, 3)}).`;

// The name of a token within a sentence: a special token has no quotation marks.
/** @type {(token: string, place: number, language: string) => HTMLElement} */
export const whyName = (token, place, language) =>
  token in SPECIAL ? h("span", {}, `the ${SIGNS[token]}`) : h("q", { lang: language }, plain(token, place));

// How likely the token at a step was: the number of its bar, if it has one.
/** @type {(result: Pick<Outcome, "target" | "top" | "logProbs">, step: number) => number} */
export const probabilityOf = ({ target, top, logProbs }, step) =>
  top[step].find(({ id }) => id === target.ids[step])?.probability ?? Math.exp(logProbs[step]);
