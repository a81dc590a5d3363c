// What torch.nn.Module is to the package: a place in the model, with its parameters, that can be observed.
import { add, times } from "./tensors.js";

export class Module {
  /** @param {Model} model @param {string} path */
  constructor(model, path) {
    this.model = model;
    this.path = path;
  }

  /** @type {<T extends Vector | Matrix>(name: string) => T} */
  parameter(name) {
    const weights = this.model.tensors.get(`${this.path}.${name}`);
    if (!weights) throw new Error(`the weights hold no ${this.path}.${name}`);
    return /** @type {never} */ (weights);
  }

  // Reports a value, under its name, to an observer of the model, and returns it.
  /** @type {<T extends Matrix | Matrix[]>(name: string, value: T) => T} */
  see(name, value) {
    this.model.watch?.(name ? `${this.path}.${name}` : this.path, value);
    return value;
  }
}

// x W^T + b for each token, as torch.nn.Linear; the rows of W are the weights of one output.
export class Linear extends Module {
  /** @param {Model} model @param {string} path @param {{ bias?: boolean }} options */
  constructor(model, path, { bias = true } = {}) {
    super(model, path);
    /** @type {Matrix} */
    this.weight = this.parameter("weight");
    /** @type {Vector | null} */
    this.bias = bias ? this.parameter("bias") : null;
  }

  /** @type {(x: Matrix) => Matrix} */
  forward(x) {
    const products = x.map((token) => times(this.weight, token));
    const { bias } = this;
    return bias ? products.map((token) => add(token, bias)) : products;
  }
}
