// Where the parts of the picture are, in pixels, for the width that it is given.
import { DECODER, ENCODER } from "./stops.js";
/** @import { Part } from "./stops.js" */

/** @typedef {{ x: number, y: number, width: number, height: number }} Box */
/** @typedef {{ part: Part, box: Box | null, strip: Box }} Placed  a part: its box, and the strip above it */
/** @typedef {{ panel: Box, parts: Placed[], input: Box }} Stack */
/**
 * @typedef {object} Layout
 * @property {boolean} narrow  a phone: the words written so far take the place of the encoder's vectors
 * @property {number} width
 * @property {number} height
 * @property {Stack} encoder
 * @property {Stack} decoder
 * @property {Box} bars
 * @property {Box} softmax
 * @property {Box} lane  where the old strip goes past the boxes
 * @property {Box} memory  the encoder's vectors
 * @property {Box} words  the words written so far
 */

const NARROW = 500;
const BARS = 92;
const BOX = 24;
const CELLS = 46; // a box with hidden units in it
const STRIP = 14;
const GAP = 4;
const PAD = 10; // between a panel and what is around or in it
const PITCH = 31; // of the encoder's boxes, between which there are no strips

/** @type {(width: number) => Layout} */
export function layout(width) {
  const narrow = width < NARROW;
  const left = narrow ? 92 : Math.min(190, 0.23 * width);
  const fan = narrow ? 28 : 0.085 * width; // room for curves
  const side = narrow ? 48 : 62;
  const right = narrow ? 6 : 74 + 0.055 * width;
  const x = left + fan;
  const inner = width - x - side - right;
  const softmax = { x, y: BARS + 6, width: inner, height: BOX };
  const decoder = decoderStack({ x, y: softmax.y + BOX, width: inner }, side);
  const encoder = encoderStack({ x: PAD, width: left - 2 * PAD }, decoder);
  const memory = { x: 0, y: 20, width: left, height: encoder.panel.y - 40 };
  const { y, height } = decoder.panel;
  return {
    narrow,
    width,
    height: decoder.input.y + BOX + 2,
    encoder,
    decoder,
    softmax,
    bars: { x, y: 2, width: inner + side, height: BARS },
    lane: { x: x + inner + 16, y: 0, width: side - 20, height: STRIP - 2 },
    memory,
    words: narrow ? memory : { x: width - 74, y: y + 60, width: 70, height: height - 40 },
  };
}

// From the top down: what is below a part is drawn after it.
/** @type {(top: { x: number, y: number, width: number }, side: number) => Stack} */
function decoderStack({ x, y, width }, side) {
  /** @type {Placed[]} */
  const placed = [];
  let [first, last] = [0, 0];
  for (const [i, part] of [...DECODER.entries()].reverse()) {
    if (part.inLayer && !DECODER[i + 1].inLayer) y = (first = y + PAD - GAP) + GAP; // the panel begins
    if (!part.inLayer && DECODER[i + 1]?.inLayer) y = last = y + PAD;
    const strip = { x: x + 8, y: y + GAP, width: width - 16, height: STRIP };
    y += GAP + STRIP;
    const box = part.box ? { x, y: y + GAP, width, height: part.cells ? CELLS : BOX } : null;
    y += box ? GAP + box.height : 0;
    placed.unshift({ part, box, strip });
  }
  const panel = { x: x - PAD, y: first, width: width + side + PAD, height: last - first };
  return { panel, parts: placed, input: { x, y: y + 14, width, height: BOX } };
}

// At the height of the decoder, as far as both have the same parts.
/** @type {(column: { x: number, width: number }, decoder: Stack) => Stack} */
function encoderStack({ x, width }, decoder) {
  const bottom = decoder.panel.y + decoder.panel.height;
  const inside = ENCODER.filter(({ inLayer }) => inLayer);
  const parts = ENCODER.map((part, i) => {
    const up = i - (ENCODER.length - inside.length) + 1;
    const y = part.inLayer ? bottom - PITCH * up - 2 : /** @type {Box} */ (decoder.parts[i].box).y;
    return { part, box: { x, y, width, height: BOX }, strip: { x, y: y - STRIP, width, height: STRIP } };
  });
  const height = PITCH * inside.length + 24;
  return {
    panel: { x: x - PAD, y: bottom - height, width: width + 2 * PAD, height },
    parts,
    input: { ...decoder.input, x, width },
  };
}
