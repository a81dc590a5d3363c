// Why this word: what was written before it, what it read, and which other tokens were likely.
import { button, fill, h } from "./dom.js";
import { capital } from "./names.js";
import { exactPercent, languages, number, percent, plain, SIGNS, SPECIAL, tokenElement } from "./words.js";
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
      h(
        "p",
        { class: "at-x-label" },
        forced && "These weights do not depend on which token you forced: they were computed before it. ",
        `${LEFT_OUT} Attention shows where the model looked, not why it chose.`,
      ),
      h("p", { class: "at-x-label" }, sentenceShare(result)),
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

  renderEncoder() {
    const { result, state } = this.explorer.store;
    const [language] = languages(result.direction);
    const word = Math.min(state.word, result.source.tokens.length - 1);
    const name = whyName(result.source.tokens[word], word, language);
    fill(
      this.element,
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

const LEFT_OUT = `Attention weights below ${percent(BOOK.least)} are left out.`;

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
