// Draws the picture: encoder and decoder, the strips of a token as far as its stop, and what it reads.
import { h } from "./dom.js";
import { capital, tensorTitle } from "./names.js";
import { FULL } from "./strips.js";
import { DECODER, fullName, memoryName, SOFTMAX } from "./stops.js";
import { exactPercent, LEAST, percent, plain } from "./words.js";
/** @import { Likely } from "../engine/translator.js" */
/** @import { Box, Layout, Placed, Stack } from "./layout.js" */
/** @import { Part } from "./stops.js" */
/** @import { Rows } from "./strips.js" */

/**
 * @typedef {object} Scene
 * @property {number} layer
 * @property {number} step  the token that is made
 * @property {number | null} stop  null: all of them
 * @property {string[]} source
 * @property {string[]} read  the tokens that the decoder has read, `step` the last
 * @property {string} written  the token that is made
 * @property {number[] | null} own  what is read of `read`, or null if these heads are off
 * @property {number[] | null} cross  what is read of `source`
 * @property {Likely[]} top
 * @property {number} chosen  the id of the token that is made
 * @property {Rows} strips
 */
/** @typedef {{ token: string, weight: number, i: number, x: number, y: number }} Row  of a list of words */

const LETTER = 6.3; // the mean width of a letter
const ROW = { least: 19, most: 32 };

export class Drawing {
  /** @param {Scene} scene @param {Layout} layout @param {(name: string) => void} open */
  constructor(scene, layout, open) {
    this.scene = scene;
    this.layout = layout;
    this.open = open;
  }

  // Whether something of a stop is drawn yet.
  /** @type {(stop: number) => boolean} */
  shows(stop) {
    return this.scene.stop === null || stop <= this.scene.stop;
  }

  /** @type {(stop: number) => string} */
  look(stop) {
    return this.scene.stop === stop || this.scene.stop === null ? "at-active" : "at-past";
  }

  all() {
    const { layout, scene } = this;
    const memory = this.rows(layout.memory, scene.source, scene.cross, 4);
    const own = this.rows(layout.words, scene.read, scene.own, 2);
    const swapped = layout.narrow && (scene.stop === 2 || scene.stop === 3);
    return [
      this.panel("encoder", layout.encoder),
      this.panel("decoder", layout.decoder),
      this.rails(),
      this.fan("self-attention", own, 2, layout.narrow ? "left" : "right"),
      !swapped && this.fan("cross-attention", memory, 4, "left"),
      ...(swapped ? [] : this.memory(memory)),
      ...(swapped || !layout.narrow ? this.words(own) : []),
      layout.encoder.parts.map((placed) => this.box("encoder", placed)),
      layout.decoder.parts.map((placed) => this.decoderPart(placed)),
      this.softmax(),
      this.ends(),
    ];
  }

  // The layers, as sheets of which the chosen one lies on top.
  /** @type {(name: "encoder" | "decoder", stack: Stack) => Element} */
  panel(name, { panel }) {
    const { layers } = BOOK.shape;
    const { layout, scene } = this;
    const sheets = Array.from({ length: layers - 1 }, (_, i) => 3 * (layers - 1 - i));
    const title = `layer ${scene.layer + 1} of ${layers}`;
    const words = layout.narrow && name === "encoder" ? capital(name) : `${capital(name)}, ${title}`;
    return h(
      "g",
      { class: `at-x-panel at-x-${name}`, "aria-hidden": "true" },
      sheets.map((by) => rect({ ...panel, x: panel.x + by, y: panel.y - by }, { rx: 8 })),
      rect(panel, { rx: 8 }),
      h("text", { x: panel.x + 10, y: panel.y + 15, class: "at-x-title" }, words),
    );
  }

