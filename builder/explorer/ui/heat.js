// A tensor as a heat map of numbers. Only the cells in view exist, so a tensor may have thousands of columns.
import { parsed } from "../engine/names.js";
import { cellAfter, choices, fill, focusOn, h, note, p } from "./dom.js";
import { axes, chapterLink, tensorTitle } from "./names.js";
import { changes } from "./notices.js";
import { number, sentenceOf, shapeWords, tokenElement } from "./words.js";

// In pixels: a cell, the names of rows, and those of columns; and the digits of a number.
const CELL = { width: 62, height: 34, side: 116, top: 34, digits: 3 };
const AROUND = 3; // cells beyond the edge, for quick scrolling

/** @typedef {{ name: string, result: Translation, tensor: Matrix | Matrix[] }} Read  what the engine has sent */

export class Heat {
  /** @param {Explorer} explorer */
  constructor(explorer, cell = CELL) {
    this.explorer = explorer;
    this.cell = cell;
    /** @type {Read | null} */
    this.read = null;
    /** @type {ReturnType<typeof mapOf> | null} */
    this.map = null; // what is drawn of it
    this.head = h("div", { class: "at-x-heat-head" });
    this.spacer = h("div");
    const sizes = `--cell: ${cell.width}px; --line: ${cell.height}px; --side: ${cell.side}px; --top: ${cell.top}px`;
    this.grid = h("div", { class: "at-x-grid", role: "grid", style: sizes }, this.spacer);
    this.grid.addEventListener("scroll", () => this.drawCells());
    this.grid.addEventListener("keydown", (event) => this.arrow(event));
    new ResizeObserver(() => this.drawCells()).observe(this.grid);
    this.element = h("div", { class: "at-x-heat" }, this.head, this.grid);
  }

  async render() {
    const { store } = this.explorer;
    const { result } = store;
    const name = store.state.tensor;
    this.element.hidden = !name;
    if (!name || result.frame) return;
    if (this.read?.name !== name || this.read.result !== result) {
      const tensor = await store.session.tensor(result, name).catch((/** @type {Error} */ error) => error);
      if (store.result !== result || store.state.tensor !== name) return; // superseded
      const failed = tensor instanceof Error;
      if (failed) fill(this.head, h("p", { class: "at-x-error", role: "alert" }, sentenceOf(tensor.message)));
      this.read = failed ? null : { name, result, tensor }; // after an error, the next call asks the engine again
    }
    this.grid.hidden = !this.read;
    if (this.read) this.draw(this.read);
  }

  /** @type {(read: Read) => void} */
  draw(read) {
    const { state } = this.explorer.store;
    const map = mapOf(read, state.at);
    const { heads, slice, row, column } = map;
    const shape = [...(heads ? [heads.length] : []), slice.length, slice[0].length];
    const counted = [
      heads && `${heads.length} heads`,
      `${slice.length} rows: ${map.axes.rows.name}`,
      `${slice[0].length} columns: ${map.axes.columns.name}`,
    ];
    const title = tensorTitle(read.name);
    const info = BOOK.kinds[parsed(read.name).kind];
    const changed = changes(state);
    fill(
      this.head,
      h("h4", { tabindex: -1, "data-key": "tensor" }, title),
      p(info.words, " ", chapterLink(info.chapter)),
      changed && note(`In this translation: ${changed}.`),
      note(
        h("b", {}, shapeWords(shape)),
        ` (${counted.filter(Boolean).join(", ")}). `,
        map.isShare
          ? "Numbers in the map are rounded to three digits."
          : `Violet is positive, amber negative; full color is ±${number(map.scale, 3)}.`,
      ),
      heads &&
        choices({
          key: "slice",
          legend: "Head",
          options: heads.map((_, head) => [head, String(head + 1)]),
          value: state.at[0],
          pick: (head) => this.explorer.store.change({ at: [head, row, column] }),
        }),
    );
    this.drawGrid(map, title);
  }

