// Draws the picture: encoder and decoder, the strips of a token as far as its stop, and what it reads.
import { h } from "./dom.js";
import { capital, tensorTitle } from "./names.js";
import { CHIP, chip, curve, heading, moves, rect, share, short, strip, text } from "./marks.js";
import { wordList } from "./word_list.js";
import { CROSS_ATTENTION, DROP, fullName, memoryName, partsAt, SELF_ATTENTION, SOFTMAX } from "./stops.js";
import { exactPercent, plain } from "./words.js";

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
    const { layout } = this;
    return [
      this.panel("encoder", layout.encoder),
      this.panel("decoder", layout.decoder),
      this.rails(),
      h(
        "g",
        { "aria-hidden": "true" },
        this.title("encoder", layout.encoder),
        this.title("decoder", layout.decoder),
      ),
      this.lists().map((list) => [this.fan(list), list.element]),
      layout.encoder.parts.map((placed, i) => this.box("encoder", placed, moves("encoder", "glow", 0.4 * i))),
      layout.decoder.parts.map((placed) => this.decoderPart(placed)),
      this.softmax(),
      this.ends(),
    ];
  }

  // What can be read, at the left and at the right; on a phone, only at the left: one of both.
  lists() {
    const { layout, scene } = this;
    if (!layout.narrow) return [this.memory(), this.words()];
    return [[SELF_ATTENTION, SELF_ATTENTION + 1].includes(scene.stop ?? -1) ? this.words() : this.memory()];
  }

  // The encoder's vectors.
  memory() {
    const { layout, scene } = this;
    const { source, cross, strips } = scene;
    return wordList(source, this.shows(CROSS_ATTENTION) ? cross : null, layout.memory, {
      title: layout.narrow ? "from the encoder" : "made once by the encoder",
      stop: CROSS_ATTENTION,
      strips: { name: memoryName(), rows: strips[memoryName()], move: moves("encoder", "fade", 2.4) },
    });
  }

  // The words written so far.
  words() {
    const { layout, scene } = this;
    const { read, past, strips, step } = scene;
    const input = fullName("input", "decoder", scene.layer);
    return wordList(read, this.shows(SELF_ATTENTION) ? past : null, layout.words, {
      title: "written so far",
      stop: SELF_ATTENTION,
      strips: { name: input, rows: strips[input].slice(0, step + Number(this.shows(SELF_ATTENTION))) },
    });
  }

  // Curves from what is read to the box that reads it.
  /** @type {(list: ReturnType<typeof wordList>) => Element | undefined} */
  fan({ rows, stop, box: from }) {
    if (!this.shows(stop)) return;
    const reader = this.layout.decoder.parts.find(({ part, box }) => box && part.stop === stop);
    const { x, y, width, height } = /** @type {{ box: Box }} */ (reader).box;
    const left = from.x < x;
    const [start, end] = left ? [from.x + from.width + 4, x] : [from.x - 4, x + width];
    const low = y + height / 2;
    return h(
      "g",
      { class: `at-x-fan ${this.look(stop)}`, "aria-hidden": "true" },
      rows
        .filter(({ weight }) => weight >= BOOK.least)
        .map(({ weight, y }) =>
          curve([start, y], [end, low], weight, { pathLength: 1, ...moves(stop, "draw", 0) }),
        ),
    );
  }

  // The chosen layer; in the encoder, on top of the others.
  /** @type {(name: "encoder" | "decoder", stack: Stack) => Element} */
  panel(name, { panel }) {
    const below = name === "encoder" ? BOOK.shape.layers - 1 : 0;
    const sheets = Array.from({ length: below }, (_, i) => 3 * (below - i));
    return h(
      "g",
      { class: `at-x-panel at-x-${name}`, "aria-hidden": "true" },
      sheets.map((by) => rect({ ...panel, x: panel.x + by, y: panel.y - by }, { rx: 8 })),
      rect(panel, { rx: 8 }),
    );
  }

  // Which layer it is, over the rail, which stops at its letters.
  /** @type {(name: "encoder" | "decoder", stack: Stack) => Element} */
  title(name, { panel }) {
    const { layout, scene } = this;
    const layer = `, layer ${scene.layer + 1} of ${BOOK.shape.layers}`;
    const words = capital(name) + (layout.narrow && name === "encoder" ? "" : layer);
    return text(panel.x + 10, panel.y + 15, words, { look: "at-x-title" });
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

  /** @type {(placed: Placed) => Element} */
  decoderPart(placed) {
    const { part, box, strip: place } = placed;
    const { panel } = this.layout.decoder;
    const visible = this.shows(part.stop);
    const turn = this.turn(part);
    const rise = (box?.height ?? 0) + 22;
    const added = box && part.inLayer && !part.past;
    return h(
      "g",
      { class: added ? "at-x-added" : null, style: `--role: var(--at-${part.role})` },
      part.closed && [
        rect({ ...panel, y: place.y - 3, height: place.height + 6 }, { class: "at-x-closed", rx: 4 }),
        heading(place.x + place.width + 14, place.y + place.height, `layer ${part.closed}`),
      ],
      part.past && this.past(placed),
      box && this.box("decoder", placed),
      visible && this.cells(placed, turn),
      visible
        ? this.vector(part, part.tensor, place, moves(part.stop, "rise", turn + 1, [rise]))
        : rect(place, { class: "at-x-empty", rx: 2 }),
      added && visible && heading(place.x + place.width + 5, place.y + place.height - 3, "new"),
    );
  }

  // The strip of a tensor, of the token that is made.
  /** @type {(part: Part, tensor: string, box: Box, move: Record<string, unknown>) => Element} */
  vector({ stop }, tensor, box, move) {
    const { layer, step: row, strips } = this.scene;
    const name = fullName(tensor, "decoder", layer);
    return strip(strips[name][row], box, { name, row, look: this.look(stop), move });
  }

  // The place of a part among those of its stop: what moves one after the other.
  /** @type {(part: Part) => number} */
  turn(part) {
    if (part.closed) return part.closed - (part.stop === SOFTMAX.stop ? this.scene.layer + 2 : 0);
    const parts = this.layout.decoder.parts.map((placed) => placed.part);
    const moving = parts.filter(({ stop, box }) => box && stop === part.stop);
    return 2 * Math.max(0, moving.indexOf(part)); // a strip without a box only rises
  }

  // What goes past a box unchanged, and joins what comes out of it. The positions only join.
  /** @type {(placed: Placed) => Element | false} */
  past({ part, box, strip: place }) {
    const { layout } = this;
    const { parts } = layout.decoder;
    const at = parts.findIndex(({ part: other }) => other === part);
    const visible = this.shows(part.stop);
    const { y, height } = /** @type {Box} */ (box);
    const right = place.x + place.width + 8;
    const from = part.inLayer ? parts[at - 2].strip : null;
    const lane = { ...layout.lane, y: y + (height - layout.lane.height) / 2 };
    const center = lane.x + lane.width / 2;
    const start = from
      ? `M${from.x + from.width} ${from.y + from.height / 2}H${center - 8}q8 0 8 -8V${y + height}`
      : "";
    const move = from
      ? moves(part.stop, "pass", this.turn(part), [from.x - lane.x, from.y - lane.y, from.width / lane.width])
      : moves(part.stop, "fade", 0);
    return h(
      "g",
      { class: "at-x-past-strip", "aria-hidden": "true" },
      h("path", { d: `${start}M${lane.x} ${y + height / 2}H${right}`, class: "at-x-rail" }),
      visible && this.vector(part, /** @type {string} */ (part.past), lane, move),
      text(right + 5, y + height / 2 - 3, "+", { look: "at-x-plus-sign", anchor: "middle" }),
      from && visible && heading(center, lane.y + lane.height + 11, "old", "middle"),
    );
  }

  // The hidden units: 512 cells, of which most are blank.
  /** @type {(placed: Placed, turn: number) => Element | undefined} */
  cells({ part, box }, turn) {
    if (!part.cells) return;
    const { layer, step, hidden: values } = this.scene;
    const { x, y, width, height } = /** @type {Box} */ (box);
    const columns = 64;
    const [wide, top] = [(width - 16) / columns, y + 19];
    const tall = (height - 22) / (values.length / columns);
    const cells = Array.from(values, (value, i) => {
      if (value <= 0) return null;
      const place = { x: x + 8 + wide * (i % columns), y: top + tall * Math.floor(i / columns) };
      const look = { "fill-opacity": share(value).toFixed(3), "data-cell": i };
      return rect({ ...place, width: wide, height: tall }, look);
    });
    return h(
      "g",
      {
        class: "at-x-cells",
        "aria-hidden": "true",
        "data-strip": fullName(part.cells, "decoder", layer),
        "data-row": step,
        ...moves(part.stop, "fade", turn),
      },
      rect({ x: x + 8, y: top, width: width - 16, height: height - 22 }, { class: "at-x-blank" }),
      cells,
    );
  }

  /** @type {(stack: "encoder" | "decoder", placed: Pick<Placed, "part" | "box">, move?: Record<string, unknown>) => Element} */
  box(stack, { part, box }, move = {}) {
    const { x, y, width, height } = /** @type {Box} */ (box);
    const name = fullName(part.cells ?? part.tensor, stack, this.scene.layer);
    const { narrow } = this.layout;
    const active = this.scene.stop === part.stop && stack === "decoder" ? "at-active" : "";
    const opened = this.scene.opened === name;
    const line = y + (part.cells && stack === "decoder" ? 15 : height / 2 + 4);
    const open = () => this.open(name);
    return h(
      "g",
      {
        class: `at-x-box at-x-${stack} ${active}`,
        style: `--role: var(--at-${part.role})`,
        role: "button",
        tabindex: -1, // so that it can have the focus
        "aria-expanded": String(opened),
        "data-key": `box ${name}`,
        "aria-label": `${part.box}. ${tensorTitle(name)}: open its numbers`,
        onclick: open,
        onkeydown: (event) => {
          if (!["Enter", " "].includes(event.key)) return;
          event.preventDefault();
          open();
        },
      },
      rect({ x, y, width, height }, { rx: 5, ...move }),
      text(x + width / 2, line, part.box, { look: narrow ? "at-x-tight" : undefined, anchor: "middle" }),
    );
  }

  // The likeliest next tokens, and the box that they come from.
  softmax() {
    const { bars, softmax } = this.layout;
    const { top, id: chosen, step, layer } = this.scene;
    const turn = BOOK.shape.layers - layer; // after those above the drawn one
    const visible = this.shows(SOFTMAX.stop);
    const [name, number] = [74, 46];
    const room = bars.width - name - number;
    return h(
      "g",
      {},
      this.box("decoder", { part: SOFTMAX, box: softmax }),
      h(
        "g",
        { class: `at-x-outcome ${this.look(SOFTMAX.stop)}`, "aria-hidden": "true" },
        top.map(({ id, token, probability }, i) => {
          const y = bars.y + bars.height * i;
          const track = { x: bars.x + name, y: y + 3, width: room, height: 11 };
          const filled = { ...track, width: room * probability };
          const right = { look: "at-x-share", anchor: "end" };
          return [
            rect(track, { class: "at-x-track", rx: 2 }),
            visible &&
              h(
                "g",
                { class: id === chosen ? "at-active" : "", ...moves(SOFTMAX.stop, "fade", turn) },
                rect(filled, { class: "at-x-probability", rx: 2, "data-share": probability }),
                text(track.x - 6, y + 13, short(plain(token, step), name - 8), { anchor: "end" }),
                text(bars.x + bars.width, y + 13, exactPercent(probability), right),
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
    const middle = input.x + input.width / 2;
    const arrow = middle + CHIP / 2 + 5;
    return h(
      "g",
      { class: "at-x-ends", "aria-hidden": "true" },
      chip(encoder.input, sentence),
      h("path", {
        d: `M${bars.x + bars.width + 4} ${bars.y + 9}H${edge - 8}q8 0 8 8V${y - 8}q0 8 -8 8H${arrow}`,
        class: `at-x-rail at-x-return ${drops ? "at-active" : ""}`,
      }),
      h("path", { d: `M${arrow + 5} ${y - 4}l-5 4l5 4`, class: "at-x-rail" }),
      drops
        ? chip(
            input,
            plain(written, step),
            "at-active",
            moves(DROP, "drop", 0, [edge - middle - CHIP / 2, bars.y - input.y]),
          )
        : chip(input, plain(read[step], step)),
    );
  }
}

// The tensors that the picture of a layer shows.
/** @type {(layer: number) => string[]} */
export function namesShown(layer) {
  const tensors = partsAt(layer).flatMap(({ tensor, past, cells }) => [tensor, past, cells]);
  const names = tensors.filter((name) => name !== undefined).map((name) => fullName(name, "decoder", layer));
  return [...new Set([...names, memoryName()])];
}
