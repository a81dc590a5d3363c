// The list of all tensors of the translation, in the reading order of figure 1.
import { fill, h } from "./dom.js";
import { tensorTitle } from "./names.js";
import { shapeWords } from "./words.js";
/** @import { Explorer } from "./explorer.js" */

export class TensorMenu {
  /** @param {Explorer} explorer */
  constructor(explorer) {
    this.explorer = explorer;
    const { heads } = BOOK.shape;
    const { store } = explorer;
    this.menu = h("select", {
      onchange: () => store.change({ tensor: this.menu.value, at: store.firstIndex(this.menu.value) }),
    });
    this.element = h(
      "div",
      { class: "at-x-menu" },
      h("label", {}, "Tensor ", this.menu),
      h(
        "p",
        { class: "at-x-help" },
        `Sizes are tokens × features, with ${heads} heads before them where there are heads; scores and weights are heads × queries × keys.`,
      ),
    );
  }

  render() {
    /** @type {Record<string, Element[]>} */
    const parts = {};
    for (const { name, shape } of this.explorer.store.result.tensors ?? []) {
      const [part, title = part] = tensorTitle(name).split(": ");
      parts[part] = [...(parts[part] ?? []), h("option", { value: name }, `${title} (${shapeWords(shape)})`)];
    }
    fill(
      this.menu,
      h("option", { value: "" }, "Choose one"),
      Object.entries(parts).map(([label, tensors]) => h("optgroup", { label }, tensors)),
    );
    this.menu.value = this.explorer.store.state.tensor;
  }
}
