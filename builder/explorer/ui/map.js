// The picture in small, for the head of a chapter. A group for each part names it, so that a page can light it.
import { fill, h } from "./dom.js";
import { Drawing } from "./drawing.js";
import { flatten } from "./flatten.js";
import { chip, strip, text } from "./marks.js";
import { capital } from "./names.js";
import { sceneOf } from "./scene.js";
import { START } from "./state.js";
import { CROSS_ATTENTION, DECODER, ENCODER, memoryName } from "./stops.js";
import { readStrips } from "./strips.js";
import { plain } from "./words.js";

const [WIDTH, HEIGHT] = [248, 250];
const [BOX, PITCH] = [15, 19]; // the height of a box, and how far the next one is above it
const PAD = 6; // between a panel and what is in it
const LEFT = { x: 8, width: 78, height: BOX };
const RIGHT = { x: 116, width: 84, height: BOX };
const BYPASS = 10; // of what goes past a box, beside it
/** @type {Record<string, string>} */
const NAMES = { "+ position": "positions", "Add & Norm": "norm" };

/** @type {(frame: any) => Promise<string>} */
async function drawStill({ direction, sentence, step, layer, strips, ...result }) {
  const svg = h("svg", { height: HEIGHT });
  fill(document.body, h("div", { class: "at-x at-x-still" }, h("div", { class: "at-x-drawn" }, svg)));
  document.body.style.width = `${WIDTH}px`;
  Object.assign(BOOK, { frame: { strips } });
  const shown = /** @type {any} */ ({
    state: { ...START, step, layer, direction, text: sentence },
    result: { ...result, direction, frame: true },
  });
  const rows = await readStrips(/** @type {any} */ (null), shown.result, Object.keys(strips));
  fill(svg, ...new Small(sceneOf(shown, layer, rows)).all());
  const crop = svg.getBoundingClientRect();
  const [start, end] = flatten(h("svg"), crop).split(/(?<=>)(?=<)/);
  const groups = Array.from(svg.children, (part) => {
    const shapes = flatten(part, crop).slice(start.length, -end.length);
    return `<g data-part="${part.getAttribute("data-part")}">\n${shapes}\n</g>`;
  });
  return [start, ...groups, end].join("\n");
}

class Small extends Drawing {
  /** @param {Scene} scene */
  constructor(scene) {
    const [encoder, decoder] = [stack(ENCODER, LEFT), stack(DECODER, RIGHT)];
    const memory = { ...LEFT, y: 30, height: encoder.panel.y - 52 };
    const softmax = { ...RIGHT, y: decoder.panel.y - 13 - BOX };
    const bars = { x: RIGHT.x - 74, y: 0, width: 190, height: 14 };
    const layout = { narrow: true, width: WIDTH, encoder, decoder, memory, softmax, bars };
    super({ ...scene, stop: null, top: scene.top.slice(0, 1) }, /** @type {any} */ (layout), () => {});
  }

  /** @override @returns {any[]} */
  all() {
    const { encoder, decoder } = this.layout;
    const { read, source, step } = this.scene;
    const [softmax, outcome] = this.softmax().children;
    return [
      part("", this.panel("encoder", encoder), this.panel("encoder", decoder), this.rails()),
      part("encoder", this.title("encoder", encoder)),
      part("decoder", this.title("decoder", decoder)),
      ...this.vectors(),
      ...encoder.parts.map((placed) => this.boxOf("encoder", placed)),
      ...decoder.parts.map((placed) => this.boxOf("decoder", placed)),
      part("output", softmax),
      part("next,loss", outcome),
      part("loop", this.loop()),
      part(
        "words",
        chip(encoder.input, `${source.slice(0, 2).join("").trim()}…`),
        chip(decoder.input, plain(read[step], step)),
      ),
    ];
  }

  /** @override @type {(name: "encoder" | "decoder", stack: Stack) => Element} */
  title(name, { panel }) {
    return text(panel.x + 8, panel.y + 12, capital(name), { look: "at-x-title" });
  }

  // The encoder's vectors, and how much is read of each.
  vectors() {
    const { memory } = this.layout;
    const { cross, source, strips } = this.scene;
    const name = memoryName();
    const pitch = memory.height / source.length;
    const rows = source.map((_, row) => ({ weight: cross?.[row] ?? 0, y: memory.y + pitch * (row + 0.5) }));
    const list = /** @type {any} */ ({ rows, stop: CROSS_ATTENTION, box: memory });
    return [
      part("cross-attention,decoder", this.fan(list)),
      part(
        "memory,encoder",
        text(memory.x, memory.y - 5, "from the encoder", { look: "at-x-tight" }),
        rows.map(({ y }, row) => strip(strips[name][row], { ...memory, y: y - 2, height: 4 }, { name, row })),
      ),
    ];
  }

  /** @type {(name: "encoder" | "decoder", placed: Placed) => Element} */
  boxOf(name, placed) {
    const { box = "", inLayer } = placed.part;
    const own = box === "self-attention" ? `${name} attention` : (NAMES[box] ?? box);
    const past = own === "norm" && name === "decoder" && bypass(placed.strip);
    return part(inLayer ? `${own},${name}` : own, past, this.box(name, placed));
  }

  /** @override @type {Drawing["box"]} */
  box(...about) {
    const box = super.box(...about);
    box.classList.add("at-active");
    return box;
  }

  // From the likeliest word to the input.
  loop() {
    const { bars, decoder } = this.layout;
    const [right, y] = [RIGHT.x + RIGHT.width + 5, decoder.input.y + BOX / 2];
    return [
      h("path", {
        d: `M${bars.x + bars.width + 4} 9h4q6 0 6 6V${y - 6}q0 6 -6 6H${right}`,
        class: "at-x-rail at-x-return at-active",
      }),
      h("path", { d: `M${right + 5} ${y - 4}l-5 4l5 4`, class: "at-x-rail" }),
    ];
  }
}

/** @type {(names: string, ...children: any[]) => Element} */
const part = (names, ...children) => h("g", { "data-part": names }, children);

/** @type {(parts: Part[], column: Omit<Box, "y">) => Stack} */
function stack(parts, column) {
  /** @type {(row: number) => number} */
  const top = (row) => HEIGHT - 2 - BOX - PITCH * row - PAD * Number(row > 2);
  const placed = parts
    .filter(({ box }) => box)
    .map((part, i) => {
      const box = { ...column, y: top(i + 1) };
      return { part: { ...part, cells: undefined }, box, strip: box };
    });
  const y = top(placed.length) - 17;
  const side = column === RIGHT ? BYPASS : 0;
  const panel = { x: column.x - PAD, y, width: column.width + 2 * PAD + side, height: top(2) - 4 - y };
  return { panel, parts: placed, input: { ...column, y: top(0) } };
}

// Past the box below Add & Norm.
/** @type {(box: Box) => Element} */
function bypass({ x, y, width }) {
  const [low, high] = [y + 2 * PITCH - 2, y + BOX / 2];
  const right = x + width;
  const d = `M${x + width / 2} ${low}H${right + BYPASS - 5}q5 0 5 -5V${high + 5}q0 -5 -5 -5H${right}`;
  return h("path", { class: "at-x-rail", d });
}

Object.assign(window, { drawStill });
