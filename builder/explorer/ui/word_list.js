// A list of words that attention reads, each with its weight and its vector as a strip.
import { h } from "./dom.js";
import { heading, short, strip } from "./marks.js";
import { percent, plain } from "./words.js";

/** @typedef {{ token: string, weight: number, place: number, y: number }} Row */

const LEAST_PITCH = 19; // pixels, so that words stay apart
const MOST_PITCH = 32;

export class WordList {
  /** @param {string[]} tokens @param {number[] | null} weights @param {Box} box @param {{ title: string, stop: number, strips: { name: string, rows: ArrayLike<number>[], move?: Record<string, unknown> } }} about */
  constructor(tokens, weights, box, { title, stop, strips }) {
    this.title = title;
    this.box = box;
    this.stop = stop; // at which they are read
    this.strips = strips;
    const places = mostRead(tokens, weights, Math.floor(box.height / LEAST_PITCH));
    this.pitch = Math.min(MOST_PITCH, box.height / places.length);
    this.top = box.y + box.height - this.pitch * places.length; // they stand on what they come from
    /** @type {Row[]} */
    this.rows = places.map((place, row) => ({
      token: `${place > (places[row - 1] ?? -1) + 1 ? "… " : ""}${plain(tokens[place], place)}`,
      weight: weights?.[place] ?? 0,
      place,
      y: this.top + this.pitch * (row + 0.5),
    }));
  }

  draw() {
    return h(
      "g",
      { "aria-hidden": "true" },
      heading(this.box.x, this.top - 6, this.title),
      this.rows.map((row) => [this.word(row), this.strip(row)]),
    );
  }

  /** @type {(row: Row) => Element} */
  word({ token, weight, y }) {
    const { x, width } = this.box;
    const read = weight >= BOOK.least;
    const line = y - 2;
    return h(
      "g",
      { class: `at-x-read ${read ? "at-active" : ""}` },
      h("text", { x, y: line }, short(token, width - (read ? 34 : 0))),
      read &&
        h("text", { x: x + width, y: line, "text-anchor": "end", class: "at-x-share" }, percent(weight)),
    );
  }

  /** @type {(row: Row) => Element | null} */
  strip({ place, y }) {
    const { name, rows, move } = this.strips;
    if (!rows[place]) return null;
    const { x, width } = this.box;
    const box = { x: x + 1, y: y + 4, width: width - 2, height: Math.min(7, this.pitch - 16) };
    return strip(rows[place], box, { name, row: place, move });
  }
}

// The places of the words that are shown, in their order: if there are too many, those that are read most.
/** @type {(tokens: string[], weights: number[] | null, fit: number) => number[]} */
const mostRead = (tokens, weights, fit) =>
  [...tokens.keys()]
    .sort((a, b) => (weights?.[b] ?? 0) - (weights?.[a] ?? 0))
    .slice(0, fit)
    .sort((a, b) => a - b);
