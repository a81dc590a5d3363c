// The model in the reading order of figure 1, with every tensor of the translation: pressing one opens it.
import { button, choices, fill, h } from "./dom.js";
import { capital, moduleTitle, parsed } from "./names.js";
import { shapeWords } from "./words.js";
/** @import { Explorer } from "./explorer.js" */
/** @import { Place } from "./names.js" */

/** @typedef {{ name: string, shape: number[], place: Place }} Named  a tensor */

export class ModelMap {
  /** @param {Explorer} explorer */
  constructor(explorer) {
    this.explorer = explorer;
    /** @type {Record<string, number>} */
    this.layers = { encoder: 0, decoder: 0 };
    this.element = h("div", { class: "at-x-map" });
  }

  render() {
    const { result, state } = this.explorer.store;
    if (result.frame) return;
    const open = state.tensor ? parsed(state.tensor) : null;
    if (state.tensor !== this.open && open?.layer !== undefined) this.layers[open.stack] = open.layer;
    /** @type {string} */
    this.open = state.tensor;
    fill(
      this.element,
      h(
        "p",
        { class: "at-x-help" },
        `Sizes are tokens × features, with ${BOOK.shape.heads} heads before them where there are heads; scores and weights are heads × queries × keys.`,
      ),
      ["encoder", "decoder"].map((stack) => this.stack(stack)),
      this.box("Output", this.named("output")),
    );
  }

  /** @type {(stack: string) => Element} */
  stack(stack) {
    const layer = this.layers[stack];
    const own = this.named(stack).filter(({ place }) => place.layer === layer);
    const modules = [...new Set(own.map(({ place }) => place.module))];
    return h(
      "section",
      { class: `at-x-stack at-x-${stack}` },
      h("h4", {}, capital(stack)),
      this.box(
        "Input",
        this.named(stack).filter(({ place }) => place.layer === undefined),
      ),
      choices({
        key: `map ${stack}`,
        legend: "Layer",
        options: Array.from({ length: BOOK.shape.layers }, (_, i) => [i, String(i + 1)]),
        value: layer,
        pick: (chosen) => {
          this.layers[stack] = chosen;
          this.render();
        },
      }),
      modules.map((module) =>
        this.box(
          capital(moduleTitle({ stack, module })),
          own.filter(({ place }) => place.module === module),
        ),
      ),
    );
  }

  /** @type {(stack: string) => Named[]} */
  named(stack) {
    return (this.explorer.store.result.tensors ?? [])
      .map((tensor) => ({ ...tensor, place: parsed(tensor.name) }))
      .filter(({ place }) => place.stack === stack);
  }

  /** @type {(title: string, tensors: Named[]) => Element} */
  box(title, tensors) {
    return h(
      "div",
      { class: "at-x-box" },
      h("p", {}, title),
      tensors.map(({ name, shape, place }) =>
        button(
          [BOOK.kinds[place.kind].title, " ", h("span", { class: "at-x-shape" }, shapeWords(shape))],
          () => this.explorer.openTensor(name),
          {
            "data-key": name,
            "aria-pressed": String(name === this.explorer.store.state.tensor),
          },
        ),
      ),
    );
  }
}
