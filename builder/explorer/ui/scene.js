// What the picture of a token shows, and its words tell: a part of the result, and the tensors of a layer.
import { headsMeant, meanWeights } from "./attention_curves.js";
import { fullName } from "./stops.js";
import { probabilityOf } from "./why.js";
/** @import { Kind } from "../engine/transformer.js" */
/** @import { Likely } from "../engine/translator.js" */
/** @import { Result } from "./session.js" */
/** @import { State } from "./state.js" */
/** @import { Rows } from "./strips.js" */

/**
 * @typedef {object} Scene
 * @property {number} layer
 * @property {number} step  the place of the token that is made
 * @property {number | null} stop  null: all of them
 * @property {string} opened  the tensor that is shown beside the picture, or ""
 * @property {string[]} source
 * @property {string[]} read  the tokens that the decoder has read, that at `step` the last
 * @property {string} written  the token that is made
 * @property {number} id  of that token
 * @property {number} probability  of that token
 * @property {number[] | null} own  what is read of `read`, or null if these heads are off
 * @property {number[] | null} cross  what is read of `source`
 * @property {ArrayLike<number>} hidden  the hidden units
 * @property {Likely[]} top
 * @property {Rows} strips
 */

/** @type {(shown: { result: Result, state: State }, layer: number, strips: Rows) => Scene} */
export function sceneOf({ result, state }, layer, strips) {
  const { step, stop } = state;
  const { tokens, ids } = result.target;
  /** @type {(view: Kind, count: number) => number[] | null} */
  const row = (view, count) => {
    const place = { ...state, view, layer, head: null };
    return headsMeant(place).on.length ? meanWeights(result, place)[step].slice(0, count) : null;
  };
  return {
    layer,
    step,
    stop,
    opened: state.tensor,
    source: result.source.tokens,
    read: ["<bos>", ...tokens].slice(0, step + 1),
    written: tokens[step],
    id: ids[step],
    probability: probabilityOf(result, step),
    own: row("decoder", step + 1),
    cross: row("cross", result.source.tokens.length),
    hidden: strips[fullName(".feed_forward.activation", "decoder", layer)][step],
    top: result.top[step],
    strips,
  };
}
