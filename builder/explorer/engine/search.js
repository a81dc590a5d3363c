// From logits to a target: annotated_transformer/decoding/greedy.py.
// A target has no BOS; it ends with EOS, or without it at its limit.
import { KeyValueCache } from "./kv_cache.js";
import { topk } from "./tensors.js";

const EXTRA_TOKENS = 50; // "the maximum output length during inference [is] input length + 50" (section 6.1)

/** @type {(model: Model, src: number[]) => number} */
const lengthLimit = (model, src) => Math.min(src.length + EXTRA_TOKENS, model.config.max_length);

// Yields the tokens one by one: first those of `prefix`, then the likeliest ones.
/** @type {(model: Model, src: number[], prefix?: number[]) => Generator<number, void>} */
export function* greedySearch(model, src, prefix = []) {
  const cache = new KeyValueCache(model, src);
  const target = [];
  let token = model.config.bos_id;
  while (token !== model.config.eos_id && target.length < lengthLimit(model, src)) {
    const logits = cache.step(token);
    token = prefix[target.length] ?? topk(logits, 1)[0];
    target.push(token);
    yield token;
  }
}
