// Where a number comes from: the numbers that it was computed from, and the result of computing it again.
// A tensor has the name of the module that computes it; KINDS says how, by the kind of the tensor.
import { parsed } from "./names.js";
import { LayerNorm } from "./normalization.js";
import { largest, sum } from "./tensors.js";

/** @typedef {{ value: number, name?: string, index?: number[] }} Operand  a number, and where it is an entry of a tensor */
/**
 * What is asked for; `at` reads a tensor, and `entry` says also which number was read.
 * @typedef {ReturnType<typeof parsed> & { name: string, parent: string, index: number[], model: Model,
 *   tokens: number[], at: (name: string, index: number[]) => any, entry: (name: string, index: number[]) => Operand }} Asked
 */
/**
 * The `result` is the sum of `terms`, if there are any, changed by what is `aside`; otherwise, it is a function of the
 * number `read`, and of those aside.
 * @typedef {{ result: number, terms?: { factors: Operand[], value: number }[], read?: Operand, aside?: Record<string, number> }} Computed
 */
/** @typedef {Computed & Required<Pick<Computed, "terms">> & { name: string, index: number[], value: number, kind: string }} Provenance */

/** @type {Record<string, (asked: Asked) => Computed>} */
const KINDS = {
  embedding: scaledRow,
  positions: position,
  embedded: sumOfTwo,
  query: product,
  key: product,
  value: product,
  scores: scaledDot,
  weights: normalized,
  heads: weightedMean,
  output: product,
  sum: sumOfTwo,
  add_norm: normalizedToken,
  expand: product,
  activation: rectified,
  contract: product,
  logits: product,
  probabilities: normalized,
};

// What the number at `index` of the tensor `name` was computed from.
/** @type {(translator: Translator, observation: Observation, name: string, index: number[]) => Provenance} */
export function provenance({ model }, { tensors, ids }, name, index) {
  /** @type {Asked["at"]} */
  const at = (name, index) => index.reduce((part, i) => part[i], tensors.get(name));
  /** @type {Asked["entry"]} */
  const entry = (name, index) => ({ value: at(name, index), name, index });
  const place = parsed(name);
  const parent = name.slice(0, name.lastIndexOf("."));
  const tokens = place.stack === "encoder" ? ids.encoder : ids.decoder;
  const computed = KINDS[place.kind]({ ...place, name, parent, index, model, tokens, at, entry });
  return { name, index, value: at(name, index), kind: place.kind, terms: [], ...computed };
}

/** @type {Record<string, string[]>} */
const SUBLAYERS = {
  encoder: ["self_attention", "feed_forward"],
  decoder: ["self_attention", "cross_attention", "feed_forward"],
};

// The tensor that is multiplied by a matrix, or normalized after it was added to the output of a sub-layer.
/** @type {(asked: Asked) => string} */
function inputOf({ kind, stack, layer = 0, module, parent, model }) {
  const last = model.config.num_layers - 1;
  if (kind === "logits") return `decoder.layers.${last}.add_norm_3`;
  if (kind === "output") return `${parent}.heads`;
  if (kind === "contract") return `${parent}.activation`;
  if (module === "cross_attention" && kind !== "query") return `encoder.layers.${last}.add_norm_2`;
  const sublayers = SUBLAYERS[stack];
  const place = module.startsWith("add_norm") ? Number(module.at(-1)) - 1 : sublayers.indexOf(module);
  if (place > 0) return `${stack}.layers.${layer}.add_norm_${place}`;
  return layer ? `${stack}.layers.${layer - 1}.add_norm_${sublayers.length}` : `${stack}.embedded`;
}

/** @type {(pairs: [Operand, Operand][]) => { terms: { factors: Operand[], value: number }[], result: number }} */
function sumOfProducts(pairs) {
  const terms = pairs.map(([a, b]) => ({ factors: [a, b], value: a.value * b.value }));
  return { terms, result: sum(terms.map(({ value }) => value)) };
}

/** @type {(asked: Asked) => Computed} */
function scaledRow({ model, tokens, index: [token, feature] }) {
  const { weight, scale } = model.embedding;
  return sumOfProducts([[{ value: weight[tokens[token]][feature] }, { value: scale }]]);
}

/** @type {(asked: Asked) => Computed} */
function position({ model, index: [position, feature] }) {
  const divisor = 10000 ** ((feature - (feature % 2)) / model.config.d_model);
  const angle = position / divisor;
  return { result: feature % 2 ? Math.cos(angle) : Math.sin(angle), aside: { position, divisor } };
}

