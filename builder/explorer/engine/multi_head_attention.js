// Multi-head attention: section 3.2.2 of the paper, annotated_transformer/model/multi_head_attention.py.
class MultiHeadAttention extends Module {
  constructor(model, path, numHeads) {
    super(model, path);
    this.numHeads = numHeads;
    for (const name of ["to_query", "to_key", "to_value", "to_output"]) {
      this[name] = new Linear(model, `${path}.${name}`, { bias: false });
    }
    this.ablated = new Set(); // heads whose output is replaced by zeros
  }

  forward(query, memory, mask) {
    return this.attend(this.to_query.forward(query), ...this.projectMemory(memory), mask);
  }

  projectMemory(memory) {
    return [this.to_key.forward(memory), this.to_value.forward(memory)];
  }

  // Attends in every head, concatenates the heads, and mixes them by to_output.
  attend(query, key, value, mask) {
    const [queries, keys, values] = [query, key, value].map((x) => this.split(x));
    const heads = Array.from({ length: this.numHeads }, (_, head) => head);
    const scores = heads.map((head) => attentionScores(queries[head], keys[head], mask));
    const weights = scores.map((rows) => rows.map(softmax));
    const outputs = heads.map((head) =>
      this.ablated.has(head)
        ? queries[head].map((q) => new Float32Array(values[head][0].length))
        : weightedMeans(weights[head], values[head]),
    );
    const seen = { query: queries, key: keys, value: values, scores, weights, heads: outputs };
    for (const [name, tensor] of Object.entries(seen)) this.see(name, tensor);
    const sideBySide = query.map((_, token) => concatenate(outputs.map((head) => head[token])));
    return this.see("output", this.to_output.forward(sideBySide));
  }

  // heads × tokens × d_k, as views of tokens × d_model.
  split(x) {
    const width = x[0].length / this.numHeads;
    return Array.from({ length: this.numHeads }, (_, head) =>
      x.map((token) => token.subarray(head * width, (head + 1) * width)),
    );
  }
}
