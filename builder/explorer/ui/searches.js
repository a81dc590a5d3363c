// The same sentence by greedy search, beam search and sampling, side by side.
import { button, disable, fill, h, nextGroup } from "./dom.js";
import { marked } from "./heads_off.js";
import { changes } from "./notices.js";
import { languages, number, sentenceOf } from "./words.js";
/** @import { Answer } from "../engine/worker.js" */
/** @import { Explorer } from "./explorer.js" */
/** @import { Translated } from "./session.js" */

export class Searches {
  // What compare() has compared.
  /** @type {Translated} */
  result;

  /** @param {Explorer} explorer */
  constructor(explorer) {
    this.explorer = explorer;
    this.temperature = 1;
    this.seed = 1;
    this.element = h("div", { class: "at-x-searches" });
    this.table = h("div");
    const id = `at-x-temperature-${nextGroup()}`;
    const output = h("output", { for: id }, "1.0");
    const temperature = h("input", {
      type: "range",
      id,
      min: 0.2,
      max: 2,
      step: 0.1,
      value: 1,
      oninput: () => (output.textContent = Number(temperature.value).toFixed(1)),
    });
    const seed = h("input", { type: "number", id: `${id}-seed`, min: 0, max: 9999, step: 1, value: 1 });
    this.run = button("Compare", () => {
      this.temperature = Number(temperature.value);
      this.seed = Number(seed.value);
      this.compare();
    });
    this.element.append(
      h(
        "p",
        {},
        "Greedy search takes the likeliest token at each step; the translation above is the greedy one. Beam search keeps the four best beginnings. Sampling draws each token by its probability; a temperature above 1 makes unlikely tokens more likely.",
      ),
      h(
        "div",
        { class: "at-x-controls" },
        h("label", { for: id }, "Temperature ", output),
        temperature,
        h("span", { class: "at-x-together" }, h("label", { for: `${id}-seed` }, "Seed "), seed),
        this.run,
      ),
      this.table,
    );
  }

  render() {
    if (this.result !== this.explorer.store.result) fill(this.table);
  }

  async compare() {
    const { explorer } = this;
    const result = /** @type {Translated} */ (explorer.store.result);
    this.result = result;
    disable(this.run, true);
    const { temperature, seed } = this;
    try {
      const found = await explorer.store.session.searches(result.options, [
        { method: "greedy" },
        { method: "beam", beamSize: 4 },
        { method: "sample", temperature, seed },
      ]);
      if (explorer.store.result === result) this.fillTable(found);
    } catch (error) {
      if (explorer.store.result === result)
        fill(
          this.table,
          h("p", { class: "at-x-error", role: "alert" }, sentenceOf(/** @type {Error} */ (error).message)),
        );
    } finally {
      disable(this.run, false);
    }
  }

  /** @type {(found: Answer[]) => void} */
  fillTable(found) {
    const language = languages(this.result.direction)[1];
    const changed = changes(this.explorer.store.state);
    const names = [
      "greedy",
      "beam 4",
      `sampling, temperature ${this.temperature.toFixed(1)}, seed ${this.seed}`,
    ];
    fill(
      this.table,
      h(
        "table",
        { class: "at-x-table" },
        h("caption", { class: "at-hidden" }, "The sentence as each search translates it"),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["search", "translation", "log-probability"].map((name) => h("th", { scope: "col" }, name)),
          ),
        ),
        h(
          "tbody",
          {},
          found.map(({ text, logProb }, i) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, names[i]),
              h("td", { lang: language }, i ? marked(found[0].text, text) : text),
              h("td", {}, number(logProb, 3)),
            ),
          ),
        ),
      ),
      found[0].text === found[1].text && this.agreement(),
      h(
        "p",
        { class: "at-x-label" },
        `Log-probabilities are the model’s own, at temperature 1${changed && `, ${changed}`}. Underlined words differ from greedy search.`,
      ),
    );
    this.explorer.say(
      found.map(({ text, logProb }, i) => `${names[i]}: ${text} ${number(logProb, 3)}.`).join(" "),
    );
  }

  agreement() {
    const { sentence } = this.explorer;
    const { direction } = this.result;
    const { differs } = BOOK.models[direction];
    const words = "Greedy search and beam search give the same translation here.";
    if (this.explorer.store.state.text === differs) return h("p", {}, words);
    return h(
      "p",
      {},
      words,
      " They differ for ",
      button(differs, () => sentence.choose(differs), {
        class: "at-x-link at-x-action",
        lang: languages(direction)[0],
        "data-key": "differs",
      }),
    );
  }
}
