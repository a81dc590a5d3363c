// Elements, and controls made of them.

/** @typedef {HTMLElementTagNameMap & Pick<SVGElementTagNameMap, "svg" | "path" | "g" | "rect" | "text" | "image">} Tags */

const SVG = "http://www.w3.org/2000/svg";
const DRAWN = ["svg", "path", "g", "rect", "text", "image"];

// Children of an element, in lists of any depth; what is missing or false is left out.
/** @type {(children: any[]) => any[]} */
const nodes = (children) => children.flat(Infinity).filter((child) => child || child === 0);

// h("button", { class: "x", onclick }, "words", child): an element; null and false are left out.
/** @type {<T extends keyof Tags>(tag: T, attributes?: Attributes, ...children: Child[]) => Tags[T]} */
export function h(tag, attributes = {}, ...children) {
  const element = DRAWN.includes(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
  return /** @type {never} */ (element);
}

/** @type {(...children: Child[]) => Element} */
export const p = (...children) => h("p", {}, children);
/** @type {(...children: Child[]) => Element} */
export const note = (...children) => h("p", { class: "at-x-label" }, children);

// Replaces an element's children. The focus stays on the child with the same `data-key`, if there still is one.
/** @type {(host: Element, ...children: Child[]) => void} */
export function fill(host, ...children) {
  const active = /** @type {HTMLElement | null} */ (document.activeElement);
  const focused = host.contains(active) ? active?.dataset.key : undefined;
  host.replaceChildren(...nodes(children));
  if (focused) focusOn(host, focused);
}

/** @type {(host: Element, selector: string) => HTMLElement | null} */
export const find = (host, selector) => host.querySelector(selector);

/** @type {(host: Element, key: string) => void} */
export const focusOn = (host, key) =>
  find(host, `[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });

// Where a key leads from a cell of a grid, or nothing if it leads nowhere. PageUp and PageDown move by a `page` of columns.
/** @type {(event: KeyboardEvent, cell: number[], last: number[], page?: number) => number[] | undefined} */
export function cellAfter(event, [row, column], [lastRow, lastColumn], page) {
  if (event.altKey || event.ctrlKey || event.metaKey) return; // a shortcut of the browser
  const to = {
    ArrowRight: [row, column + 1],
    ArrowLeft: [row, column - 1],
    ArrowDown: [row + 1, column],
    ArrowUp: [row - 1, column],
    Home: [row, 0],
    End: [row, lastColumn],
    ...(page && { PageDown: [row, column + page], PageUp: [row, column - page] }),
  }[event.key];
  if (!to) return;
  event.preventDefault();
  return [Math.min(Math.max(to[0], 0), lastRow), Math.min(Math.max(to[1], 0), lastColumn)];
}

// Radio buttons in a row. `options` are pairs of a value and a label.
let groups = 0;
export const nextGroup = () => (groups += 1);

/** @type {<T>(group: { key: string, legend: string, options: [T, Child][], value: unknown, pick: (option: T) => unknown }) => Element} */
export function choices({ key, legend, options, value, pick }) {
  const name = `at-x-group-${nextGroup()}`;
  return h(
    "fieldset",
    { class: "at-x-choices" },
    h("legend", {}, legend),
    options.map(([option, words]) =>
      h(
        "label",
        {},
        h("input", {
          type: "radio",
          name,
          checked: option === value,
          "data-key": `${key} ${option}`,
          onchange: () => pick(option),
        }),
        h("span", {}, words),
      ),
    ),
  );
}

// A disabled button stays in the tab order, so that it keeps the focus.
/** @type {(words: Child, onclick: (event: MouseEvent) => unknown, attributes?: Record<string, unknown>) => HTMLButtonElement} */
export function button(words, onclick, { disabled, ...attributes } = {}) {
  const element = h(
    "button",
    { type: "button", "aria-disabled": disabled ? "true" : null, ...attributes },
    words,
  );
  element.addEventListener("click", (event) => element.ariaDisabled !== "true" && onclick(event));
  return element;
}

// What is explained once, behind a line that opens it.
/** @type {(title: string, ...lines: string[]) => Element} */
export const help = (title, ...lines) =>
  h(
    "details",
    { class: "at-x-help" },
    h("summary", {}, title),
    lines.map((line) => p(line)),
  );

// Of these elements, Tab reaches only the chosen one.
/** @type {(elements: Iterable<Element>, chosen: EventTarget | null) => void} */
export function tabTo(elements, chosen) {
  for (const element of elements) element.setAttribute("tabindex", element === chosen ? "0" : "-1");
}

export const STILL = matchMedia("(prefers-reduced-motion: reduce)");
/** @type {(element: Element, block?: ScrollLogicalPosition) => void} */
export const show = (element, block = "start") =>
  element.scrollIntoView({ block, behavior: STILL.matches ? "auto" : "smooth" });
