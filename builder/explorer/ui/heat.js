// A tensor as a heat map of numbers. Only the cells in view exist, so a tensor may have thousands of columns.
import { cellAfter, choices, fill, focusOn, h } from "./dom.js";
import { axes, chapterLink, parsed, tensorTitle } from "./names.js";
import { changes } from "./notices.js";
import { number, sentenceOf, shapeWords, tokenElement } from "./words.js";
/** @import { Matrix } from "../engine/tensors.js" */
/** @import { Explorer } from "./explorer.js" */
/** @import { Axes } from "./names.js" */
/** @import { Translated } from "./session.js" */

const CELL = { width: 62, height: 34, side: 116 }; // as in explorer.css
const AROUND = 3; // cells beyond the edge, for quick scrolling
const FROM_0_TO_1 = ["weights", "probabilities"];

export class Heat {
  // What draw() has drawn, of a tensor that the engine has sent.
  /** @type {Matrix | Matrix[]} */
  tensor;
  /** @type {string} */
  name;
  /** @type {Matrix} */
  slice;
  /** @type {Axes} */
  axes;
  /** @type {number} */
  scale;
  /** @type {{ row: number, column: number }} */
  cell;

  /** @param {Explorer} explorer */
  constructor(explorer) {
    this.explorer = explorer;
    /** @type {unknown} */
    this.drawn = null;
    this.head = h("div", { class: "at-x-heat-head" });
    this.grid = h("div", { class: "at-x-grid", role: "grid" });
    this.grid.addEventListener("scroll", () => this.drawCells());
    this.grid.addEventListener("keydown", (event) => this.arrow(event));
    new ResizeObserver(() => this.drawCells()).observe(this.grid);
    this.element = h("div", { class: "at-x-heat" }, this.head, this.grid);
  }

  async render() {
    const { state, result, session } = this.explorer.store;
    this.element.hidden = !state.tensor;
    if (!state.tensor || result.frame) return;
    if (this.name !== state.tensor || this.result !== result) {
      const tensor = await session.tensor(result, state.tensor).catch((/** @type {Error} */ error) => error);
      if (this.explorer.store.result !== result || this.explorer.store.state.tensor !== state.tensor) return; // superseded
      if (tensor instanceof Error) return this.refuse(tensor);
      this.tensor = tensor;
      this.name = state.tensor;
      /** @type {Translated | null} */
      this.result = result;
    }
    this.draw();
  }

  // The engine's error message instead of numbers; the next call asks the engine again.
  /** @type {(error: Error) => void} */
  refuse({ message }) {
    this.result = null;
    fill(this.head, h("p", { class: "at-x-error", role: "alert" }, sentenceOf(message)));
    this.grid.hidden = true;
  }

  draw() {
    this.grid.hidden = false;
    const { at } = this.explorer.store.state;
    const { name, tensor } = this;
    const { kind } = parsed(name);
    const deep = Array.isArray(tensor[0]) && /** @type {Matrix[]} */ (tensor);
    const slice = deep ? deep[at[0]] : /** @type {Matrix} */ (tensor);
    const fresh = slice !== this.slice;
    this.slice = slice;
    this.axes = axes(name, this.explorer.store.result);
    this.scale = FROM_0_TO_1.includes(kind) ? 1 : largestFinite(/** @type {Matrix} */ (tensor.flat()));
    this.sequential = FROM_0_TO_1.includes(kind);
    const [row, column] = at.slice(-2);
    this.cell = { row, column };
    const shape = [...(deep ? [tensor.length] : []), slice.length, slice[0].length];
    const counted = [
      deep && `${tensor.length} heads`,
      `${slice.length} rows: ${this.axes.rows.name}`,
      `${slice[0].length} columns: ${this.axes.columns.name}`,
    ];
    const info = BOOK.kinds[kind];
    const changed = changes(this.explorer.store.state);
    fill(
      this.head,
      h("h4", { tabindex: -1, "data-key": "tensor" }, tensorTitle(name)),
      h("p", {}, info.words, " ", chapterLink(info.chapter)),
      changed && h("p", { class: "at-x-label" }, `In this translation: ${changed}.`),
      h(
        "p",
        { class: "at-x-label" },
        h("b", {}, shapeWords(shape)),
        ` (${counted.filter(Boolean).join(", ")}). `,
        this.legend(),
      ),
      deep &&
        choices({
          key: "slice",
          legend: "Head",
          options: deep.map((_, head) => [head, String(head + 1)]),
          value: at[0],
          pick: (head) => this.explorer.change({ at: [head, row, column] }),
        }),
    );
    this.grid.setAttribute("aria-label", tensorTitle(name));
    this.grid.setAttribute("aria-rowcount", String(slice.length + 1));
    this.grid.setAttribute("aria-colcount", String(slice[0].length + 1));
    this.bring(fresh);
    this.drawCells();
  }

  legend() {
    if (this.sequential) return "Numbers in the map are rounded to three digits.";
    return `Violet is positive, amber negative; full color is ±${number(this.scale, 3)}.`;
  }

