// Decoding step by step with the keys and values of earlier tokens: annotated_transformer/decoding/kv_cache.py.

export class KeyValueCache {
  /** @param {Model} model @param {number[]} src */
  constructor(model, src) {
    this.model = model;
    this.length = 0;
    const memory = model.encode(src);
    /** @type {{ memory: [Matrix, Matrix], past: [Matrix, Matrix] }[]} */
    this.layers = model.decoder.layers.map((layer) => ({
      memory: layer.cross_attention.projectMemory(memory),
      past: [[], []], // a key and a value for each token so far
    }));
  }

  // Appends one token to the target, and returns the logits of the next one.
  /** @type {(token: number) => Vector} */
  step(token) {
    let x = this.model.embed([token], this.length, "decoder");
    this.model.decoder.layers.forEach((layer, i) => {
      const { memory, past } = this.layers[i];
      /** @type {(x: Matrix) => Matrix} */
      const readPast = (x) => {
        layer.self_attention.projectMemory(x).forEach((rows, part) => past[part].push(...rows));
        return layer.self_attention.attend(layer.self_attention.to_query.forward(x), ...past);
      };
      /** @type {(x: Matrix) => Matrix} */
      const readMemory = (x) =>
        layer.cross_attention.attend(layer.cross_attention.to_query.forward(x), ...memory);
      x = layer.sublayers(x, readPast, readMemory);
    });
    this.length += 1;
    return this.model.logits(x)[0];
  }
}
