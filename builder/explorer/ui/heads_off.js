// Switching heads off, and how the translation changes.
import { button, cellAfter, fill, h, note, p, tabTo } from "./dom.js";
import { capital, KINDS_OF_ATTENTION } from "./names.js";
import { changes, headsOff } from "./notices.js";
import { holdsHead } from "./state.js";
import { probabilityOf, whyName } from "./why.js";
import { exactPercent, languages, number } from "./words.js";

/** @typedef {Translation & { whole: Answer, rescored: Answer }} Compared  if heads are off */

export class HeadsOff {
  /** @param {Explorer} explorer */
  constructor(explorer) {
    this.explorer = explorer;
    this.reached = { encoder: 0, decoder: 0, cross: 0 }; // the button of each kind that Tab reaches
    this.element = h("div", { class: "at-x-off" });
  }

  render() {
    const { state, result } = this.explorer.store;
    if (result.frame) return;
    const compared = /** @type {Compared} */ (result);
    const kinds = /** @type {Kind[]} */ (Object.keys(KINDS_OF_ATTENTION));
    fill(
      this.element,
      p(
        "Attention shows where the model looked, not why it chose. To test what matters, switch heads off: their output becomes zero, and the sentence is translated again. The name of a layer switches all its heads.",
      ),
      h(
        "div",
        { class: "at-x-kinds" },
        kinds.map((kind) => this.kind(kind, state.ablated)),
      ),
      state.ablated.length > 0 && state.view !== "encoder" && effect(compared, state),
      state.ablated.length ? comparison(compared, state) : note("All heads are on."),
    );
  }

  // A row of buttons for each layer: one that switches the whole layer, and one for each head. Tab reaches one of them,
  // and the arrow keys move on from there.
  /** @type {(kind: Kind, off: Head[]) => Element} */
  kind(kind, off) {
    const { layers, heads } = BOOK.shape;
    const title = KINDS_OF_ATTENTION[kind];
    const rows = Array.from({ length: layers }, (_, layer) => {
      const all = Array.from({ length: heads }, (_, head) => /** @type {Head} */ ([kind, layer, head]));
      return [
        button(`Layer ${layer + 1}`, () => this.toggle(all), {
          class: "at-x-link",
          "data-key": `layer ${kind} ${layer}`,
          "aria-label": `Layer ${layer + 1} of ${title}: all heads`,
        }),
        ...all.map((one, head) =>
          button(String(head + 1), () => this.toggle([one]), {
            class: "at-x-head",
            "data-key": `head ${kind} ${layer} ${head}`,
            "aria-pressed": String(holdsHead(off, one)),
            "aria-label": `${head + 1}: switch off this head of layer ${layer + 1}, ${title}`,
          }),
        ),
      ];
    });
    const buttons = rows.flat();
    tabTo(buttons, buttons[this.reached[kind]]);
    buttons.forEach((one, i) => {
      const cell = [Math.floor(i / (heads + 1)), i % (heads + 1)];
      one.addEventListener("keydown", (event) => {
        const to = cellAfter(event, cell, [layers - 1, heads]);
        if (to) rows[to[0]][to[1]].focus({ preventScroll: true });
      });
      one.addEventListener("focus", () => {
        this.reached[kind] = i;
        tabTo(buttons, one);
      });
    });
    return h(
      "div",
      { class: "at-x-kind", role: "toolbar", "aria-label": `Heads of ${title}` },
      p(title),
      rows.map((row) => h("div", {}, row)),
    );
  }

  // Switches all of these heads off or, if they are off already, on.
  /** @type {(heads: Head[]) => void} */
  toggle(heads) {
    const { latest } = this.explorer.store; // readers may press faster than the model translates
    const rest = latest.ablated.filter((other) => !holdsHead(heads, other));
    const off = latest.ablated.length - rest.length === heads.length ? rest : [...rest, ...heads];
    this.explorer.store.compute({ ...latest, ablated: off });
  }
}

// The effect of the heads on the token in focus, after the same tokens: “morgen”: 96.6 % → 41.2 %.
/** @type {(result: Compared, state: State) => Child} */
function effect({ whole, rescored, target, direction }, { step }) {
  const at = Math.min(step, whole.target.ids.length - 1);
  const same = String(whole.target.ids.slice(0, at + 1)) === String(target.ids.slice(0, step + 1));
  return h(
    "p",
    { class: "at-x-effect" },
    `Token ${at + 1}, `,
    whyName(whole.target.tokens[at], at, languages(direction)[1]),
    !same && ", which the model writes with all heads",
    ": ",
    h("b", {}, `${exactPercent(probabilityOf(whole, at))} → ${exactPercent(probabilityOf(rescored, at))}`),
    ` with these heads off${same ? "" : ", after the same tokens"}.`,
  );
}

/** @type {(result: Compared, state: State) => Child} */
function comparison({ whole, rescored, text, logProb, direction }, { ablated, forced }) {
  const off = headsOff(ablated.length);
  const same = whole.text === text;
  const known = whole.text.split(" ");
  const marked = text
    .split(" ")
    .map((word, i) => [i > 0 && " ", known.includes(word) ? word : h("ins", {}, word)]);
  /** @type {(words: string, sentence: Child, value: number) => Element} */
  const line = (words, sentence, value) =>
    p(
      `${words}: `,
      h("q", { lang: languages(direction)[1] }, sentence),
      ` (log-probability ${number(value, 3)})`,
    );
  const on = forced.length ? `All heads on, ${changes({ ablated: [], forced })}` : "All heads on";
  return [
    line(on, whole.text, whole.logProb),
    line(capital(off), same ? text : marked, logProb),
    !same && line(`The first, scored with ${off}`, whole.text, rescored.logProb),
    note(same ? "The translation stays the same." : "Underlined words are new."),
  ];
}
