// Layer normalization and Add & Norm: sections 3.1 and 5.4, annotated_transformer/model/normalization.py.
class LayerNorm extends Module {
  constructor(model, path) {
    super(model, path);
    this.gain = this.parameter("gain");
    this.bias = this.parameter("bias");
    this.eps = 1e-5;
  }

  forward(x) {
    return x.map((token) => {
      const { mean, variance } = this.moments(token);
      const deviation = Math.sqrt(variance + this.eps);
      return token.map((value, i) => (this.gain[i] * (value - mean)) / deviation + this.bias[i]);
    });
  }

  // The mean and the biased variance of a token's features.
  moments(token) {
    const mean = sum(token) / token.length;
    const variance = token.reduce((total, value) => total + (value - mean) ** 2, 0) / token.length;
    return { mean, variance };
  }
}

// The norm follows the sum, as in the paper.
class PostNorm extends Module {
  constructor(model, path) {
    super(model, path);
    this.norm = new LayerNorm(model, `${path}.norm`);
  }

  forward(x, sublayer) {
    const output = sublayer(x);
    const total = this.see(
      "sum",
      x.map((token, i) => add(token, output[i])),
    );
    return this.see("", this.norm.forward(total));
  }
}
