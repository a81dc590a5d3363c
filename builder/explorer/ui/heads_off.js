// Switching heads off, and how the translation changes.
import { button, cellAfter, fill, focusOn, h } from "./dom.js";
import { capital, KINDS_OF_ATTENTION } from "./names.js";
import { changes, headsOff } from "./notices.js";
import { holdsHead } from "./state.js";
import { probabilityOf, whyName } from "./why.js";
import { exactPercent, languages, number } from "./words.js";
/** @import { Head, Kind } from "../engine/transformer.js" */
/** @import { Answer } from "../engine/worker.js" */
/** @import { Attributes, Child, Children } from "./dom.js" */
/** @import { Explorer } from "./explorer.js" */
/** @import { Translated } from "./session.js" */
/** @import { State } from "./state.js" */

/** @typedef {Translated & { whole: Answer, kept: Answer }} Compared */

export class HeadsOff {
  /** @param {Explorer} explorer */
  constructor(explorer) {
    this.explorer = explorer;
    /** @type {Record<string, [row: number, column: number]>} */
    this.at = { encoder: [0, 0], decoder: [0, 0], cross: [0, 0] }; // the button of each kind that Tab reaches: row, column
    this.element = h("div", { class: "at-x-off" });
  }

  render() {
    const { state, result } = this.explorer.store;
    if (result.frame) return;
    const compared = /** @type {Compared} */ (result); // if heads are off
    const kinds = /** @type {[Kind, string][]} */ (Object.entries(KINDS_OF_ATTENTION));
    fill(
      this.element,
      h(
        "p",
        {},
        "Attention shows where the model looked, not why it chose. To test what matters, switch heads off: their output becomes zero, and the sentence is translated again. The name of a layer switches all its heads.",
      ),
      h(
        "div",
        { class: "at-x-kinds" },
        kinds.map(([kind, title]) => this.kind(kind, title, state.ablated)),
      ),
      state.ablated.length > 0 && state.view !== "encoder" && this.effect(compared, state),
      state.ablated.length
        ? this.comparison(compared, state)
        : h("p", { class: "at-x-label" }, "All heads are on."),
    );
  }

  /** @type {(kind: Kind, title: string, off: Head[]) => Element} */
  kind(kind, title, off) {
    const { layers, heads } = BOOK.shape;
    const all = Array.from({ length: heads }, (_, head) => head);
    /** @type {(row: number, column: number) => Attributes & Record<string, unknown>} */
    const place = (row, column) => ({
      tabindex: String(this.at[kind]) === String([row, column]) ? 0 : -1,
      onfocus: () => this.stopAt(kind, row, column),
      onkeydown: (event) => this.arrow(event, kind, row, column),
    });
    return h(
      "div",
      { class: "at-x-kind", role: "toolbar", "aria-label": `Heads of ${title}` },
      h("p", {}, title),
      Array.from({ length: layers }, (_, layer) =>
        h(
          "div",
          {},
          button(`Layer ${layer + 1}`, () => this.toggle(all.map((head) => [kind, layer, head])), {
            class: "at-x-link",
            "data-key": headKey(kind, layer, 0),
            ...place(layer, 0),
            "aria-label": `Layer ${layer + 1} of ${title}: all heads`,
          }),
          all.map((head) =>
            button(String(head + 1), () => this.toggle([[kind, layer, head]]), {
              class: "at-x-head",
              "data-key": headKey(kind, layer, head + 1),
              ...place(layer, head + 1),
              "aria-pressed": String(holdsHead(off, [kind, layer, head])),
              "aria-label": `${head + 1}: switch off this head of layer ${layer + 1}, ${title}`,
            }),
          ),
        ),
      ),
    );
  }

  // One Tab stop for each kind; the arrow keys move on from there.
  /** @type {(event: KeyboardEvent, kind: Kind, row: number, column: number) => void} */
  arrow(event, kind, row, column) {
    const { layers, heads } = BOOK.shape;
    const to = cellAfter(event, [row, column], [layers - 1, heads]);
    if (to) focusOn(this.element, headKey(kind, to[0], to[1]));
  }

  /** @type {(kind: Kind, row: number, column: number) => void} */
  stopAt(kind, row, column) {
    /** @type {(value: number) => void} */
    const stop = (value) =>
      this.element
        .querySelector(`[data-key="${headKey(kind, ...this.at[kind])}"]`)
        ?.setAttribute("tabindex", String(value));
    stop(-1);
    this.at[kind] = [row, column];
    stop(0);
  }

  // Switches all of these heads off or, if they are off already, on.
  /** @type {(heads: Head[]) => void} */
  toggle(heads) {
    const { wanted } = this.explorer.store; // readers may press faster than the model translates
    const rest = wanted.ablated.filter((other) => !holdsHead(heads, other));
    const off = wanted.ablated.length - rest.length === heads.length ? rest : [...rest, ...heads];
    this.explorer.store.compute({ ...wanted, ablated: off });
  }

  // The effect of the heads on the token in focus, after the same tokens: “morgen”: 96.6 % → 41.2 %.
  /** @type {(result: Compared, state: State) => Child} */
  effect({ whole, kept, target, direction }, { step }) {
    const at = Math.min(step, whole.target.ids.length - 1);
    const name = whyName(whole.target.tokens[at], at, languages(direction)[1]);
    const same = String(whole.target.ids.slice(0, at + 1)) === String(target.ids.slice(0, step + 1));
    const shares = `${exactPercent(probabilityOf(whole, at))} → ${exactPercent(probabilityOf(kept, at))}`;
    return h(
      "p",
      { class: "at-x-effect" },
      `Token ${at + 1}, `,
      name,
      !same && ", which the model writes with all heads",
      ": ",
      h("b", {}, shares),
      ` with these heads off${same ? "" : ", after the same tokens"}.`,
    );
  }

  /** @type {(result: Compared, state: State) => Child} */
  comparison({ whole, kept, text, logProb, direction }, { ablated, forced }) {
    const language = languages(direction)[1];
    const off = headsOff(ablated.length);
    const same = whole.text === text;
    /** @type {(words: string, sentence: Child, value: number) => Element} */
    const line = (words, sentence, value) =>
      h(
        "p",
        {},
        `${words}: `,
        h("q", { lang: language }, sentence),
        ` (log-probability ${number(value, 3)})`,
      );
    const on = forced.length ? `All heads on, ${changes({ ablated: [], forced })}` : "All heads on";
    return [
      line(on, whole.text, whole.logProb),
      line(capital(off), same ? text : marked(whole.text, text), logProb),
      !same && line(`The first, scored with ${off}`, whole.text, kept.logProb),
      h("p", { class: "at-x-label" }, same ? "The translation stays the same." : "Underlined words are new."),
    ];
  }
}

// The first button of a row switches the whole layer.
/** @type {(kind: Kind, layer: number, column: number) => string} */
const headKey = (kind, layer, column) =>
  column === 0 ? `layer ${kind} ${layer}` : `head ${kind} ${layer} ${column - 1}`;

// The words of `after`, with those marked that `before` does not have.
/** @type {(before: string, after: string) => Children} */
function marked(before, after) {
  const known = before.split(" ");
  return after.split(" ").map((word, i) => [i > 0 && " ", known.includes(word) ? word : h("ins", {}, word)]);
}
