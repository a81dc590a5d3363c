// What torch.nn.Module is to the package: a place in the model, with its parameters, that can be observed.
class Module {
  constructor(model, path) {
    this.model = model; // { tensors, watch }
    this.path = path;
  }

  parameter(name) {
    const found = this.model.tensors.get(`${this.path}.${name}`);
    if (!found) throw new Error(`the weights hold no ${this.path}.${name}`);
    return found;
  }

  // Reports a value, under its name, to an observer of the model, and returns it.
  see(name, value) {
    this.model.watch?.(name ? `${this.path}.${name}` : this.path, value);
    return value;
  }
}

// x W^T + b for each token, as torch.nn.Linear; the rows of W are the weights of one output.
class Linear extends Module {
  constructor(model, path, { bias = true } = {}) {
    super(model, path);
    this.weight = this.parameter("weight");
    this.bias = bias ? this.parameter("bias") : null;
  }

  forward(x) {
    const products = x.map((token) => times(this.weight, token));
    return this.bias ? products.map((token) => add(token, this.bias)) : products;
  }
}
