// As much of a browser as drawing the explorer's first frame takes: elements that can be built, filled and written
// as HTML. Nothing happens in it, so listeners are forgotten.

const VOID = new Set(["input"]);
/** @type {(text: unknown) => string} */
const escaped = (text) =>
  String(text).replace(
    /[&<>"]/g,
    (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign] ?? "",
  );

class StaticElement {
  /** @param {string} tag */
  constructor(tag) {
    this.tag = tag;
    /** @type {Map<string, string>} */
    this.attributes = new Map();
    /** @type {(StaticElement | string)[]} */
    this.children = [];
    this.classList = {
      /** @type {(name: string, on?: boolean) => void} */
      toggle: (name, on = !this.classes.has(name)) => void this.classes[on ? "add" : "delete"](name),
      /** @type {(...names: string[]) => void} */
      add: (...names) => names.forEach((name) => this.classes.add(name)),
      /** @type {(...names: string[]) => void} */
      remove: (...names) => names.forEach((name) => this.classes.delete(name)),
    };
    /** @type {Set<string>} */
    this.classes = new Set();
    /** @type {Map<string, string>} */
    this.styles = new Map();
    this.style = {
      /** @type {(name: string, value: string) => unknown} */
      setProperty: (name, value) => this.styles.set(name, value),
    };
    /** @type {Record<string, string>} */
    this.dataset = {};
    this.hidden = false;
  }
  /** @type {(name: string, value: string) => void} */
  setAttribute(name, value) {
    if (name === "class") this.classes = new Set(value.split(" "));
    else this.attributes.set(name, value);
  }
  /** @type {(name: string) => string | null} */
  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }
  get value() {
    return this.getAttribute("value") ?? "";
  }
  addEventListener() {}
  contains() {
    return false;
  }
  getContext() {
    return null;
  }
  /** @type {(...children: (StaticElement | string)[]) => void} */
  append(...children) {
    this.children.push(...children);
  }
  /** @type {(...children: (StaticElement | string)[]) => void} */
  replaceChildren(...children) {
    this.children = children;
  }
  cloneNode() {
    return this; // it is written twice, and never changed
  }
  get firstChild() {
    return this.children[0] ?? null;
  }
  /** @returns {string} */
  get textContent() {
    return this.children.map((child) => (typeof child === "string" ? child : child.textContent)).join("");
  }
  set textContent(text) {
    this.children = text === "" ? [] : [text];
  }
  /** The first descendant with a tag or a class (".name"). @type {(selector: string) => StaticElement | null} */
  querySelector(selector) {
    for (const child of this.children)
      if (child instanceof StaticElement) {
        if (child.tag === selector || child.classes.has(selector.slice(1))) return child;
        const found = child.querySelector(selector);
        if (found) return found;
      }
    return null;
  }
  /** The HTML of what can be read: what can be pressed is plain text, or left out. @type {() => string} */
  written() {
    if (this.hidden || ["at-x-action", "at-x-steps", "at-x-choose"].some((name) => this.classes.has(name)))
      return "";
    const tag = this.tag === "button" ? "span" : this.tag;
    const attributes = [...this.attributes].filter(
      ([name]) => !["type", "tabindex", "aria-pressed", "data-key", "aria-disabled"].includes(name),
    );
    if (this.classes.size) attributes.unshift(["class", [...this.classes].join(" ")]);
    if (this.styles.size)
      attributes.push(["style", [...this.styles].map((style) => style.join(":")).join(";")]);
    const start = `<${tag}${attributes.map(([name, value]) => ` ${name}="${escaped(value)}"`).join("")}>`;
    if (VOID.has(tag)) return start;
    return `${start}${this.children.map((child) => (typeof child === "string" ? escaped(child) : child.written())).join("")}</${tag}>`;
  }
}

class Watcher {
  observe() {}
}

const host = new StaticElement("div");
host.dataset.explorer = '{"view": "all"}';
const nothing = () => null;
Object.assign(globalThis, {
  document: {
    createElement: (/** @type {string} */ tag) => new StaticElement(tag),
    createElementNS: (/** @type {string} */ _, /** @type {string} */ tag) => new StaticElement(tag),
    querySelectorAll: () => [host],
    currentScript: { src: "explorer.js" },
    readyState: "complete",
    activeElement: null,
    addEventListener: nothing,
  },
  matchMedia: () => ({ matches: true }),
  location: { hash: "", href: "" },
  sessionStorage: { getItem: nothing, setItem: nothing },
  URLSearchParams: Map, // of an empty address
  ResizeObserver: Watcher,
  MutationObserver: Watcher,
  addEventListener: nothing,
});
