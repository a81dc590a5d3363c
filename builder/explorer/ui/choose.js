// The controls that choose which attention is drawn: kind, layer and head.
import { choices, h } from "./dom.js";
import { headsMeant } from "./attention_curves.js";

/** @type {Kind[]} */
const KINDS_SHOWN = ["cross", "encoder", "decoder"];

/** @type {(explorer: Explorer) => Child} */
export function chooseAttention(explorer) {
  const { state } = explorer.store;
  const { layers, heads } = BOOK.shape;
  /** @type {(key: "view" | "layer" | "head", legend: string, options: [Kind | number | null, string][]) => Element} */
  const choice = (key, legend, options) =>
    choices({
      key,
      legend,
      options,
      value: state[key],
      pick: (value) => explorer.store.change({ [key]: value }),
    });
  /** @type {(count: number) => [number | null, string][]} */
  const places = (count) => [
    ...Array.from({ length: count }, (_, i) => /** @type {[number, string]} */ ([i, String(i + 1)])),
    [null, "mean"],
  ];
  /** @type {(head: number | null) => boolean} */
  const isOff = (head) => head !== null && state.layer !== null && !headsMeant({ ...state, head }).on.length;
  const words = `In cross-attention, the translation attends to your sentence; in the encoder, your sentence to itself; in the decoder, the translation to itself. A layer is one of the ${layers} stages of the encoder or the decoder. A head is one of the ${heads} attentions in it, each with its own weights.`;
  return [
    explorer.whole &&
      choice(
        "view",
        "Attention",
        KINDS_SHOWN.map((kind) => [kind, kind]),
      ),
    choice("layer", "Layer", places(layers)),
    choice(
      "head",
      "Head",
      places(heads).map(([head, name]) => [head, isOff(head) ? `${name} (off)` : name]),
    ),
    explorer.whole && h("p", { class: "at-x-help" }, words),
  ];
}
