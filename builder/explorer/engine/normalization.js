// Layer normalization and Add & Norm: sections 3.1 and 5.4, annotated_transformer/model/normalization.py.
import { Module } from "./module.js";
import { add, sum } from "./tensors.js";

export class LayerNorm extends Module {
  /** @param {Model} model @param {string} path */
  constructor(model, path) {
    super(model, path);
    /** @type {Vector} */
    this.gain = this.parameter("gain");
    /** @type {Vector} */
    this.bias = this.parameter("bias");
    this.eps = 1e-5;
  }

  /** @type {(x: Matrix) => Matrix} */
  forward(x) {
    return x.map((token) => {
      const { mean, variance } = this.moments(token);
      const deviation = Math.sqrt(variance + this.eps);
      return token.map((value, i) => (this.gain[i] * (value - mean)) / deviation + this.bias[i]);
    });
  }

  // The mean and the biased variance of a token's features.
  /** @type {(token: Vector) => { mean: number, variance: number }} */
  moments(token) {
    const mean = sum(token) / token.length;
    const variance = token.reduce((total, value) => total + (value - mean) ** 2, 0) / token.length;
    return { mean, variance };
  }
}

// The norm follows the sum, as in the paper.
export class PostNorm extends Module {
  /** @param {Model} model @param {string} path */
  constructor(model, path) {
    super(model, path);
    this.norm = new LayerNorm(model, `${path}.norm`);
  }

  /** @type {(x: Matrix, sublayer: (x: Matrix) => Matrix) => Matrix} */
  forward(x, sublayer) {
    const output = sublayer(x);
    const total = this.see(
      "sum",
      x.map((token, i) => add(token, output[i])),
    );
    return this.see("", this.norm.forward(total));
  }
}
