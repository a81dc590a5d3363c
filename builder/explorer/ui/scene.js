// What the picture of a token shows, and its words tell: a part of the result, and the tensors of a layer.
import { headsMeant, meanWeights } from "./attention_curves.js";
import { fullName } from "./stops.js";
import { probabilityOf } from "./why.js";

/** @param {{ result: Result, state: State }} shown @param {number} layer @param {Rows} strips */
export function sceneOf({ result, state }, layer, strips) {
  const { step, stop } = state;
  const { tokens, ids } = result.target;
  // What is read of the first tokens, or null if these heads are off.
  /** @type {(view: Kind, count: number) => number[] | null} */
  const row = (view, count) => {
    const place = { ...state, view, layer, head: null };
    return headsMeant(place).on.length ? meanWeights(result, place)[step].slice(0, count) : null;
  };
  return {
    layer,
    step, // the place of the token that is made
    stop, // null: all of them
    opened: state.tensor, // the tensor that is shown beside the picture, or ""
    source: result.source.tokens,
    read: ["<bos>", ...tokens].slice(0, step + 1), // the tokens that the decoder has read, that at `step` the last
    written: tokens[step], // the token that is made
    id: ids[step], // of that token
    probability: probabilityOf(result, step),
    past: row("decoder", step + 1), // the weights of the tokens read
    cross: row("cross", result.source.tokens.length), // and of the source
    hidden: strips[fullName(".feed_forward.activation", "decoder", layer)]?.[step] ?? [],
    top: result.top[step],
    strips,
  };
}
