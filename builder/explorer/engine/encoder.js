// The encoder: section 3.1 of the paper, annotated_transformer/model/encoder.py.
import { FeedForward } from "./feed_forward.js";
import { Module } from "./module.js";
import { MultiHeadAttention } from "./multi_head_attention.js";
import { PostNorm } from "./normalization.js";

class EncoderLayer extends Module {
  /** @param {Model} model @param {string} path @param {Config} config */
  constructor(model, path, { num_heads }) {
    super(model, path);
    this.self_attention = new MultiHeadAttention(model, `${path}.self_attention`, num_heads);
    this.feed_forward = new FeedForward(model, `${path}.feed_forward`);
    this.add_norm_1 = new PostNorm(model, `${path}.add_norm_1`);
    this.add_norm_2 = new PostNorm(model, `${path}.add_norm_2`);
  }

  /** @type {(x: Matrix) => Matrix} */
  forward(x) {
    x = this.add_norm_1.forward(x, (x) => this.self_attention.forward(x, x));
    return this.add_norm_2.forward(x, (x) => this.feed_forward.forward(x));
  }
}

export class Encoder {
  /** @param {Model} model @param {Config} config */
  constructor(model, config) {
    this.layers = Array.from(
      { length: config.num_layers },
      (_, layer) => new EncoderLayer(model, `encoder.layers.${layer}`, config),
    );
  }

  /** @type {(x: Matrix) => Matrix} */
  forward(x) {
    return this.layers.reduce((x, layer) => layer.forward(x), x);
  }
}