  /** @type {(map: ReturnType<typeof mapOf>, title: string) => void} */
  drawGrid(map, title) {
    const isNew = map.slice !== this.map?.slice;
    this.map = map;
    const { slice, row, column } = map;
    const { cell } = this;
    this.grid.setAttribute("aria-label", title);
    this.grid.setAttribute("aria-rowcount", String(slice.length + 1));
    this.grid.setAttribute("aria-colcount", String(slice[0].length + 1));
    this.spacer.style.width = `${cell.side + slice[0].length * cell.width}px`;
    this.spacer.style.height = `${cell.top + cell.height * slice.length}px`;
    const { grid } = this;
    const across = column * cell.width;
    const scrolled = scrolledTo(across, cell.width, grid.scrollLeft, grid.clientWidth - cell.side, isNew);
    // In a new map, the chosen cell is in the middle, and the edge between two columns.
    grid.scrollLeft = isNew ? cell.width * Math.round(scrolled / cell.width) : scrolled;
    const room = grid.clientHeight - cell.top;
    grid.scrollTop = scrolledTo(row * cell.height, cell.height, grid.scrollTop, room, isNew);
    this.drawCells();
  }

  drawCells() {
    const { cell, grid, map } = this;
    if (!map || !grid.clientWidth) return;
    const columns = inSight(grid.scrollLeft, grid.clientWidth, cell.width, map.slice[0].length);
    const rows = inSight(grid.scrollTop, grid.clientHeight, cell.height, map.slice.length);
    /** @type {(column: number) => string} */
    const place = (column) => `left: ${cell.side + column * cell.width}px`;
    const corner = h(
      "span",
      { role: "columnheader", class: "at-x-side", "aria-colindex": 1 },
      h("span", { class: "at-hidden" }, map.axes.rows.name),
    );
    const names = columns.map((column) =>
      h(
        "span",
        { role: "columnheader", class: "at-x-top-name", "aria-colindex": column + 2, style: place(column) },
        this.columnName(map.axes, column),
      ),
    );
    fill(
      this.spacer,
      h("div", { role: "row", class: "at-x-row at-x-row-names", "aria-rowindex": 1 }, corner, names),
      rows.map((row) =>
        h(
          "div",
          {
            role: "row",
            class: "at-x-row",
            "aria-rowindex": row + 2,
            style: `top: ${cell.top + cell.height * row}px`,
          },
          h("span", { role: "rowheader", class: "at-x-side", "aria-colindex": 1 }, rowName(map.axes, row)),
          columns.map((column) => this.drawCell(map, row, column, place(column))),
        ),
      ),
    );
  }

  /** @type {(map: ReturnType<typeof mapOf>, row: number, column: number, place: string) => Element} */
  drawCell(map, row, column, place) {
    const { digits } = this.cell;
    const value = map.slice[row][column];
    const fixed = value.toFixed(digits).replace(digits < 3 ? /^0/ : "", "");
    const free = digits < 3 && Number.isFinite(value) ? Number(value.toFixed(1)) : value;
    const here = row === map.row && column === map.column;
    const share = Math.min(1, Math.abs(value) / map.scale) || 0;
    const sign = value < 0 ? "at-x-negative" : "at-x-positive";
    const look = map.isShare ? `at-x-heat-cell ${share > 0.595 ? "at-x-high" : "at-x-low"}` : sign;
    return h(
      "span",
      {
        role: "gridcell",
        class: Number.isFinite(value) ? look : "at-x-masked",
        tabindex: here ? 0 : -1,
        "aria-colindex": column + 2,
        "aria-selected": String(here),
        "data-key": `cell ${row} ${column}`,
        style: `${place}; --share: ${share.toFixed(3)}`,
        onclick: () => this.go(row, column),
      },
      map.isShare ? fixed : number(free, digits),
    );
  }