  // The lines along which everything moves up, and from the encoder to its vectors.
  rails() {
    const { encoder, decoder, softmax, memory } = this.layout;
    /** @type {(stack: Stack, to: number) => Element} */
    const rail = ({ input }, to) =>
      h("path", { d: `M${input.x + input.width / 2} ${input.y}V${to}`, class: "at-x-rail" });
    return h(
      "g",
      { "aria-hidden": "true" },
      rail(encoder, memory.y + memory.height + 6),
      rail(decoder, softmax.y),
    );
  }

  // The rows of a list of words that fit: if there are too many, those that are read most.
  /** @type {(box: Box, tokens: string[], weights: number[] | null, stop: number) => Row[]} */
  rows(box, tokens, weights, stop) {
    const fit = Math.floor(box.height / ROW.least);
    const kept = [...tokens.keys()]
      .sort((a, b) => (weights?.[b] ?? 0) - (weights?.[a] ?? 0))
      .slice(0, fit)
      .sort((a, b) => a - b);
    const most = stop === 2 ? 24 : ROW.most;
    const pitch = Math.min(most, box.height / kept.length);
    const top =
      stop === 2 ? box.y + (box.height - pitch * kept.length) / 2 : box.y + box.height - pitch * kept.length;
    return kept.map((i, row) => ({
      token: plain(tokens[i], i),
      weight: this.shows(stop) ? (weights?.[i] ?? 0) : 0,
      i,
      x: box.x,
      y: top + pitch * (row + 0.5),
    }));
  }

  // The encoder's vectors: a word and its strip.
  /** @type {(rows: Row[]) => Element[]} */
  memory(rows) {
    const { memory } = this.layout;
    const strips = this.scene.strips[memoryName()];
    const pitch = rows.length > 1 ? rows[1].y - rows[0].y : ROW.most;
    const height = Math.min(7, pitch - 16);
    const drawn = rows.map((row) => [
      this.word(row, memory, -2),
      height > 2 &&
        strip(
          strips[row.i],
          { x: 0, y: row.y + 4, width: memory.width, height },
          { name: memoryName(), row: row.i },
        ),
    ]);
    return [heading(memory.x, rows[0].y - pitch / 2 - 5, "the encoder’s vectors"), ...drawn.flat()].filter(
      (one) => one instanceof Element,
    );
  }

  /** @type {(rows: Row[]) => Element[]} */
  words(rows) {
    const { words } = this.layout;
    const pitch = rows.length > 1 ? rows[1].y - rows[0].y : 24;
    return [
      heading(words.x, rows[0].y - pitch / 2 - 8, "written so far"),
      ...rows.map((row) => this.word(row, words, 4)),
    ];
  }

  /** @type {(row: Row, box: Box, down: number) => Element} */
  word({ token, weight, y }, { x, width }, down) {
    const read = weight >= LEAST;
    return h(
      "g",
      { class: `at-x-read ${read ? "at-active" : ""}`, "aria-hidden": "true" },
      h("text", { x, y: y + down }, short(token, width - (read ? 34 : 0))),
      read &&
        h("text", { x: x + width, y: y + down, "text-anchor": "end", class: "at-x-share" }, percent(weight)),
    );
  }

  // Curves from what is read to the box that reads it.
  /** @type {(name: string, rows: Row[], stop: number, side: "left" | "right") => Element | false} */
  fan(name, rows, stop, side) {
    const { decoder, memory, words, narrow } = this.layout;
    const box = /** @type {Box} */ (decoder.parts.find(({ part }) => part.box === name)?.box);
    if (!this.shows(stop) || (narrow && stop === 2 && this.scene.stop !== 2)) return false;
    const to = { x: side === "left" ? box.x : box.x + box.width, y: box.y + box.height / 2 };
    const from = side === "left" ? memory.x + memory.width + 4 : words.x - 4;
    const middle = (from + to.x) / 2;
    return h(
      "g",
      { class: `at-x-fan ${this.look(stop)}`, "aria-hidden": "true" },
      rows
        .filter(({ weight }) => weight >= LEAST)
        .map(({ weight, y, i }) =>
          h("path", {
            d: `M${from} ${y}C${middle} ${y} ${middle} ${to.y} ${to.x} ${to.y}`,
            pathLength: 1,
            "stroke-width": (1 + 7 * weight).toFixed(1),
            ...moves(stop, "draw", 0),
            "data-weight": weight,
            "data-token": i,
          }),
        ),
    );
  }

