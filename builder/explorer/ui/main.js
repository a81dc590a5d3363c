// Puts the explorer into the places of a page that ask for it: its own page, the cover, or a figure of a chapter.
import { button, fill, find, h } from "./dom.js";
import { Explorer } from "./explorer.js";
import { FOLDER } from "./page.js";
import { Session } from "./session.js";
import { START } from "./state.js";
import { sentenceOf } from "./words.js";

const session = new Session(FOLDER); // one engine per page

// The explorer's own page begins with a frame that was computed when the book was built.
/** @type {(host: Element, whole: boolean) => Explorer} */
function beginFrame(host, whole) {
  const { frame } = BOOK;
  const { direction, sentence: text, step, layer } = frame;
  return new Explorer(host, session, {
    state: { ...START, direction, text, step, layer },
    result: { ...frame, frame: true },
    whole,
  });
}

// The cover's button loads this script. The explorer replaces the picture, and computes the translation again.
/** @type {(figure: Element) => void} */
function beginCover(figure) {
  const live = h("div", { class: "at-x" });
  figure.replaceChildren(live);
  const explorer = beginFrame(live, false);
  explorer.sentence.submit.focus();
  explorer.store.compute(explorer.store.state);
}

// A figure of a chapter gets a button; the explorer replaces the drawing once the model has translated.
/** @type {(figure: Element, options: Partial<State> & { part: "curves" | "heat" | "way" }) => void} */
function beginFigure(figure, { part, ...options }) {
  const state = { ...START, ...options };
  const { direction, text } = state;
  const caption = /** @type {Element} */ (figure.querySelector("figcaption"));
  const words = () =>
    `Run this model in the page${session.loaded.has(direction) ? "" : ` (${BOOK.models[direction].size})`}`;
  const error = h("p", { class: "at-x-error", role: "alert" });
  const run = button(words(), async () => {
    run.ariaDisabled = "true";
    run.textContent = "Loading the model…";
    try {
      await session.load(direction);
      const result = /** @type {Translation} */ (
        await session.translate({ direction, text, prefix: [], ablated: [] })
      );
      figure.querySelectorAll(":scope > :is(.at-drawn, .at-figure-tools)").forEach((still) => still.remove());
      const live = h("div", { class: "at-x" });
      host.replaceWith(live);
      caption.remove(); // it describes the drawing
      new Explorer(live, session, { state, result, whole: false, part });
      find(live, "[data-key][tabindex='0']")?.focus({ preventScroll: true });
    } catch (problem) {
      fill(error, sentenceOf(/** @type {Error} */ (problem).message));
      run.ariaDisabled = "false";
      run.textContent = words();
    }
  });
  const host = h("div", { class: "at-x at-x-run" }, run, error);
  caption.before(host);
}

/** @type {NodeListOf<HTMLElement>} */
const hosts = document.querySelectorAll("[data-explorer]");
hosts.forEach((host) => {
  const options = JSON.parse(host.dataset.explorer ?? "");
  if (options.view === "all") beginFrame(host, true);
  else if (options.view === "cover") beginCover(host);
  else beginFigure(host, options);
});
