// Where a number comes from: the numbers that it was computed from, and the result of computing it again.
// A tensor has the name of the module that computes it; KINDS says how, by the last part of the name.
import { LayerNorm } from "./normalization.js";
import { concatenate, largest, sum } from "./tensors.js";
/** @import { Model } from "./module.js" */
/** @import { Matrix } from "./tensors.js" */
/** @import { Kind } from "./transformer.js" */
/** @import { Observation, Translator } from "./translator.js" */

/** @typedef {{ translator: Translator, observation: Observation, name: string, index: number[] }} Asked */
/** @typedef {{ factors: number[], value: number, from?: string }} Term  `from`: the tensor that it is in */
/**
 * A number computed again: from what is named in `factors`, as the sum of `terms` if it is one, with further
 * numbers in `aside`. `from` is the tensor that it was computed from, if it is one.
 * @typedef {object} Computed
 * @property {string[]} factors
 * @property {Term[]} terms
 * @property {number} result
 * @property {string} [from]
 * @property {Record<string, number>} [aside]
 */
/** @typedef {Computed & { name: string, index: number[], value: number, kind: string }} Provenance */

/** @type {Record<string, (asked: Asked) => Computed>} */
const KINDS = {
  embedding: scaledRow,
  positions: position,
  embedded: sumOfTwo,
  query: projection,
  key: projection,
  value: projection,
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

// The kind of a tensor: its name without its place, "weights" of "encoder.layers.0.self_attention.weights".
/** @type {(name: string) => string} */
const kindOf = (name) => name.slice(name.lastIndexOf(".") + 1).replace(/_\d$/, "");

// What the number at `index` of the tensor `name` was computed from.
/** @type {(translator: Translator, observation: Observation, name: string, index: number[]) => Provenance} */
export function provenance(translator, observation, name, index) {
  const value = at(observation.tensors.get(name), index);
  const kind = kindOf(name);
  return { name, index, value, kind, ...KINDS[kind]({ translator, observation, name, index }) };
}

/** @type {(tensor: any, index: number[]) => any} */
const at = (tensor, index) => index.reduce((part, i) => part[i], tensor);

// A weight of the model; undefined if it has none of this name, as a bias.
/** @type {(model: Model, name: string) => any} */
const parameter = (model, name) => model.tensors.get(name);

// The tensor that a module reads, by the order of the layers in encoder.js and decoder.js.
/** @type {(name: string, layers: number) => string} */
function inputOf(name, layers) {
  const [stack, , layer, module, part] = name.split(".");
  if (name === "logits") return `decoder.layers.${layers - 1}.add_norm_3`;
  const sublayers =
    stack === "encoder"
      ? ["self_attention", "feed_forward"]
      : ["self_attention", "cross_attention", "feed_forward"];
  const place = module.startsWith("add_norm") ? Number(module.at(-1)) - 1 : sublayers.indexOf(module);
  if (module === "cross_attention" && part !== "query") return `encoder.layers.${layers - 1}.add_norm_2`;
  if (place > 0) return `${stack}.layers.${layer}.add_norm_${place}`;
  return layer === "0"
    ? `${stack}.embedded`
    : `${stack}.layers.${Number(layer) - 1}.add_norm_${sublayers.length}`;
}

// A sum of products, one term for each pair of factors.
/** @type {(names: string[], left: ArrayLike<number>, right: ArrayLike<number>, rest?: { from?: string }) => Computed} */
function sumOfProducts(names, left, right, rest = {}) {
  const terms = Array.from(left, (a, i) => ({ factors: [a, right[i]], value: a * right[i] }));
  return { factors: names, terms, result: sum(terms.map((term) => term.value)), ...rest };
}

/** @type {(asked: Asked) => Computed} */
function scaledRow({ translator, observation, name, index: [token, feature] }) {
  const { weight, scale } = translator.model.embedding;
  const id = observation.ids[name.startsWith("encoder") ? "encoder" : "decoder"][token];
  return sumOfProducts([`E[${id}, ${feature}]`, "√d_model"], [weight[id][feature]], [scale]);
}

/** @type {(asked: Asked) => Computed} */
function position({ translator, index: [position, feature] }) {
  const width = translator.model.config.d_model;
  const divisor = 10000 ** ((feature - (feature % 2)) / width);
  const result = feature % 2 ? Math.cos(position / divisor) : Math.sin(position / divisor);
  return { factors: [], terms: [], result, aside: { position, divisor, angle: position / divisor } };
}

/** @type {(asked: Asked) => Computed} */
function sumOfTwo({ translator, observation, name, index }) {
  const [stack, , layer, module] = name.split(".");
  const layers = translator.model.config.num_layers;
  /** @type {Record<string, string>} */
  const sublayer = {
    1: "self_attention.output",
    2: stack === "encoder" ? "feed_forward.contract" : "cross_attention.output",
    3: "feed_forward.contract",
  };
  const parts =
    module === undefined
      ? [`${stack}.embedding`, `${stack}.positions`]
      : [
          inputOf(`${stack}.layers.${layer}.${module}`, layers),
          `${stack}.layers.${layer}.${sublayer[module.slice(-1)]}`,
        ];
  const terms = parts.map((part) => {
    const value = at(observation.tensors.get(part), index);
    return { factors: [value], value, from: part };
  });
  return { factors: parts, terms, result: sum(terms.map((term) => term.value)) };
}

/** @type {(asked: Asked) => Computed} */
function projection({ translator, observation, name, index: [head, token, feature] }) {
  const { model } = translator;
  const from = inputOf(name, model.config.num_layers);
  const module = name.split(".").slice(0, -1).join(".");
  const part = `${module}.to_${kindOf(name)}.weight`;
  const row = parameter(model, part)[(head * model.config.d_model) / model.config.num_heads + feature];
  return sumOfProducts([from, part], observation.tensors.get(from)[token], row, { from });
}

/** @type {(asked: Asked) => Computed} */
function product({ translator, observation, name, index: [token, feature] }) {
  const { model } = translator;
  const [parent, kind] = [name.split(".").slice(0, -1).join("."), kindOf(name)];
  if (kind === "logits" && [model.config.pad_id, model.config.bos_id].includes(feature)) {
    return { factors: [], terms: [], result: -Infinity, aside: { forbidden: feature } };
  }
  const from =
    { output: `${parent}.heads`, contract: `${parent}.activation` }[kind] ??
    inputOf(name, model.config.num_layers);
  const part = { output: `${parent}.to_output`, logits: "embedding" }[kind] ?? name;
  const read = observation.tensors.get(from);
  const x =
    kind === "output" ? concatenate(read.map((/** @type {Matrix} */ head) => head[token])) : read[token];
  const bias = parameter(model, `${part}.bias`)?.[feature];
  const made = sumOfProducts([from, `${part}.weight`], x, parameter(model, `${part}.weight`)[feature], {
    from,
  });
  return bias === undefined ? made : { ...made, result: made.result + bias, aside: { bias } };
}

/** @type {(asked: Asked) => Computed} */
function scaledDot({ observation, name, index: [head, query, key] }) {
  const parent = name.split(".").slice(0, -1).join(".");
  const [q, k] = [
    observation.tensors.get(`${parent}.query`)[head][query],
    observation.tensors.get(`${parent}.key`)[head][key],
  ];
  if (parent.startsWith("decoder") && parent.endsWith("self_attention") && key > query) {
    return { factors: [], terms: [], result: -Infinity, aside: { later: key } };
  }
  const made = sumOfProducts([`${parent}.query`, `${parent}.key`], q, k);
  return { ...made, result: made.result / Math.sqrt(q.length), aside: { divisor: Math.sqrt(q.length) } };
}

/** @type {(asked: Asked) => Computed} */
function normalized({ observation, name, index }) {
  const from = name === "probabilities" ? "logits" : name.replace(/weights$/, "scores");
  const scores = at(observation.tensors.get(from), index.slice(0, -1));
  const top = largest(scores);
  const powers = Array.from(scores, (score) => Math.exp(score - top));
  const place = index[index.length - 1];
  const [score, total] = [scores[place], sum(powers)];
  return {
    factors: [from],
    terms: [],
    result: powers[place] / total,
    from,
    aside: { score, largest: top, total },
  };
}

/** @type {(asked: Asked) => Computed} */
function weightedMean({ translator, observation, name, index: [head, query, feature] }) {
  const [stack, , layer, module] = name.split(".");
  const parent = name.split(".").slice(0, -1).join(".");
  const kind = module === "cross_attention" ? "cross" : /** @type {Kind} */ (stack);
  const off = translator.model.attention(kind, Number(layer)).ablated.has(head);
  /** @type {Matrix} */
  const rows = observation.tensors.get(`${parent}.value`)[head];
  const made = sumOfProducts(
    [`${parent}.weights`, `${parent}.value`],
    observation.tensors.get(`${parent}.weights`)[head][query],
    rows.map((row) => row[feature]),
  );
  return off ? { ...made, result: 0, aside: { off: 1 } } : made;
}

/** @type {(asked: Asked) => Computed} */
function normalizedToken({ translator, observation, name, index: [token, feature] }) {
  const [gain, bias] = ["gain", "bias"].map(
    (part) => parameter(translator.model, `${name}.norm.${part}`)[feature],
  );
  const x = observation.tensors.get(`${name}.sum`)[token];
  const { mean, variance } = LayerNorm.prototype.moments(x);
  const result = (gain * (x[feature] - mean)) / Math.sqrt(variance + 1e-5) + bias;
  return {
    factors: [`${name}.sum`],
    terms: [],
    result,
    from: `${name}.sum`,
    aside: { x: x[feature], mean, variance, gain, bias },
  };
}

/** @type {(asked: Asked) => Computed} */
function rectified({ observation, name, index }) {
  const from = name.replace(/activation$/, "expand");
  const value = at(observation.tensors.get(from), index);
  return { factors: [from], terms: [], result: Math.max(0, value), from, aside: { x: value } };
}
