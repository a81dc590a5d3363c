// Where the parts of the picture are, in pixels, for the width that it is given.
import { ENCODER, partsAt } from "./stops.js";

const NARROW = 500;
// Of a bar, a box, one with hidden units in it, a strip, that of a closed layer, and a gap.
const WIDE = { bar: 18, box: 24, cells: 46, strip: 14, closed: 8, gap: 4 };
const CLOSE = { bar: 14, box: 22, cells: 34, strip: 10, closed: 6, gap: 3 }; // so that the explanation stays in view on a phone
const PAD = 10; // between a panel and what is around or in it
const TITLE = 16; // the line of a panel that names it
const PITCH = 31; // of the encoder's boxes, between which there are no strips

/** @param {number} width @param {number} layer */
export function layout(width, layer) {
  const narrow = width < NARROW;
  const left = narrow ? 92 : Math.min(190, 0.23 * width);
  const fan = narrow ? 28 : 0.085 * width; // room for curves
  const side = narrow ? 48 : 62;
  const right = narrow ? 6 : 74 + 0.055 * width;
  const x = left + fan;
  const inner = width - x - side - right;
  const sizes = narrow ? CLOSE : WIDE;
  const softmax = { x, y: 5 * sizes.bar + 6, width: inner, height: sizes.box };
  const decoder = decoderStack(partsAt(layer), { x, y: softmax.y + sizes.box, width: inner }, side, sizes);
  const encoder = encoderStack({ x: PAD, width: left - 2 * PAD }, decoder, sizes);
  const memory = { x: 0, y: 20, width: left, height: encoder.panel.y - 40 };
  const { y, height } = decoder.panel;
  return {
    narrow, // a phone: the words written so far take the place of the encoder's vectors
    width,
    height: decoder.input.y + sizes.box + 2,
    encoder,
    decoder,
    softmax,
    bars: { x, y: 2, width: inner + side - (narrow ? 12 : 0), height: sizes.bar }, // the first of five
    lane: { x: x + inner + 16, y: 0, width: side - 20, height: sizes.strip - 2 }, // where the old strip goes past the boxes
    memory, // the encoder's vectors
    words: narrow ? memory : { x: width - 80, y: y + 20, width: 68, height: height - 20 }, // written so far
  };
}

// From the top down: what is below a part is drawn after it.
/** @type {(parts: Part[], top: { x: number, y: number, width: number }, side: number, sizes: typeof WIDE) => Stack} */
function decoderStack(parts, { x, y, width }, side, { box: low, cells: high, strip: thin, closed, gap }) {
  /** @type {Placed[]} */
  const placed = [];
  let [first, last] = [0, 0];
  for (const [i, part] of [...parts.entries()].reverse()) {
    if (part.inLayer && !parts[i + 1]?.inLayer) y = (first = y + gap) + TITLE; // the panel begins
    if (!part.inLayer && parts[i + 1]?.inLayer) y = last = y + PAD;
    const [air, height] = part.closed ? [3, closed] : [0, thin];
    const strip = { x: x + 8, y: y + gap + air, width: width - 16, height };
    y += gap + height + 2 * air;
    const box = part.box ? { x, y: y + gap, width, height: part.cells ? high : low } : null;
    y += box ? gap + box.height : 0;
    placed.unshift({ part, box, strip });
  }
  const panel = { x: x - PAD, y: first, width: width + side + PAD, height: last - first };
  return { panel, parts: placed, input: { x, y: y + 14, width, height: low } };
}

// At the height of the decoder, as far as both have the same parts, and its layers above those.
/** @type {(column: { x: number, width: number }, decoder: Stack, sizes: typeof WIDE) => Stack} */
function encoderStack({ x, width }, decoder, { box: low }) {
  const bottom = decoder.parts[1].strip.y - PAD;
  const inside = ENCODER.filter(({ inLayer }) => inLayer);
  const parts = ENCODER.map((part, i) => {
    const up = i - (ENCODER.length - inside.length) + 1;
    const y = part.inLayer ? bottom - PITCH * up - 2 : /** @type {Box} */ (decoder.parts[i].box).y;
    const box = { x, y, width, height: low };
    return { part, box, strip: box };
  });
  const height = PITCH * inside.length + TITLE + 8;
  return {
    panel: { x: x - PAD, y: bottom - height, width: width + 2 * PAD, height },
    parts,
    input: { ...decoder.input, x, width },
  };
}
