// What the picture is drawn with: strips of numbers, words, and how they move.
import { h } from "./dom.js";

const LETTER = 6.3; // the mean width of a letter, in pixels
export const CHIP = 120; // the width of a chip where there is room

/** @type {(box: Box, attributes?: Record<string, unknown>) => SVGRectElement} */
export const rect = ({ x, y, width, height }, attributes = {}) =>
  h("rect", { x, y, width, height, ...attributes });

// How motion.js moves an element, and when: one turn after the other.
/** @type {(stop: number | "encoder", motion: string, turn: number, by?: number[]) => Record<string, unknown>} */
export const moves = (stop, motion, turn, by = []) => ({
  "data-stop": stop,
  "data-motion": motion,
  "data-turn": turn,
  "data-by": by.join(" "),
});

// A curve as wide as an attention weight.
/** @type {(start: [x: number, y: number], end: [x: number, y: number], weight: number, attributes?: Record<string, unknown>) => SVGPathElement} */
export function curve([x, y], [endX, endY], weight, attributes = {}) {
  const middle = (x + endX) / 2;
  const d = `M${x} ${y}C${middle} ${y} ${middle} ${endY} ${endX} ${endY}`;
  return h("path", { d, "stroke-width": (1 + 7 * weight).toFixed(1), ...attributes });
}

// How much of its full color a number has.
/** @type {(value: number) => number} */
export const share = (value) => Math.min(1, Math.abs(value) / BOOK.full);

/**
 * A vector as colors, in an outline.
 * @type {(values: ArrayLike<number>, box: Box, about: { name: string, row: number, look?: string, move?: Record<string, unknown> }) => Element}
 */
export function strip(values, box, { name, row, look = "", move }) {
  const { x, y, width, height } = box;
  return h(
    "g",
    { class: `at-x-strip ${look}`, "aria-hidden": "true", "data-strip": name, "data-row": row, ...move },
    rect({ x: x - 1, y: y - 1, width: width + 2, height: height + 2 }, { class: "at-x-edge", rx: 2 }),
    h("image", { ...box, href: imageOf(values), preserveAspectRatio: "none" }),
  );
}

// A pixel for each number: its sign is its color, its size the opacity, so that it looks right on any paper. As 160
// elements, each strip would cost the browser ten times as much.
/** @type {(values: ArrayLike<number>) => string} */
function imageOf(values) {
  const known = images.get(values);
  if (known) return known;
  const canvas = h("canvas", { width: values.length, height: 1 });
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const style = getComputedStyle(document.documentElement);
  for (let i = 0; i < values.length; i++) {
    pen.fillStyle = style.getPropertyValue(values[i] < 0 ? "--at-second" : "--at-first");
    pen.globalAlpha = share(values[i]);
    pen.fillRect(i, 0, 1, 1);
  }
  const image = canvas.toDataURL();
  images.set(values, image);
  return image;
}
/** @type {WeakMap<ArrayLike<number>, string>} */
const images = new WeakMap();

/** @type {(box: Box, words: string, look?: string, move?: Record<string, unknown>) => Element} */
export function chip({ x, y, width: room, height }, words, look = "", move = {}) {
  const width = Math.min(room, CHIP);
  const middle = x + room / 2;
  return h(
    "g",
    { class: `at-x-chip ${look}`, ...move },
    rect({ x: middle - width / 2, y, width, height }, { rx: 12 }),
    text(middle, y + height / 2 + 4, short(words, width - 12), { anchor: "middle" }),
  );
}

/** @type {(x: number, y: number, words: Child, options?: { look?: string, anchor?: string }) => Element} */
export const text = (x, y, words, { look, anchor } = {}) =>
  h("text", { x, y, class: look, "text-anchor": anchor }, words);
/** @type {(x: number, y: number, words: string, anchor?: string) => Element} */
export const heading = (x, y, words, anchor) => text(x, y, words, { look: "at-x-minor", anchor });

/** @type {(words: string, room: number) => string} */
export const short = (words, room) => {
  const fit = Math.max(2, Math.floor(room / LETTER));
  return words.length <= fit ? words : `${words.slice(0, fit - 1).trimEnd()}…`;
};