/** @type {(asked: Asked) => Computed} */
function sumOfTwo(asked) {
  const { kind, stack, layer, module, index, entry } = asked;
  const sublayer = SUBLAYERS[stack][Number(module.at(-1)) - 1];
  const output = `${stack}.layers.${layer}.${sublayer}.${sublayer === "feed_forward" ? "contract" : "output"}`;
  const parts = kind === "embedded" ? [`${stack}.embedding`, `${stack}.positions`] : [inputOf(asked), output];
  const terms = parts
    .map((part) => entry(part, index))
    .map((part) => ({ factors: [part], value: part.value }));
  return { terms, result: sum(terms.map(({ value }) => value)) };
}

// A row of a matrix times a token. The matrices of the heads are stacked, and so are the heads for `to_output`.
/** @type {(asked: Asked) => Computed} */
function product(asked) {
  const { kind, name, parent, index, model, entry } = asked;
  const { d_model, num_heads, pad_id, bos_id } = model.config;
  const [head, token, feature] = index.length === 3 ? index : [0, ...index];
  if (kind === "logits" && [pad_id, bos_id].includes(feature))
    return { result: -Infinity, aside: { forbidden: feature } };
  const each = d_model / num_heads;
  const matrix = { logits: "embedding", expand: name, contract: name }[kind] ?? `${parent}.to_${kind}`;
  const row = /** @type {Matrix} */ (model.tensors.get(`${matrix}.weight`))[head * each + feature];
  const from = inputOf(asked);
  const { terms, result } = sumOfProducts(
    Array.from(row, (value, i) => [
      entry(from, kind === "output" ? [Math.floor(i / each), token, i % each] : [token, i]),
      { value },
    ]),
  );
  const bias = /** @type {Vector | undefined} */ (model.tensors.get(`${matrix}.bias`))?.[feature];
  return bias === undefined ? { terms, result } : { terms, result: result + bias, aside: { bias } };
}

/** @type {(asked: Asked) => Computed} */
function scaledDot({ stack, module, parent, index: [head, query, key], model, entry }) {
  if (stack === "decoder" && module === "self_attention" && key > query)
    return { result: -Infinity, aside: { later: key } };
  const width = model.config.d_model / model.config.num_heads;
  const { terms, result } = sumOfProducts(
    Array.from({ length: width }, (_, i) => [
      entry(`${parent}.query`, [head, query, i]),
      entry(`${parent}.key`, [head, key, i]),
    ]),
  );
  return { terms, result: result / Math.sqrt(width), aside: { divisor: Math.sqrt(width) } };
}

/** @type {(asked: Asked) => Computed} */
function normalized({ kind, parent, index, at, entry }) {
  const from = kind === "probabilities" ? "logits" : `${parent}.scores`;
  const scores = at(from, index.slice(0, -1));
  const read = entry(from, index);
  const top = largest(scores);
  const total = sum(Array.from(scores, (score) => Math.exp(score - top)));
  return { result: Math.exp(read.value - top) / total, read, aside: { largest: top, total } };
}

/** @type {(asked: Asked) => Computed} */
function weightedMean({ stack, layer, module, parent, index: [head, query, feature], model, at, entry }) {
  const kind = module === "cross_attention" ? "cross" : /** @type {Kind} */ (stack);
  const { length } = at(`${parent}.value`, [head]);
  const made = sumOfProducts(
    Array.from({ length }, (_, key) => [
      entry(`${parent}.weights`, [head, query, key]),
      entry(`${parent}.value`, [head, key, feature]),
    ]),
  );
  const off = model.attention(kind, Number(layer)).ablated.has(head);
  return off ? { ...made, result: 0, aside: { off: 1 } } : made;
}

/** @type {(asked: Asked) => Computed} */
function normalizedToken({ name, index: [token, feature], model, at, entry }) {
  const [gain, bias] = ["gain", "bias"].map((part) =>
    Number(model.tensors.get(`${name}.norm.${part}`)?.[feature]),
  );
  const read = entry(`${name}.sum`, [token, feature]);
  const { mean, variance } = LayerNorm.prototype.moments(at(`${name}.sum`, [token]));
  const result = (gain * (read.value - mean)) / Math.sqrt(variance + 1e-5) + bias;
  return { result, read, aside: { mean, variance, gain, bias } };
}

/** @type {(asked: Asked) => Computed} */
function rectified({ parent, index, entry }) {
  const read = entry(`${parent}.expand`, index);
  return { result: Math.max(0, read.value), read };
}
