// A figure of a chapter: what the explorer shows of given numbers, as one drawing. builder/explorer/still.py calls it.
import { Stage } from "./attention_curves.js";
import { fill, h } from "./dom.js";
import { Drawing } from "./drawing.js";
import { flatten } from "./flatten.js";
import { Heat, mapOf } from "./heat.js";
import { layout } from "./layout.js";
import { chip, rect, text } from "./marks.js";
import { tensorTitle } from "./names.js";
import { sceneOf } from "./scene.js";
import { START } from "./state.js";
import { CROSS_ATTENTION, SELF_ATTENTION, SOFTMAX } from "./stops.js";
import { readStrips } from "./strips.js";
import { plain } from "./words.js";

/** @typedef {{ shown: "curves" | "heat" | "way", state: State, result: any }} Request */

const AIR = 8; // around a part of the picture
const WORD = 26; // the height of a word that is read
const ZOOM = 7 / 6; // where there is room: its letters are then 14 pixels high
const LINE = 14; // of what names a list
const HEADLINE = 24; // and of what names the layer

// The drawing in a page that is as wide as the figure.
/** @type {(request: Request) => Promise<string>} */
async function drawStill({ shown, state, result }) {
  const host = h("div", { class: "at-x at-x-still" });
  fill(document.body, host);
  const store = {
    state: { ...START, ...state },
    result: { ...result, direction: state.direction, frame: true },
  };
  return { curves: drawCurves, heat: drawHeat, way: drawWay }[shown](host, /** @type {any} */ ({ store }));
}

/** @type {(host: Element, explorer: Explorer) => string} */
function drawCurves(host, explorer) {
  const stage = new Stage(explorer);
  fill(host, stage.element);
  stage.render();
  return flatten(stage.element);
}

/** @type {(host: Element, explorer: Explorer) => string} */
function drawHeat(host, explorer) {
  const { state, result } = /** @type {any} */ (explorer.store);
  /** @type {(number | null)[][]} */
  const rows = result.tensor;
  const tensor = rows.map((row) => Float32Array.from(row, (value) => value ?? -Infinity));
  const narrow = innerWidth < 500;
  const side = narrow ? 92 : 116;
  const width = Math.min(62, Math.floor((innerWidth - side) / tensor[0].length));
  const [height, digits] = [34, width < 44 ? 2 : 3];
  const heat = new Heat(explorer, { width, height, side, top: digits < 3 ? 68 : height, digits });
  heat.grid.classList.toggle("at-x-upright", digits < 3);
  fill(host, heat.grid);
  heat.drawGrid(mapOf({ name: state.tensor, result, tensor }, state.at), tensorTitle(state.tensor));
  return flatten(heat.spacer);
}

/** @type {(host: Element, explorer: Explorer) => Promise<string>} */
async function drawWay(host, { store }) {
  const { state, result } = /** @type {any} */ (store);
  const layer = state.layer;
  Object.assign(BOOK, { frame: { strips: result.strips } });
  const scene = sceneOf(
    store,
    layer,
    await readStrips(/** @type {any} */ (null), result, Object.keys(result.strips)),
  );
  const zoom = innerWidth < 500 ? 1 : ZOOM;
  const column = innerWidth / zoom;
  const svg = h("svg", { width: column });
  fill(host, h("div", { class: "at-x-drawn" }, svg));
  let wide = column;
  let part = new Part(scene, layout(wide, layer), result.stops);
  for (let i = 0; i < 5; i += 1) {
    wide += column - part.area().width;
    part = new Part(scene, layout(wide, layer), result.stops);
  }
  const { x, y, width, height } = part.area();
  svg.setAttribute("width", String(wide));
  svg.setAttribute("height", String(part.layout.height));
  fill(svg, ...part.all());
  const { left, top } = svg.getBoundingClientRect();
  const crop = { left: left + x, top: top + y, right: left + x + width, bottom: top + y + height };
  return flatten(svg, crop, zoom);
}

