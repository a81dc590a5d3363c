// Multi-head attention: section 3.2.2 of the paper, annotated_transformer/model/multi_head_attention.py.
import { attentionScores, weightedMeans } from "./attention.js";
import { Linear, Module } from "./module.js";
import { softmax } from "./tensors.js";

export class MultiHeadAttention extends Module {
  /** @param {Model} model @param {string} path @param {number} numHeads */
  constructor(model, path, numHeads) {
    super(model, path);
    this.numHeads = numHeads;
    this.to_query = new Linear(model, `${path}.to_query`, { bias: false });
    this.to_key = new Linear(model, `${path}.to_key`, { bias: false });
    this.to_value = new Linear(model, `${path}.to_value`, { bias: false });
    this.to_output = new Linear(model, `${path}.to_output`, { bias: false });
    /** @type {Set<number>} */
    this.ablated = new Set(); // heads whose output is replaced by zeros
  }

  /** @type {(query: Matrix, memory: Matrix, mask?: boolean[][]) => Matrix} */
  forward(query, memory, mask) {
    return this.attend(this.to_query.forward(query), ...this.projectMemory(memory), mask);
  }

  /** @type {(memory: Matrix) => [Matrix, Matrix]} */
  projectMemory(memory) {
    return [this.to_key.forward(memory), this.to_value.forward(memory)];
  }

  // Attends in every head, concatenates the heads, and mixes them by to_output.
  /** @type {(query: Matrix, key: Matrix, value: Matrix, mask?: boolean[][]) => Matrix} */
  attend(query, key, value, mask) {
    const [queries, keys, values] = [query, key, value].map((x) => this.split(x));
    const heads = Array.from({ length: this.numHeads }, (_, head) => head);
    const scores = heads.map((head) => attentionScores(queries[head], keys[head], mask));
    const weights = scores.map((rows) => rows.map(softmax));
    const outputs = heads.map((head) =>
      this.ablated.has(head)
        ? queries[head].map(() => new Float32Array(values[head][0].length))
        : weightedMeans(weights[head], values[head]),
    );
    const observed = { query: queries, key: keys, value: values, scores, weights, heads: outputs };
    for (const [name, tensor] of Object.entries(observed)) this.see(name, tensor);
    const sideBySide = query.map((_, token) =>
      Float32Array.from(outputs.flatMap((head) => [...head[token]])),
    );
    return this.see("output", this.to_output.forward(sideBySide));
  }

  // heads × tokens × d_k, as views of tokens × d_model.
  /** @type {(x: Matrix) => Matrix[]} */
  split(x) {
    const width = x[0].length / this.numHeads;
    return Array.from({ length: this.numHeads }, (_, head) =>
      x.map((token) => token.subarray(head * width, (head + 1) * width)),
    );
  }
}