  /** @type {(placed: Placed) => Element} */
  decoderPart(placed) {
    const { part, box, strip: place } = placed;
    const { layer, step, strips } = this.scene;
    const name = fullName(part.tensor, "decoder", layer);
    const shown = this.shows(part.stop);
    const turn = this.turn(part);
    const rise = (box?.height ?? 0) + 22;
    return h(
      "g",
      {},
      part.past && this.past(placed),
      box && this.box("decoder", placed),
      shown && this.cells(placed, turn),
      shown
        ? strip(strips[name][step], place, {
            name,
            row: step,
            look: this.look(part.stop),
            move: moves(part.stop, "rise", turn + 1, [rise]),
          })
        : rect(place, { class: "at-x-empty", rx: 2 }),
      this.note(part, place),
    );
  }

  // The place of a part among those of its stop: what moves one after the other.
  /** @type {(part: Part) => number} */
  turn(part) {
    return 2 * DECODER.filter(({ stop, box }) => box && stop === part.stop).indexOf(part);
  }

  // Which layers are between the strips below and above the panel and those in it.
  /** @type {(part: Part, place: Box) => Element | false} */
  note({ tensor }, { y, height }) {
    const { layer } = this.scene;
    const { layers } = BOOK.shape;
    const below = tensor === "decoder.embedded" && through(1, layer);
    const above = tensor === "output" && through(layer + 2, layers);
    const words = below || above;
    return words ? heading(this.layout.lane.x - 10, y + height - 3, words) : false;
  }

  // What goes past a box unchanged, and joins what comes out of it. The positions only join.
  /** @type {(placed: Placed) => Element | false} */
  past({ part, box, strip: place }) {
    const { scene, layout } = this;
    const { parts } = layout.decoder;
    const at = parts.findIndex(({ part: other }) => other === part);
    const name = fullName(/** @type {string} */ (part.past), "decoder", scene.layer);
    const { y, height } = /** @type {Box} */ (box);
    const right = place.x + place.width + 8;
    const goes = part.inLayer;
    const from = goes ? parts[at - 2].strip : null;
    const lane = { ...layout.lane, y: y + (height - layout.lane.height) / 2 };
    const center = lane.x + lane.width / 2;
    const start = from
      ? `M${from.x + from.width} ${from.y + from.height / 2}H${center - 8}q8 0 8 -8V${y + height}`
      : "";
    return h(
      "g",
      { class: "at-x-past-strip", "aria-hidden": "true" },
      h("path", { d: `${start}M${lane.x} ${y + height / 2}H${right}`, class: "at-x-rail" }),
      this.shows(part.stop) &&
        strip(scene.strips[name][scene.step], lane, {
          name,
          row: scene.step,
          look: this.look(part.stop),
          move: from
            ? moves(part.stop, "pass", this.turn(part), [
                from.x - lane.x,
                from.y - lane.y,
                from.width / lane.width,
              ])
            : moves(part.stop, "fade", 0),
        }),
      h(
        "text",
        { x: right + 5, y: y + height / 2 - 3, "text-anchor": "middle", class: "at-x-plus-sign" },
        "+",
      ),
    );
  }

