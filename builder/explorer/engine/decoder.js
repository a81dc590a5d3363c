// The decoder: section 3.1 of the paper, annotated_transformer/model/decoder.py.
import { FeedForward } from "./feed_forward.js";
import { Module } from "./module.js";
import { MultiHeadAttention } from "./multi_head_attention.js";
import { PostNorm } from "./normalization.js";

class DecoderLayer extends Module {
  /** @param {Model} model @param {string} path @param {Config} config */
  constructor(model, path, { num_heads }) {
    super(model, path);
    this.self_attention = new MultiHeadAttention(model, `${path}.self_attention`, num_heads);
    this.cross_attention = new MultiHeadAttention(model, `${path}.cross_attention`, num_heads);
    this.feed_forward = new FeedForward(model, `${path}.feed_forward`);
    this.add_norm_1 = new PostNorm(model, `${path}.add_norm_1`);
    this.add_norm_2 = new PostNorm(model, `${path}.add_norm_2`);
    this.add_norm_3 = new PostNorm(model, `${path}.add_norm_3`);
  }

  /** @type {(x: Matrix, memory: Matrix, mask: boolean[][]) => Matrix} */
  forward(x, memory, mask) {
    return this.sublayers(
      x,
      (x) => this.self_attention.forward(x, x, mask),
      (x) => this.cross_attention.forward(x, memory),
    );
  }

  /** @type {(x: Matrix, readPast: (x: Matrix) => Matrix, readMemory: (x: Matrix) => Matrix) => Matrix} */
  sublayers(x, readPast, readMemory) {
    x = this.add_norm_1.forward(x, readPast);
    x = this.add_norm_2.forward(x, readMemory);
    return this.add_norm_3.forward(x, (x) => this.feed_forward.forward(x));
  }
}

export class Decoder {
  /** @param {Model} model @param {Config} config */
  constructor(model, config) {
    this.layers = Array.from(
      { length: config.num_layers },
      (_, layer) => new DecoderLayer(model, `decoder.layers.${layer}`, config),
    );
  }

  /** @type {(x: Matrix, memory: Matrix, mask: boolean[][]) => Matrix} */
  forward(x, memory, mask) {
    return this.layers.reduce((x, layer) => layer.forward(x, memory, mask), x);
  }
}
