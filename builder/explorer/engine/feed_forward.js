// The position-wise feed-forward network: equation 2, annotated_transformer/model/feed_forward.py.
import { Linear, Module } from "./module.js";

export class FeedForward extends Module {
  /** @param {Model} model @param {string} path */
  constructor(model, path) {
    super(model, path);
    this.expand = new Linear(model, `${path}.expand`);
    this.contract = new Linear(model, `${path}.contract`);
  }

  /** @type {(x: Matrix) => Matrix} */
  forward(x) {
    const expanded = this.see("expand", this.expand.forward(x));
    const active = this.see(
      "activation",
      expanded.map((token) => token.map((value) => Math.max(0, value))),
    );
    return this.see("contract", this.contract.forward(active));
  }
}