  // The hidden units: 512 cells, of which most are blank.
  /** @type {(placed: Placed, turn: number) => Element | undefined} */
  cells({ part, box }, turn) {
    if (!part.cells) return;
    const { layer, step, strips } = this.scene;
    const name = fullName(part.cells, "decoder", layer);
    const values = strips[name][step];
    const { x, y, width, height } = /** @type {Box} */ (box);
    const columns = 64;
    const [cell, top] = [(width - 16) / columns, y + 19];
    const tall = (height - 22) / (values.length / columns);
    /** @type {(i: number) => Box} */
    const place = (i) => ({
      x: x + 8 + cell * (i % columns),
      y: top + tall * Math.floor(i / columns),
      width: cell,
      height: tall,
    });
    return h(
      "g",
      {
        class: "at-x-cells",
        "aria-hidden": "true",
        "data-strip": name,
        "data-row": step,
        ...moves(part.stop, "fade", turn),
      },
      rect({ x: x + 8, y: top, width: width - 16, height: height - 22 }, { class: "at-x-blank" }),
      Array.from(values, (value, i) =>
        value > 0 ? rect(place(i), { ...tone(value), "data-cell": i }) : null,
      ),
    );
  }

  /** @type {(stack: "encoder" | "decoder", placed: Pick<Placed, "part" | "box">) => Element} */
  box(stack, { part, box }) {
    const { x, y, width, height } = /** @type {Box} */ (box);
    const name = fullName(part.cells ?? part.tensor, stack, this.scene.layer);
    const { narrow } = this.layout;
    const active = this.scene.stop === part.stop && stack === "decoder" ? "at-active" : "";
    const open = () => this.open(name);
    return h(
      "g",
      {
        class: `at-x-box ${active}`,
        style: `--role: var(--at-${part.role})`,
        role: "button",
        tabindex: -1,
        "data-key": `box ${name}`,
        "aria-label": `${part.box}. ${tensorTitle(name)}: open its numbers`,
        onclick: open,
        onkeydown: (event) => {
          if (!["Enter", " "].includes(event.key)) return;
          event.preventDefault();
          open();
        },
      },
      rect({ x, y, width, height }, { rx: 5 }),
      h(
        "text",
        {
          x: x + width / 2,
          y: y + (part.cells && stack === "decoder" ? 15 : height / 2 + 4),
          "text-anchor": "middle",
          class: narrow ? "at-x-tight" : null,
        },
        part.box,
      ),
    );
  }

  // The likeliest next tokens, and the box that they come from.
  softmax() {
    const { bars, softmax } = this.layout;
    const { top, chosen, step } = this.scene;
    const shown = this.shows(SOFTMAX.stop);
    const [name, number, pitch] = [74, 46, 18];
    const room = bars.width - name - number;
    return h(
      "g",
      {},
      this.box("decoder", { part: SOFTMAX, box: softmax }),
      h(
        "g",
        { class: `at-x-outcome ${this.look(SOFTMAX.stop)}`, "aria-hidden": "true" },
        top.map(({ id, token, probability }, i) => {
          const y = bars.y + pitch * i;
          const track = { x: bars.x + name, y: y + 3, width: room, height: 11 };
          const share = { ...track, width: room * probability };
          return [
            rect(track, { class: "at-x-track", rx: 2 }),
            shown &&
              h(
                "g",
                { class: id === chosen ? "at-active" : "", ...moves(SOFTMAX.stop, "fade", 2) },
                rect(share, { class: "at-x-probability", rx: 2, "data-share": probability }),
                h(
                  "text",
                  { x: track.x - 6, y: y + 13, "text-anchor": "end" },
                  short(plain(token, step), name - 8),
                ),
                h(
                  "text",
                  { x: bars.x + bars.width, y: y + 13, "text-anchor": "end", class: "at-x-share" },
                  exactPercent(probability),
                ),
              ),
          ];
        }),
      ),
    );
  }

