// The guided tour: each step sets the state and says in two sentences what to see.
import { button, fill, focusOn, h, idle } from "./dom.js";
import { attempt } from "./page.js";
import { chapterLink } from "./names.js";
import { sameSentence, START } from "./state.js";
/** @import { Explorer } from "./explorer.js" */

export class Tour {
  /** @param {Explorer} explorer */
  constructor(explorer) {
    this.explorer = explorer;
    /** @type {number | null} */
    this.now = null;
    this.opener = h("p", { class: "at-x-opener" });
    this.element = h("section", { class: "at-x-tour", "aria-label": "Guided tour" });
    /** @type {ReturnType<Tour["remember"]> | null} */
    this.saved = null; // what the reader had before
    /** @type {(event: KeyboardEvent) => unknown} */
    const leave = (event) =>
      event.key === "Escape" && this.now !== null && !ofSomethingElse(event) && this.end();
    document.addEventListener("keydown", leave, true); // before Sphinx's own, which cancels an Escape without a focus
  }

  render() {
    const { session } = this.explorer.store;
    const { direction, steps } = BOOK.tour;
    const size = session.loaded.has(direction) ? "" : ` (${BOOK.models[direction].size})`;
    fill(
      this.opener,
      this.now === null &&
        button(`Take the tour: ${steps.length} steps${size}`, () => this.go(0), { "data-key": "tour" }),
    );
    this.element.hidden = this.now === null;
    this.explorer.host.classList.toggle("at-x-touring", this.now !== null);
    this.explorer.host.classList.toggle("at-x-touring-map", steps[this.now ?? -1]?.part === "heat");
    if (this.now === null) return;
    const step = steps[this.now];
    /** @type {(to: number, words: string) => Element} */
    const move = (to, words) =>
      button(words, () => this.go(to), { "data-key": words, disabled: to < 0 || to >= steps.length });
    fill(
      this.element,
      h("h3", {}, h("span", {}, `${this.now + 1} of ${steps.length} `), step.title),
      h("p", {}, step.words),
      h(
        "div",
        { class: "at-x-tour-moves" },
        move(this.now - 1, "Back"),
        move(this.now + 1, "Next"),
        button("End the tour", () => this.end(), { "data-key": "end" }),
        chapterLink(step.chapter),
      ),
    );
  }

  /** @type {(to: number) => Promise<unknown>} */
  async go(to) {
    const { explorer } = this;
    const { direction, text, steps } = BOOK.tour;
    const step = steps[to];
    const { state, result, asked } = explorer.store;
    const wanted = { ...START, direction, text, ...step.state };
    this.saved ??= this.remember();
    const same =
      !result.frame && !asked && sameSentence(state, wanted) && !state.prefix.length && !state.ablated.length;
    this.now = to;
    attempt(() => history.replaceState(null, "")); // a tensor that a step opens has no place to go back to
    explorer.sentence.show(wanted);
    const left = () => this.now !== to; // the reader has moved on, or ended the tour
    if (same) explorer.change(wanted);
    else if (!(await explorer.store.compute(wanted))) {
      const more = this.saved && explorer.store.asked; // the reader switches a head off, or forces a token
      return left() || more || this.end(); // no model, or another sentence was asked for
    }
    if (this.saved?.result.frame) this.saved.result = explorer.store.result; // the frame shows the same sentence
    if (left()) return;
    this.render();
    await explorer.reveal(step.part, () => !left());
    if (left()) return;
    const { activeElement } = document;
    if (!activeElement || !this.element.contains(activeElement) || idle(activeElement))
      focusOn(this.element, to + 1 < steps.length ? "Next" : "end");
    explorer.say(`${to + 1} of ${steps.length}: ${step.title}. ${step.words}`);
  }

  // The reader's sentence, state and scroll position.
  remember() {
    const { explorer } = this;
    const { sentence } = explorer;
    const { state, result, asked, linked } = explorer.store;
    const open = Object.values(explorer.sections).map((part) => part.open);
    return {
      state,
      result,
      asked,
      linked,
      open,
      trace: history.state,
      field: { direction: sentence.direction, text: sentence.input.value },
      scroll: scrollY,
    };
  }

  // The reader has asked for something else, which stays.
  forget() {
    this.saved = null;
  }

  end() {
    const { explorer, saved } = this;
    this.now = null;
    this.saved = null;
    if (saved) {
      explorer.store.abandon();
      attempt(() => history.replaceState(saved.trace, ""));
      Object.values(explorer.sections).forEach((part, i) => (part.open = saved.open[i]));
      explorer.restore(saved);
      scrollTo({ top: saved.scroll, behavior: "instant" });
      if (saved.asked) explorer.store.compute(saved.asked);
    }
    this.render();
    focusOn(this.opener, "tour");
  }
}

// Whether an Escape ends the input of a character, or closes a dialog of the page.
/** @type {(event: KeyboardEvent) => boolean} */
const ofSomethingElse = (event) =>
  event.isComposing ||
  event.defaultPrevented ||
  (event.target instanceof Element && event.target.closest("dialog") !== null);
