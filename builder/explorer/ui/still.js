// A figure of a chapter: what the explorer shows of given numbers, as one drawing. builder/explorer/still.py calls it.
import { Stage } from "./attention_curves.js";
import { fill, h } from "./dom.js";
import { flatten } from "./flatten.js";
import { START } from "./state.js";

/** @typedef {{ shown: "curves", state: Partial<State>, result: any }} Request */

// The drawing in a page that is as wide as the figure.
/** @type {(request: Request) => string} */
function drawStill({ shown, state, result }) {
  const host = h("div", { class: "at-x at-x-still" });
  fill(document.body, host);
  const explorer = /** @type {any} */ ({
    store: { state: { ...START, ...state }, result: { ...result, ...state, frame: true } },
  });
  return { curves: drawCurves }[shown](host, explorer);
}

/** @type {(host: Element, explorer: Explorer) => string} */
function drawCurves(host, explorer) {
  const stage = new Stage(explorer);
  fill(host, stage.element);
  stage.render();
  return flatten(stage.element);
}

Object.assign(window, { drawStill });