  /** @type {(places: Axes, column: number) => HTMLElement | string} */
  columnName({ columns: { tokens, language, name, direction }, rows }, column) {
    if (tokens) return tokenElement(tokens[column], column, language);
    if (name === "features") return String(column);
    const { vocabularies } = this.explorer.store.session;
    const token = vocabularies.get(/** @type {string} */ (direction))?.[column] ?? String(column);
    return h("span", { title: `token ${column}` }, tokenElement(token, 1, rows.language)); // 1: "in" and " in" differ
  }

  // The names of a position in a tensor of the translation, not necessarily the one that is drawn.
  /** @type {(tensor: string, index: number[]) => string} */
  placeWords(tensor, index) {
    const places = axes(tensor, this.explorer.store.result);
    const [row, column] = index.slice(-2);
    const head = index.length > 2 ? `head ${index[0] + 1}, ` : "";
    const name = this.columnName(places, column);
    const what = places.columns.tokens ? "key" : places.columns.name === "features" ? "feature" : "token";
    return `${head}row “${rowName(places, row).textContent}”, ${what} ${typeof name === "string" ? name : name.textContent}`;
  }

  /** @type {(row: number, column: number) => void} */
  go(row, column) {
    const { at } = this.explorer.store.state;
    this.explorer.store.change({ at: [...at.slice(0, -2), row, column] });
    focusOn(this.grid, `cell ${row} ${column}`);
  }

  /** @type {(event: KeyboardEvent) => void} */
  arrow(event) {
    if (!this.map) return;
    const { slice, row, column } = this.map;
    const page = Math.max(1, Math.floor((this.grid.clientWidth - this.cell.side) / this.cell.width) - 1);
    const to = cellAfter(event, [row, column], [slice.length - 1, slice[0].length - 1], page);
    if (to) this.go(to[0], to[1]);
  }
}

// What is drawn of a tensor: that of one head, if there are several, and what its rows and columns stand for.
/** @param {Read} read @param {number[]} at */
export function mapOf({ name, result, tensor }, at) {
  const heads = Array.isArray(tensor[0]) && /** @type {Matrix[]} */ (tensor);
  const [row, column] = at.slice(-2);
  const isShare = ["weights", "probabilities"].includes(parsed(name).kind); // from 0 to 1
  const sizes = /** @type {Matrix} */ (tensor.flat()).flatMap((values) => Array.from(values, Math.abs));
  const largest = sizes.reduce((best, size) => (Number.isFinite(size) ? Math.max(best, size) : best), 0);
  return {
    heads,
    slice: heads ? heads[at[0]] : /** @type {Matrix} */ (tensor),
    axes: axes(name, result),
    isShare,
    scale: isShare ? 1 : largest || 1,
    row,
    column,
  };
}

// Where a grid is scrolled so that a cell is in view: in the middle if the map is new.
/** @type {(start: number, size: number, scrolled: number, room: number, isNew: boolean) => number} */
function scrolledTo(start, size, scrolled, room, isNew) {
  if (isNew) return start - room / 2;
  return Math.min(Math.max(scrolled, start + size - room), start);
}

// The rows or columns that are in view, and some around them.
/** @type {(offset: number, room: number, size: number, count: number) => number[]} */
function inSight(offset, room, size, count) {
  const first = Math.max(0, Math.floor(offset / size) - AROUND);
  const last = Math.min(count, Math.ceil((offset + room) / size) + AROUND);
  return Array.from({ length: last - first }, (_, i) => first + i);
}

/** @type {(places: Axes, row: number) => HTMLElement} */
function rowName({ rows: { tokens, next, language } }, row) {
  if (!next) return tokenElement(tokens[row], row, language);
  return h(
    "span",
    { class: "at-x-two" },
    "after ",
    tokenElement(tokens[row], row, language),
    h("br"),
    " writes ",
    tokenElement(next[row], row, language),
  );
}
