// A list of words that attention reads, each with its weight and its vector as a strip.
import { h } from "./dom.js";
import { heading, short, strip, text } from "./marks.js";
import { percent, plain } from "./words.js";

const LEAST_PITCH = 19; // pixels, so that words stay apart
const MOST_PITCH = 32;

// The list, and where its rows are; `stop`: at which they are read; `strips`: the vectors of the first words.
/** @param {string[]} tokens @param {number[] | null} weights @param {Box} box @param {{ title: string, stop: number, strips: { name: string, rows: ArrayLike<number>[], move?: Record<string, unknown> } }} about */
export function wordList(tokens, weights, box, { title, stop, strips: { name, rows: vectors, move } }) {
  const { x, width } = box;
  const places = mostRead(tokens, weights, Math.floor(box.height / LEAST_PITCH));
  const pitch = Math.min(MOST_PITCH, box.height / places.length);
  const top = box.y + box.height - pitch * places.length; // they stand on what they come from
  const rows = places.map((place, row) => ({
    token: `${place > (places[row - 1] ?? -1) + 1 ? "… " : ""}${plain(tokens[place], place)}`,
    weight: weights?.[place] ?? 0,
    place,
    y: top + pitch * (row + 0.5),
  }));
  const items = rows.map(({ token, weight, place, y }) => {
    const read = weight >= BOOK.least;
    const line = { x: x + 1, y: y + 4, width: width - 2, height: Math.min(7, pitch - 16) };
    return [
      h(
        "g",
        { class: `at-x-read ${read ? "at-active" : ""}` },
        text(x, y - 2, short(token, width - (read ? 34 : 0))),
        read && text(x + width, y - 2, percent(weight), { look: "at-x-share", anchor: "end" }),
      ),
      vectors[place] && strip(vectors[place], line, { name, row: place, move }),
    ];
  });
  return { rows, stop, box, element: h("g", { "aria-hidden": "true" }, heading(x, top - 6, title), items) };
}

// The places of the words that are shown, in their order: if there are too many, those that are read most.
/** @type {(tokens: string[], weights: number[] | null, fit: number) => number[]} */
const mostRead = (tokens, weights, fit) =>
  [...tokens.keys()]
    .sort((a, b) => (weights?.[b] ?? 0) - (weights?.[a] ?? 0))
    .slice(0, fit)
    .sort((a, b) => a - b);