  // Scrolls until the chosen cell is in view, in the middle if the map is new.
  /** @type {(fresh: boolean) => void} */
  bring(fresh) {
    const { row, column } = this.cell;
    const { grid } = this;
    const spacer = /** @type {HTMLElement | null} */ (grid.firstChild) ?? grid.appendChild(h("div"));
    spacer.style.cssText = `width: ${CELL.side + this.slice[0].length * CELL.width}px; height: ${CELL.height * (this.slice.length + 1)}px`;
    const [left, top] = [column * CELL.width, row * CELL.height];
    const [width, height] = [grid.clientWidth - CELL.side, grid.clientHeight - CELL.height];
    if (fresh || left < grid.scrollLeft || left + CELL.width > grid.scrollLeft + width) {
      const middle = CELL.width * Math.round((left - width / 2) / CELL.width); // between two columns
      grid.scrollLeft = fresh ? middle : left < grid.scrollLeft ? left : left + CELL.width - width;
    }
    if (fresh || top < grid.scrollTop || top + CELL.height > grid.scrollTop + height) {
      grid.scrollTop = fresh ? top - height / 2 : top < grid.scrollTop ? top : top + CELL.height - height;
    }
  }

  drawCells() {
    if (!this.slice || !this.grid.clientWidth) return;
    const { grid, slice } = this;
    /** @type {(offset: number, room: number, size: number, count: number) => number[]} */
    const inSight = (offset, room, size, count) => {
      const first = Math.max(0, Math.floor(offset / size) - AROUND);
      return Array.from(
        { length: Math.min(count, Math.ceil((offset + room) / size) + AROUND) - first },
        (_, i) => first + i,
      );
    };
    const columns = inSight(grid.scrollLeft, grid.clientWidth, CELL.width, slice[0].length);
    const rows = inSight(grid.scrollTop, grid.clientHeight, CELL.height, slice.length);
    /** @type {(column: number) => string} */
    const place = (column) => `left: ${CELL.side + column * CELL.width}px`;
    const corner = h(
      "span",
      { role: "columnheader", class: "at-x-side", "aria-colindex": 1 },
      h("span", { class: "at-hidden" }, this.axes.rows.name),
    );
    const names = columns.map((column) =>
      h(
        "span",
        { role: "columnheader", class: "at-x-top-name", "aria-colindex": column + 2, style: place(column) },
        this.columnName(column),
      ),
    );
    fill(
      grid.children[0],
      h("div", { role: "row", class: "at-x-row at-x-row-names", "aria-rowindex": 1 }, corner, names),
      rows.map((row) =>
        h(
          "div",
          {
            role: "row",
            class: "at-x-row",
            "aria-rowindex": row + 2,
            style: `top: ${CELL.height * (row + 1)}px`,
          },
          h("span", { role: "rowheader", class: "at-x-side", "aria-colindex": 1 }, this.rowName(row)),
          columns.map((column) => this.drawCell(row, column, place(column))),
        ),
      ),
    );
  }

  /** @type {(row: number, column: number, place: string) => Element} */
  drawCell(row, column, place) {
    const value = this.slice[row][column];
    const here = row === this.cell.row && column === this.cell.column;
    const share = Math.min(1, Math.abs(value) / this.scale) || 0;
    const look = this.sequential
      ? `at-x-heat-cell ${share > 0.595 ? "at-x-high" : "at-x-low"}`
      : value < 0
        ? "at-x-negative"
        : "at-x-positive";
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
      this.sequential ? value.toFixed(3) : number(value, 3),
    );
  }

  /** @type {(row: number, axes?: Axes) => HTMLElement} */
  rowName(row, { rows: { tokens, next, language } } = this.axes) {
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

  /** @type {(column: number, axes?: Axes) => HTMLElement | string} */
  columnName(column, { columns: { tokens, language, name, direction }, rows } = this.axes) {
    if (tokens) return tokenElement(tokens[column], column, language);
    if (name === "features") return String(column);
    const token = this.explorer.store.session.tokenName(/** @type {string} */ (direction), column);
    return h("span", { title: `token ${column}` }, tokenElement(token, 1, rows.language)); // 1: "in" and " in" differ
  }

  // The names of a position in a tensor of the translation, not necessarily the one that is drawn.
  /** @type {(tensor: string, index: number[]) => string} */
  placeWords(tensor, index) {
    const own = axes(tensor, this.explorer.store.result);
    const [row, column] = index.slice(-2);
    const head = index.length > 2 ? `head ${index[0] + 1}, ` : "";
    const name = this.columnName(column, own);
    const what = own.columns.tokens ? "key" : own.columns.name === "features" ? "feature" : "token";
    return `${head}row “${this.rowName(row, own).textContent}”, ${what} ${typeof name === "string" ? name : name.textContent}`;
  }

  /** @type {(row: number, column: number) => void} */
  go(row, column) {
    const { at } = this.explorer.store.state;
    this.explorer.change({ at: [...at.slice(0, -2), row, column] });
    focusOn(this.grid, `cell ${row} ${column}`);
  }

  /** @type {(event: KeyboardEvent) => void} */
  arrow(event) {
    const last = [this.slice.length - 1, this.slice[0].length - 1];
    const page = Math.max(1, Math.floor((this.grid.clientWidth - CELL.side) / CELL.width) - 1);
    const to = cellAfter(event, [this.cell.row, this.cell.column], last, page);
    if (to) this.go(to[0], to[1]);
  }
}

/** @type {(rows: Matrix) => number} */
const largestFinite = (rows) =>
  rows.reduce(
    (best, row) =>
      row.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), best),
    0,
  ) || 1;
