// From logits to a target: annotated_transformer/decoding/greedy.py.
// A target has no BOS; it ends with EOS, or without it at its limit.
import { KeyValueCache } from "./kv_cache.js";
import { topk } from "./tensors.js";

const EXTRA_TOKENS = 50; // "the maximum output length during inference [is] input length + 50" (section 6.1)

// Yields the tokens one by one: first those of `prefix`, then the likeliest ones.
/** @type {(model: Model, src: number[], prefix?: number[]) => Generator<number, void>} */
export function* greedySearch(model, src, prefix = []) {
  const cache = new KeyValueCache(model, src);
  const { bos_id, eos_id, max_length } = model.config;
  const limit = Math.min(src.length + EXTRA_TOKENS, max_length);
  let token = bos_id;
  for (let step = 0; step < limit && token !== eos_id; step++) {
    const logits = cache.step(token);
    token = prefix[step] ?? topk(logits, 1)[0];
    yield token;
  }
}
