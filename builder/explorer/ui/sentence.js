import { button, choices, fill, h, help, nextGroup } from "./dom.js";
import { LONGEST, sameSentence } from "./state.js";
import { directionName, EMPTY, languages, sentenceOf } from "./words.js";

const ABOUT =
  "The model runs on your own device: it is loaded once, and nothing you type leaves this page. It was trained on short everyday sentences: expect nonsense from anything else.";

/** @type {(length: number) => string} */
const tooLong = (length) =>
  `This text has ${length.toLocaleString("en")} characters; the explorer translates up to ${LONGEST.toLocaleString("en")} at once. Shorten it, ideally to one sentence.`;

// The sentence and its direction: what is typed here becomes the state when the button is pressed.
export class Sentence {
  /** @param {Explorer} explorer */
  constructor(explorer) {
    this.explorer = explorer;
    this.direction = explorer.store.state.direction;
    const id = `at-x-sentence-${nextGroup()}`;
    this.input = h("input", {
      type: "text",
      id,
      autocomplete: "off",
      spellcheck: "false",
      value: explorer.store.state.text,
      "aria-describedby": `${id}-error`,
      oninput: () => explorer.dim(),
    });
    this.error = h("p", { class: "at-x-error", id: `${id}-error`, role: "alert" });
    this.submit = h("button", { type: "submit", class: "at-x-go" });
    this.examples = h("div", { class: "at-x-examples" });
    this.directions = h("div");
    this.loading = h("p", { class: "at-x-loading" });
    this.element = h(
      "form",
      { class: "at-x-form", onsubmit: (event) => this.send(event) },
      this.directions,
      h("div", { class: "at-x-field" }, h("label", { for: id }, "Sentence"), this.input, this.submit),
      this.error,
      this.loading,
      h("div", { class: "at-x-try" }, this.examples, explorer.whole && help("What the model can do", ABOUT)),
    );
    this.render();
  }

  // What is in the field.
  get typed() {
    return { direction: this.direction, text: this.input.value };
  }

  // Puts another sentence, from a link or an example, into the field.
  /** @type {(typed: Typed) => void} */
  show({ direction, text }) {
    this.direction = direction;
    this.input.value = text;
    this.render();
    this.explorer.dim();
  }

  render() {
    const { session, busy } = this.explorer.store;
    const { size } = BOOK.models[this.direction];
    this.input.lang = languages(this.direction)[0];
    fill(
      this.directions,
      choices({
        key: "direction",
        legend: "Direction",
        options: Object.keys(BOOK.models).map((direction) => [direction, directionName(direction)]),
        value: this.direction,
        pick: (direction) => this.turn(direction),
      }),
    );
    this.renderLoading();
    const loaded = session.loaded.has(this.direction);
    const idle = loaded || busy ? "Translate" : `Translate (${size})`;
    fill(this.submit, busy && loaded ? "Translating…" : idle);
    fill(
      this.examples,
      h("span", {}, "Try: "),
      BOOK.models[this.direction].examples.map((text) =>
        button(text, () => this.choose(text), { lang: languages(this.direction)[0], "data-key": text }),
      ),
    );
  }

  // How much of the model has arrived; nothing is known of one that is loaded from a file.
  renderLoading() {
    const { asked, arrived, session } = this.explorer.store;
    this.loading.hidden = !asked || session.loaded.has(asked.direction);
    const { size } = BOOK.models[this.direction];
    const value = arrived ? { value: arrived, max: 1e6 * Number.parseFloat(size) } : {};
    const share = arrived ? `${(arrived / 1e6).toFixed(1)} of ` : "";
    fill(
      this.loading,
      h("progress", { "aria-label": "Model", ...value }),
      `Loading the model: ${share}${size}`,
    );
  }

  // A sentence in the other language would give nonsense, so it is exchanged, too: an example for the corresponding one,
  // what the reader typed for its translation, if that is shown.
  /** @type {(direction: string) => void} */
  turn(direction) {
    if (direction === this.direction) return;
    const { typed } = this;
    const { state, result } = this.explorer.store;
    const translation = sameSentence(state, typed) && result.text;
    const { examples } = BOOK.models[direction];
    const place = BOOK.models[this.direction].examples.indexOf(typed.text);
    this.refuse("");
    this.show({ direction, text: examples[place] ?? (translation || examples[0]) });
  }

  /** @type {(text: string) => void} */
  choose(text) {
    this.input.value = text;
    this.refuse("");
    this.element.requestSubmit();
  }

  /** @type {(event: SubmitEvent) => Promise<void>} */
  async send(event) {
    event.preventDefault();
    const { length } = this.input.value;
    if (!this.input.value.trim()) return this.refuse(EMPTY);
    if (length > LONGEST) return this.refuse(tooLong(length));
    this.refuse("");
    if (await this.explorer.open(this.typed)) this.explorer.bringTranslation();
  }

  // Says what went wrong; `invalid` if the sentence is at fault.
  /** @type {(message: string, invalid?: boolean) => void} */
  refuse(message, invalid = message !== "") {
    fill(this.error, sentenceOf(message));
    this.input.setAttribute("aria-invalid", String(invalid));
  }
}