  // What each stack begins with: the sentence, and the last word written; at the last stop, the next one.
  ends() {
    const { encoder, decoder, bars, width } = this.layout;
    const { source, read, written, step, stop } = this.scene;
    const sentence = source
      .filter((token) => token !== "<eos>")
      .join("")
      .trim();
    const drops = stop === DROP;
    const { input } = decoder;
    const [edge, y] = [width - 3, input.y + input.height / 2];
    return h(
      "g",
      { class: "at-x-ends", "aria-hidden": "true" },
      chip(encoder.input, short(sentence, encoder.input.width - 10)),
      h("path", {
        d: `M${bars.x + bars.width + 4} ${bars.y + 9}H${edge - 8}q8 0 8 8V${y - 8}q0 8 -8 8H${input.x + input.width + 5}`,
        class: `at-x-rail at-x-return ${drops ? "at-active" : ""}`,
      }),
      h("path", { d: `M${input.x + input.width + 9} ${y - 4}l-5 4l5 4`, class: "at-x-rail" }),
      drops
        ? chip(
            input,
            plain(written, step),
            "at-active",
            moves(DROP, "drop", 0, [edge - input.x - input.width, bars.y - input.y]),
          )
        : chip(input, plain(read[step], step)),
    );
  }
}

export const DROP = 7; // the stop at which the word drops into the decoder's input

/** @type {(box: Box, attributes?: Record<string, unknown>) => SVGRectElement} */
const rect = ({ x, y, width, height }, attributes = {}) => h("rect", { x, y, width, height, ...attributes });

// How motion.js moves an element, and when: one turn after the other.
/** @type {(stop: number, motion: string, turn: number, by?: number[]) => Record<string, unknown>} */
const moves = (stop, motion, turn, by = []) => ({
  "data-stop": stop,
  "data-motion": motion,
  "data-turn": turn,
  "data-by": by.join(" "),
});

/** @type {(value: number) => Record<string, unknown>} */
const tone = (value) => ({
  class: value < 0 ? "at-x-minus" : "at-x-more",
  style: `--share:${Math.min(1, Math.abs(value) / FULL).toFixed(3)}`,
});

/**
 * A vector as colors, in an outline.
 * @type {(values: ArrayLike<number>, box: Box, about: { name: string, row: number, look?: string, move?: Record<string, unknown> }) => Element}
 */
function strip(values, { x, y, width, height }, { name, row, look = "", move }) {
  const cell = width / values.length;
  return h(
    "g",
    { class: `at-x-strip ${look}`, "aria-hidden": "true", "data-strip": name, "data-row": row, ...move },
    rect({ x: x - 1, y: y - 1, width: width + 2, height: height + 2 }, { class: "at-x-edge", rx: 2 }),
    Array.from(values, (value, i) =>
      rect({ x: x + cell * i, y, width: cell, height }, { ...tone(value), "data-cell": i }),
    ),
  );
}

/** @type {(box: Box, words: string, look?: string, move?: Record<string, unknown>) => Element} */
function chip({ x, y, width, height }, words, look = "", move = {}) {
  return h(
    "g",
    { class: `at-x-chip ${look}`, ...move },
    rect({ x, y, width, height }, { rx: 12 }),
    h("text", { x: x + width / 2, y: y + height / 2 + 4, "text-anchor": "middle" }, words),
  );
}

/** @type {(x: number, y: number, text: string) => Element} */
const heading = (x, y, text) => h("text", { x, y, class: "at-x-minor" }, text);

// "layers 1–3", if there are such layers.
/** @type {(first: number, last: number) => string | false} */
const through = (first, last) => first <= last && `${first < last ? `layers ${first}–` : "layer "}${last}`;

/** @type {(words: string, room: number) => string} */
const short = (words, room) => {
  const fit = Math.max(2, Math.floor(room / LETTER));
  return words.length <= fit ? words : `${words.slice(0, fit - 1).trimEnd()}…`;
};

// The tensors that the picture of a layer shows.
/** @type {(layer: number) => string[]} */
export function namesShown(layer) {
  const tensors = DECODER.flatMap(({ tensor, past, cells }) => [tensor, past, cells]);
  const names = tensors.filter((name) => name !== undefined).map((name) => fullName(name, "decoder", layer));
  return [...new Set([...names, memoryName()])];
}
