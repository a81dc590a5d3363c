// What the picture is drawn with: strips of numbers, words, and how they move.
import { h } from "./dom.js";
import { FULL } from "./strips.js";
/** @import { Box } from "./layout.js" */

const LETTER = 6.3; // the mean width of a letter, in pixels

/** @type {(box: Box, attributes?: Record<string, unknown>) => SVGRectElement} */
export const rect = ({ x, y, width, height }, attributes = {}) =>
  h("rect", { x, y, width, height, ...attributes });

// How motion.js moves an element, and when: one turn after the other.
/** @type {(stop: number, motion: string, turn: number, by?: number[]) => Record<string, unknown>} */
export const moves = (stop, motion, turn, by = []) => ({
  "data-stop": stop,
  "data-motion": motion,
  "data-turn": turn,
  "data-by": by.join(" "),
});

/** @type {(value: number) => Record<string, unknown>} */
export const tone = (value) => ({
  class: value < 0 ? "at-x-minus" : "at-x-more",
  style: `--share:${Math.min(1, Math.abs(value) / FULL).toFixed(3)}`,
});

/**
 * A vector as colors, in an outline.
 * @type {(values: ArrayLike<number>, box: Box, about: { name: string, row: number, look?: string, move?: Record<string, unknown> }) => Element}
 */
export function strip(values, { x, y, width, height }, { name, row, look = "", move }) {
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
export function chip({ x, y, width, height }, words, look = "", move = {}) {
  return h(
    "g",
    { class: `at-x-chip ${look}`, ...move },
    rect({ x, y, width, height }, { rx: 12 }),
    h("text", { x: x + width / 2, y: y + height / 2 + 4, "text-anchor": "middle" }, words),
  );
}

/** @type {(x: number, y: number, text: string) => Element} */
export const heading = (x, y, text) => h("text", { x, y, class: "at-x-minor" }, text);

/** @type {(words: string, room: number) => string} */
export const short = (words, room) => {
  const fit = Math.max(2, Math.floor(room / LETTER));
  return words.length <= fit ? words : `${words.slice(0, fit - 1).trimEnd()}…`;
};
