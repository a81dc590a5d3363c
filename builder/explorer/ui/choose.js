// The controls that choose which attention is drawn: kind, layer and head.
import { choices, fill, h } from "./dom.js";
import { headsMeant } from "./attention_curves.js";
/** @import { Explorer } from "./explorer.js" */

export class Choose {
  /** @param {Explorer} explorer */
  constructor(explorer) {
    this.explorer = explorer;
    this.element = h("div", { class: "at-x-choose" });
  }

  render() {
    const { whole } = this.explorer;
    const { state, result } = this.explorer.store;
    this.element.hidden = Boolean(result.frame);
    const { layers, heads } = BOOK.shape;
    /** @type {(count: number) => [number | null, string][]} */
    const numbers = (count) => [
      ...Array.from({ length: count }, (_, i) => /** @type {[number, string]} */ ([i, String(i + 1)])),
      [null, "mean"],
    ];
    /** @type {(head: number | null) => boolean} */
    const isOff = (head) =>
      head !== null && state.layer !== null && !headsMeant({ ...state, head }).on.length;
    /** @type {(field: string) => (value: unknown) => void} */
    const pick = (field) => (value) => this.explorer.change({ [field]: value });
    fill(
      this.element,
      whole &&
        choices({
          key: "view",
          legend: "Attention",
          options: Object.entries(VIEWS),
          value: state.view,
          pick: pick("view"),
        }),
      choices({
        key: "layer",
        legend: "Layer",
        options: numbers(layers),
        value: state.layer,
        pick: pick("layer"),
      }),
      choices({
        key: "head",
        legend: "Head",
        options: numbers(heads).map(([head, words]) => [head, isOff(head) ? `${words} (off)` : words]),
        value: state.head,
        pick: pick("head"),
      }),
      whole &&
        h(
          "p",
          { class: "at-x-help" },
          `In cross-attention, the translation attends to your sentence; in the encoder, your sentence to itself; in the decoder, the translation to itself. A layer is one of the ${layers} stages of the encoder or the decoder. A head is one of the ${heads} attentions in it, each with its own weights.`,
        ),
    );
  }
}

const VIEWS = { cross: "cross", encoder: "encoder", decoder: "decoder" };
