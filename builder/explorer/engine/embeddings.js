// Token ids to vectors and back, and positions: sections 3.4 and 3.5,
// annotated_transformer/model/embeddings.py and positional_encoding.py.
import { Module } from "./module.js";
import { times } from "./tensors.js";

export class TokenEmbedding extends Module {
  /** @param {Model} model @param {string} path */
  constructor(model, path) {
    super(model, path);
    /** @type {Matrix} */
    this.weight = this.parameter("weight");
    this.scale = Math.sqrt(this.weight[0].length);
  }

  /** @type {(ids: number[]) => Matrix} */
  forward(ids) {
    return ids.map((id) => this.weight[id].map((value) => value * this.scale));
  }

  /** @type {(hidden: Matrix) => Matrix} */
  logits(hidden) {
    return hidden.map((token) => times(this.weight, token));
  }
}

// Sines at even features, cosines of the same angles at odd ones.
/** @type {(position: number, width: number) => Vector} */
export function sinusoid(position, width) {
  return Float32Array.from({ length: width }, (_, feature) => {
    const angle = position / 10000 ** ((feature - (feature % 2)) / width);
    return feature % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}
