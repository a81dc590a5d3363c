// The decoder: section 3.1 of the paper, annotated_transformer/model/decoder.py.
class DecoderLayer extends Module {
  constructor(model, path, { num_heads }) {
    super(model, path);
    this.self_attention = new MultiHeadAttention(model, `${path}.self_attention`, num_heads);
    this.cross_attention = new MultiHeadAttention(model, `${path}.cross_attention`, num_heads);
    this.feed_forward = new FeedForward(model, `${path}.feed_forward`);
    for (const norm of ["add_norm_1", "add_norm_2", "add_norm_3"]) {
      this[norm] = new PostNorm(model, `${path}.${norm}`);
    }
  }

  forward(x, memory, mask) {
    return this.sublayers(
      x,
      (x) => this.self_attention.forward(x, x, mask),
      (x) => this.cross_attention.forward(x, memory),
    );
  }

  sublayers(x, readPast, readMemory) {
    x = this.add_norm_1.forward(x, readPast);
    x = this.add_norm_2.forward(x, readMemory);
    return this.add_norm_3.forward(x, (x) => this.feed_forward.forward(x));
  }
}

class Decoder {
  constructor(model, config) {
    this.layers = Array.from(
      { length: config.num_layers },
      (_, layer) => new DecoderLayer(model, `decoder.layers.${layer}`, config),
    );
  }

  forward(x, memory, mask) {
    return this.layers.reduce((x, layer) => layer.forward(x, memory, mask), x);
  }
}
