// The whole model, figure 1 of the paper: annotated_transformer/model/transformer.py.
import { Decoder } from "./decoder.js";
import { sinusoid, TokenEmbedding } from "./embeddings.js";
import { Encoder } from "./encoder.js";
import { add } from "./tensors.js";

// What this engine computes; a model of another kind is refused rather than computed wrongly.
const COMPUTED = {
  norm: "post",
  final_norm: null,
  activation: "relu",
  positions: "sinusoidal",
  attention_bias: false,
  output_bias: false,
  tied_output: true,
  d_k: null,
  d_v: null,
};

export class Transformer {
  /** @param {Config} config @param {Map<string, Vector | Matrix>} tensors */
  constructor(config, tensors) {
    for (const [field, computed] of Object.entries(COMPUTED)) {
      const value = /** @type {Record<string, unknown>} */ (config)[field] ?? computed;
      if (value !== computed) {
        throw new Error(`the model has ${field}=${value}; this engine computes ${field}=${computed}`);
      }
    }
    this.config = config;
    this.tensors = tensors;
    /** @type {((name: string, value: Matrix | Matrix[]) => void) | null} */
    this.watch = null; // called with everything that is computed
    this.embedding = new TokenEmbedding(this, "embedding");
    this.encoder = new Encoder(this, config);
    this.decoder = new Decoder(this, config);
  }

  // The memory: all that the decoder can read of the source.
  /** @type {(src: number[]) => Matrix} */
  encode(src) {
    return this.encoder.forward(this.embed(src, 0, "encoder"));
  }

  // The decoder's last layer for a target that begins with BOS; no token reads a later one.
  /** @type {(tgt: number[], memory: Matrix) => Matrix} */
  decode(tgt, memory) {
    const causal = tgt.map((_, query) => tgt.map((_, key) => key <= query));
    return this.decoder.forward(this.embed(tgt, 0, "decoder"), memory, causal);
  }

  /** @type {(ids: number[], start: number, stack: "encoder" | "decoder") => Matrix} */
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
  /** @type {(hidden: Matrix) => Matrix} */
  logits(hidden) {
    const logits = this.embedding.logits(hidden);
    for (const row of logits) row[this.config.pad_id] = row[this.config.bos_id] = -Infinity;
    this.watch?.("logits", logits);
    return logits;
  }

  /** @param {Kind} kind @param {number} layer */
  attention(kind, layer) {
    if (kind === "encoder") return this.encoder.layers[layer].self_attention;
    return this.decoder.layers[layer][kind === "cross" ? "cross_attention" : "self_attention"];
  }

  // Replaces the output of these heads by zeros, and restores all others: a list of [kind, layer, head].
  /** @type {(heads: Head[]) => void} */
  ablate(heads) {
    for (const { self_attention } of this.encoder.layers) self_attention.ablated.clear();
    for (const { self_attention, cross_attention } of this.decoder.layers)
      for (const { ablated } of [self_attention, cross_attention]) ablated.clear();
    for (const [kind, layer, head] of heads) this.attention(kind, layer).ablated.add(head);
  }
}
