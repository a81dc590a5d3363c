// Why this word: what was written before it, what it read, and which other tokens were likely.
import { readSentence } from "./attention_curves.js";
import { button, h, note, p } from "./dom.js";
import { capital } from "./names.js";
import { exactPercent, languages, number, percent, plain, SIGNS, SPECIAL, tokenElement } from "./words.js";

const LEFT_OUT = `Attention weights below ${percent(BOOK.least)} are left out.`;

/** @type {(explorer: Explorer) => Child} */
export function why(explorer) {
  const { result, state } = explorer.store;
  if (state.view === "encoder") return whyWord(explorer);
  const language = languages(result.direction)[1];
  const step = Math.min(state.step, result.target.tokens.length - 1);
  const chosen = result.target.ids[step];
  const top = result.top[step];
  const best = top[0].id === chosen;
  const before =
    result.written?.[step].replace(/\ufffd+$/, "…") ?? result.target.tokens.slice(0, step).join("").trim();
  const name = whyName(result.target.tokens[step], step, language);
  const forced = state.forced.includes(step);
  const cause = [
    forced && best && "You forced this one, but the model would choose it too. ",
    forced && !best && "You forced this one. ",
    !forced && !best && "This one is kept, because you forced a later one. ",
  ];
  return [
    h("h3", {}, "Why ", name.cloneNode(true), "?"),
    note(
      "The five likeliest next tokens",
      !result.frame && h("span", { class: "at-x-action" }, ": choose one to go on from there"),
    ),
    h(
      "ol",
      { class: "at-x-top", role: "list" },
      top.map((entry) => h("li", {}, bar(explorer, entry, step, chosen, language))),
    ), // stays in place when one is chosen
    p(
      before
        ? ["After ", h("q", { lang: language }, before), ", the model gives "]
        : "To begin with, the model gives ",
      h("b", {}, name),
      ` a probability of ${exactPercent(probabilityOf(result, step))}`,
      best ? ", more than any other token. " : `; its own choice was “${plain(top[0].token, step)}”. `,
      cause,
      `Before ${best && !forced ? "it chose" : "that"}, ${readSentence(explorer.store, "it")}.`,
    ),
    note(
      forced && "These weights do not depend on which token you forced: they were computed before it. ",
      `${LEFT_OUT} Attention shows where the model looked, not why it chose.`,
    ),
    note(
      `All tokens multiplied: ${exactPercent(Math.exp(result.logProb))} (log-probability ${number(result.logProb, 3)}).`,
    ),
  ];
}

/** @type {(explorer: Explorer, entry: Likely, step: number, chosen: number, language: string) => Element} */
function bar(explorer, { id, token, probability }, step, chosen, language) {
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
  if (explorer.store.result.frame) return h("span", { class: "at-x-option" }, parts);
  return button(parts, () => explorer.store.force(step, id), {
    class: "at-x-option",
    "data-key": `option ${id}`,
    "aria-pressed": String(id === chosen),
  });
}

/** @type {(explorer: Explorer) => Child} */
function whyWord({ store }) {
  const [language] = languages(store.result.direction);
  const { tokens } = store.result.source;
  const word = Math.min(store.state.word, tokens.length - 1);
  return [
    h("h3", {}, "What does ", whyName(tokens[word], word, language), " attend to?"),
    p(`${capital(readSentence(store, "it", "attends to"))}.`),
    p("In the encoder, each token attends to all tokens of its own sentence, later ones included."),
    note(LEFT_OUT),
  ];
}

// The name of a token within a sentence: a special token has no quotation marks.
/** @type {(token: string, place: number, language: string) => HTMLElement} */
export const whyName = (token, place, language) =>
  token in SPECIAL ? h("span", {}, `the ${SIGNS[token]}`) : h("q", { lang: language }, plain(token, place));

// How likely the token at a step was: the number of its bar, if it has one.
/** @type {(result: Pick<Outcome, "target" | "top" | "logProbs">, step: number) => number} */
export const probabilityOf = ({ target, top, logProbs }, step) =>
  top[step].find(({ id }) => id === target.ids[step])?.probability ?? Math.exp(logProbs[step]);
