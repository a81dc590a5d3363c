// From logits to a target: annotated_transformer/decoding/greedy.py, sampling.py and beam.py.
// A target has no BOS; it ends with EOS, or without it at its limit.
import { KeyValueCache } from "./kv_cache.js";
import { logSoftmax, softmax, sum, topk } from "./tensors.js";
/** @import { Vector } from "./tensors.js" */
/** @import { Transformer } from "./transformer.js" */

/** @typedef {(logits: Vector) => number} Chooser  a token */
/** @typedef {{ target: number[], logProb: number }} Hypothesis */

const EXTRA_TOKENS = 50; // "the maximum output length during inference [is] input length + 50" (section 6.1)

/** @type {(model: Transformer, src: number[]) => number} */
const lengthLimit = (model, src) => Math.min(src.length + EXTRA_TOKENS, model.config.max_length);

// Yields the tokens one by one: first those of `prefix`, then those that `choose` chooses from the logits.
/** @type {(model: Transformer, src: number[], choose: Chooser, prefix?: number[]) => Generator<number, void>} */
export function* generate(model, src, choose, prefix = []) {
  const cache = new KeyValueCache(model, src);
  const target = [];
  let token = model.config.bos_id;
  while (token !== model.config.eos_id && target.length < lengthLimit(model, src)) {
    const logits = cache.step(token);
    token = prefix[target.length] ?? choose(logits);
    target.push(token);
    yield token;
  }
}

/** @type {Chooser} */
export const greedy = (logits) => topk(logits, 1)[0];

// Draws from the distribution of the logits divided by the temperature; the seed decides the draws.
/** @type {(temperature: number, seed: number) => Chooser} */
export function sampler(temperature, seed) {
  if (!(temperature > 0 && temperature < Infinity)) {
    throw new Error(
      `tau=${temperature} is not a temperature, which is a positive number; as tau → 0, sampling ` +
        `becomes greedy search, which needs no temperature`,
    );
  }
  if (!(temperature >= 1e-30 && temperature <= 1e30)) {
    throw new Error(`tau=${temperature} is too extreme; give a temperature from 1e-30 to 1e30`);
  }
  const random = mulberry32(seed);
  return (logits) => {
    const probabilities = softmax(logits.map((logit) => logit / temperature));
    let rest = random() * sum(probabilities);
    for (let token = 0; token < probabilities.length; token++) {
      rest -= probabilities[token];
      if (rest < 0) return token;
    }
    return greedy(logits); // reached only through rounding
  };
}

// A small generator of random numbers in [0, 1), by Tommy Ettinger; public domain.
/** @type {(seed: number) => () => number} */
function mulberry32(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

// The length penalty of the paper, by Wu et al. (2016).
/** @type {(length: number, alpha?: number) => number} */
const gnmtLength = (length, alpha = 0.6) => ((5 + length) / 6) ** alpha;

// Keeps the most likely continuations, ranks finished ones by log-probability over length penalty.
/** @type {(model: Transformer, src: number[], beamSize: number, prefix?: number[]) => Generator<Hypothesis[], Hypothesis>} */
export function* beamSearch(model, src, beamSize, prefix = []) {
  if (!Number.isInteger(beamSize) || beamSize < 1) {
    throw new Error(
      `beam_size=${beamSize} keeps no hypothesis; give 1 (greedy search) or more, a whole number`,
    );
  }
  const limit = lengthLimit(model, src);
  /** @type {Hypothesis & { penalized: number }} */
  let best = { target: [], logProb: -Infinity, penalized: -Infinity };
  /** @type {(Hypothesis & { cache: KeyValueCache })[]} */
  let growing = [{ target: [], logProb: 0, cache: new KeyValueCache(model, src) }];
  let width = beamSize;
  for (let length = 1; growing.length; length++) {
    const found = [];
    for (const { target, logProb, cache } of growing) {
      const logProbs = logSoftmax(cache.step(target.at(-1) ?? model.config.bos_id));
      const forced = prefix[length - 1];
      const tokens = forced === undefined ? topk(logProbs, beamSize) : [forced];
      for (const token of tokens)
        found.push({ target: [...target, token], logProb: logProb + logProbs[token], cache });
    }
    found.sort((a, b) => b.logProb - a.logProb); // stable, as Array.prototype.sort is
    const kept = found.slice(0, width);
    /** @type {(hypothesis: Hypothesis) => boolean} */
    const ended = ({ target }) => target.at(-1) === model.config.eos_id || length === limit;
    for (const { target, logProb } of kept.filter(ended)) {
      const penalized = logProb / gnmtLength(length);
      if (penalized > best.penalized) best = { target, logProb, penalized };
    }
    width -= kept.filter(ended).length;
    growing = kept.filter((hypothesis) => !ended(hypothesis));
    // Continuing never raises a log-probability, so no continuation can rank above this bound.
    if (!growing.some(({ logProb }) => logProb / gnmtLength(limit) > best.penalized)) growing = [];
    growing = growing.map((hypothesis) => ({ ...hypothesis, cache: hypothesis.cache.fork() }));
    yield growing.map(({ target, logProb }) => ({ target, logProb }));
  }
  return best;
}