// Some stops of the picture, without what is below and above them.
class Part extends Drawing {
  /** @param {Scene} scene @param {Layout} layout @param {number[]} stops */
  constructor(scene, layout, stops) {
    super(scene, layout, () => {});
    this.stops = stops;
    const { parts } = layout.decoder;
    /** @type {(...both: number[]) => boolean} */
    const passes = (...both) => both.every((stop) => stops.includes(stop)); // the other layers
    this.kept = parts.filter(({ part: { stop, closed } }) =>
      closed ? passes(...(closed <= scene.layer ? [1, 2] : [5, 6])) : stops.includes(stop),
    );
    const [first] = this.kept;
    this.entering = first ? first.part.tensor !== "input" && parts[parts.indexOf(first) - 1] : parts.at(-1);
    this.inside = [...(first && this.entering ? [this.entering] : []), ...this.kept].filter(
      ({ part }) => part.inLayer,
    );
    // What is read stands beside the box that reads it; where there is room for one list, it is the other sentence.
    this.reads = [CROSS_ATTENTION, SELF_ATTENTION].filter((stop) => stops.includes(stop));
    if (layout.narrow) this.reads.splice(1);
    for (const stop of this.reads) {
      const name = stop === CROSS_ATTENTION ? "memory" : "words";
      const tokens = stop === CROSS_ATTENTION ? scene.source : scene.read;
      const box = parts.find(({ part, box }) => box && part.stop === stop)?.box ?? layout.softmax;
      const height = WORD * tokens.length + 2 * AIR;
      layout[name] = { ...layout[name], y: box.y + (box.height - height) / 2, height };
    }
  }

  area() {
    const { decoder, memory, narrow, softmax, width, words } = this.layout;
    const { panel, input } = decoder;
    const { kept, entering, reads, stops } = this;
    const ends = [stops.includes(0) ? input : entering && entering.strip, kept.at(-1)?.strip];
    if (stops.includes(SOFTMAX.stop)) ends.push({ ...softmax, y: AIR });
    if (this.inside.length > 1) ends.push(this.panelOf());
    const lists = reads
      .map((stop) => (stop === CROSS_ATTENTION ? memory : words))
      .map((list) => ({ ...list, y: list.y - LINE, height: list.height + LINE }));
    const boxes = [...ends, ...lists].filter((box) => box !== undefined && box !== false);
    const y = Math.min(...boxes.map((box) => box.y)) - AIR;
    const left = reads.includes(CROSS_ATTENTION) || (narrow && reads.length) ? 0 : panel.x - 2;
    const right = reads.includes(SELF_ATTENTION) && !narrow ? width : panel.x + panel.width + 4;
    const bottom = Math.max(...boxes.map((box) => box.y + box.height)) + AIR;
    return { x: left, y, width: right - left, height: bottom - y };
  }

  // The sheet of the layer, around what is shown of it.
  panelOf() {
    const { panel } = this.layout.decoder;
    const [low, high] = [this.inside[0].strip, /** @type {Placed} */ (this.inside.at(-1)).strip];
    const y = high.y - HEADLINE;
    return { ...panel, y, height: low.y + low.height + AIR - y };
  }

  // The vector of the position is as wide as the others, in its box.
  /** @override @type {(placed: Placed) => Element} */
  decoderPart(placed) {
    const { part, box, strip } = placed;
    if (!box || !part.past || part.inLayer) return super.decoderPart(placed);
    const { x, y, width, height } = box;
    const inside = { ...strip, y: y + (height - strip.height) / 2 };
    const look = this.layout.narrow ? "at-x-tight" : undefined;
    return h(
      "g",
      { class: "at-x-box at-x-decoder", style: `--role: var(--at-${part.role})` },
      rect(box, { rx: 5 }),
      this.vector(part, part.past, inside, {}),
      text(x + width + 3, y + height / 2 + 4, part.box, { look }),
      this.vector(part, part.tensor, strip, {}),
    );
  }

  /** @override @returns {any[]} */
  all() {
    const { entering, inside, kept, scene, stops } = this;
    const { decoder, softmax } = this.layout;
    const middle = decoder.input.x + decoder.input.width / 2;
    const sheet = inside.length > 1 && { ...decoder, panel: this.panelOf() };
    const low = stops.includes(0) ? decoder.input : sheet ? sheet.panel : entering && entering.strip;
    const from = low ? low.y + (stops.includes(0) ? 0 : low.height + 2 * AIR) : 0;
    const high = sheet ? sheet.panel : kept.at(-1)?.strip;
    const to = stops.includes(SOFTMAX.stop) || !high ? softmax.y + softmax.height : high.y - 2 * AIR;
    const lists = this.reads.map((stop) => (stop === CROSS_ATTENTION ? this.memory() : this.words()));
    return [
      sheet && this.panel("decoder", sheet),
      h("path", { d: `M${middle} ${from}V${to}`, class: "at-x-rail" }),
      sheet && this.title("decoder", sheet),
      lists.map((list) => [this.fan(list), list.element]),
      entering && this.decoderPart({ ...entering, box: null, part: { ...entering.part, past: undefined } }),
      kept.map((placed) => this.decoderPart(placed)),
      stops.includes(SOFTMAX.stop) && this.softmax(),
      stops.includes(0) && chip(decoder.input, plain(scene.read[scene.step], scene.step)),
    ];
  }
}

Object.assign(window, { drawStill });
