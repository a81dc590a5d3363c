// Elements, and controls made of them.

const SVG = "http://www.w3.org/2000/svg";

// h("button", { class: "x", onclick }, "words", child): an element; null and false are left out.
function h(tag, attributes = {}, ...children) {
  const element = ["svg", "path"].includes(tag)
    ? document.createElementNS(SVG, tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

// Replaces an element's children. The focus stays on the child with the same `data-key`, if there still is one.
function fill(host, ...children) {
  const focused = host.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  host.replaceChildren(...children.flat(Infinity).filter(Boolean));
  if (focused) focusOn(host, focused);
}

const focusOn = (host, key) =>
  host.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });

// Radio buttons in a row. `options` are pairs of a value and a label.
let groups = 0;
function choices({ key, legend, options, value, pick }) {
  const name = `at-x-group-${(groups += 1)}`;
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
function button(words, onclick, { disabled, ...attributes } = {}) {
  const press = (event) => !idle(event.currentTarget) && onclick(event);
  return h(
    "button",
    { type: "button", onclick: press, "aria-disabled": disabled ? "true" : null, ...attributes },
    words,
  );
}

const idle = (element) => element.getAttribute("aria-disabled") === "true";
const disable = (element, disabled) => element.setAttribute("aria-disabled", String(disabled));

const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const show = (element, block = "start") =>
  element.scrollIntoView({ behavior: STILL.matches ? "auto" : "smooth", block });
