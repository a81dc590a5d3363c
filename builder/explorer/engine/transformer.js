// The whole model, figure 1 of the paper: annotated_transformer/model/transformer.py.

// What this engine computes; a model of another kind is refused rather than computed wrongly.
const COMPUTED = {
  norm: "post",
  activation: "relu",
  positions: "sinusoidal",
  attention_bias: false,
  d_k: null,
  d_v: null,
};

class Transformer {
  constructor(config, tensors) {
    for (const [field, wanted] of Object.entries(COMPUTED)) {
      if (config[field] !== wanted) {
        throw new Error(`the model has ${field}=${config[field]}; this engine computes ${field}=${wanted}`);
      }
    }
    this.config = config;
    this.tensors = tensors;
    this.watch = null; // a function of (name, value), called with everything that is computed
    this.embedding = new TokenEmbedding(this, "embedding");
    this.encoder = new Encoder(this, config);
    this.decoder = new Decoder(this, config);
  }

  // The memory: all that the decoder can read of the source.
  encode(src) {
    return this.encoder.forward(this.embed(src, 0, "encoder"));
  }

  // The decoder's last layer for a target that begins with BOS; no token reads a later one.
  decode(tgt, memory) {
    const causal = tgt.map((_, query) => tgt.map((_, key) => key <= query));
    return this.decoder.forward(this.embed(tgt, 0, "decoder"), memory, causal);
  }

  embed(ids, start, stack) {
    const tokens = this.embedding.forward(ids);
    const positions = ids.map((_, i) => sinusoid(start + i, this.config.d_model));
    const embedded = tokens.map((token, i) => add(token, positions[i]));
    this.watch?.(`${stack}.embedding`, tokens);
    this.watch?.(`${stack}.positions`, positions);
    this.watch?.(`${stack}.embedded`, embedded);
    return embedded;
  }

  // The logit of each token of the vocabulary as the next one; PAD and BOS occur in no target.
  logits(hidden) {
    const logits = this.embedding.logits(hidden);
    for (const row of logits) row[this.config.pad_id] = row[this.config.bos_id] = -Infinity;
    this.watch?.("logits", logits);
    return logits;
  }

  attention(kind, layer) {
    const stack = kind === "encoder" ? this.encoder : this.decoder;
    return stack.layers[layer][kind === "cross" ? "cross_attention" : "self_attention"];
  }

  // Replaces the output of these heads by zeros, and restores all others: a list of [kind, layer, head].
  ablate(heads) {
    for (const { self_attention, cross_attention } of [...this.encoder.layers, ...this.decoder.layers]) {
      self_attention.ablated.clear();
      cross_attention?.ablated.clear();
    }
    for (const [kind, layer, head] of heads) this.attention(kind, layer).ablated.add(head);
  }
}
