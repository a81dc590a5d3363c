// A stub of the engine for testing the explorer's page: it answers at once and loads no model.
// Its words, weights, and numbers differ from place to place, so that a mix-up is visible.
/** @import { Provenance, Term } from "../builder/explorer/engine/provenance.js" */
/** @import { Kind } from "../builder/explorer/engine/transformer.js" */
/** @import { Answer, Report, Request } from "../builder/explorer/engine/worker.js" */

const VOCABULARY = [
  "<pad>",
  "<bos>",
  "<eos>",
  "<unk>",
  ...Array.from({ length: 5996 }, (_, i) => ` w${i + 4}`),
];
const [LAYERS, HEADS, FEATURES, EOS] = [4, 5, 7, 2];

// The page's requests, and a promise that a translation waits for if a test sets one.
// Tests read and set them as properties of the window.
/** @type {unknown[]} */
var asked = [];
/** @type {Promise<unknown> | null} */
var door = null;

// The attention weight at one position: 0, 0.05, …, 0.95.
/** @type {(kind: Kind, layer: number, head: number, query: number, key: number) => number} */
function weight(kind, layer, head, query, key) {
  return ((kind.length + 11 * layer + 3 * head + 7 * query + 13 * key) % 20) / 20;
}

/** @type {(name: string) => [parent: string, kind: string]} */
const partsOf = (name) => {
  const place = name.lastIndexOf(".");
  return [name.slice(0, place), name.slice(place + 1).replace(/_\d$/, "")];
};

/** @type {(terms: Term[]) => number} */
const total = (terms) => terms.reduce((sum, { value }) => sum + value, 0);

// The products whose sum is a head's output or, divided by a root, a score.
/** @type {(name: string, index: number[], keys?: number) => Term[]} */
function products(name, [head, row, column], keys) {
  const [parent, kind] = partsOf(name);
  /** @type {Record<string, (i: number) => [part: string, ...place: number[]][]>} */
  const pairs = {
    scores: (i) => [
      ["query", row, i],
      ["key", column, i],
    ],
    heads: (i) => [
      ["weights", row, i],
      ["value", i, column],
    ],
  };
  return Array.from({ length: kind === "scores" ? FEATURES : (keys ?? 0) }, (_, i) => {
    const factors = pairs[kind](i).map(([part, ...place]) =>
      tensorValue(`${parent}.${part}`, [head, ...place]),
    );
    return { factors, value: factors[0] * factors[1] };
  });
}

// The value at one index of a tensor.
/** @type {(name: string, index: number[]) => number} */
function tensorValue(name, index) {
  const [, kind] = partsOf(name);
  if (kind === "scores") return total(products(name, index)) / Math.sqrt(FEATURES);
  const drawn = Math.sin(
    [...name]
      .map((sign) => sign.charCodeAt(0))
      .concat(index)
      .reduce((sum, x) => (31 * sum + x) % 65521, 7) ** 2,
  ); // squared, or neighbors would be similar
  return ["weights", "probabilities"].includes(kind) ? Math.abs(drawn) : drawn;
}

/** @type {(name: string, shape: number[], index?: number[]) => any} */
const make = (name, [size, ...more], index = []) =>
  more.length
    ? Array.from({ length: size }, (_, i) => make(name, more, [...index, i]))
    : Float32Array.from({ length: size }, (_, i) => tensorValue(name, [...index, i]));

/** @type {(source: number, target: number) => Record<string, number[]>} */
function shapesOf(source, target) {
  /** @type {(own: number, memory: number) => Record<string, number[]>} */
  const attention = (own, memory) => ({
    query: [HEADS, own, FEATURES],
    key: [HEADS, memory, FEATURES],
    value: [HEADS, memory, FEATURES],
    scores: [HEADS, own, memory],
    weights: [HEADS, own, memory],
    heads: [HEADS, own, FEATURES],
  });
  /** @type {Record<string, number[]>} */
  const shapes = { "encoder.embedding": [source, FEATURES], "encoder.positions": [source, FEATURES] };
  /** @type {(module: string, parts: Record<string, number[]>) => void} */
  const add = (module, parts) =>
    Object.entries(parts).forEach(([part, shape]) => (shapes[`${module}.${part}`] = shape));
  for (let layer = 0; layer < LAYERS; layer++) {
    add(`encoder.layers.${layer}.self_attention`, attention(source, source));
    add(`encoder.layers.${layer}.feed_forward`, { activation: [source, FEATURES] });
    add(`encoder.layers.${layer}`, { add_norm_1: [source, FEATURES] });
    add(`decoder.layers.${layer}.self_attention`, attention(target, target));
    add(`decoder.layers.${layer}.cross_attention`, attention(target, source));
  }
  return { ...shapes, logits: [target, VOCABULARY.length], probabilities: [target, VOCABULARY.length] };
}

// A translation has one token per word; forced tokens, ablated heads, and the search method change it.
/** @type {(request: Request) => Answer} */
function answer({
  direction,
  text,
  prefix = [],
  ablated = [],
  method = "greedy",
  seed = 0,
  temperature = 1,
}) {
  const source = [...text.split(/(?= )/), "<eos>"];
  /** @type {Record<string, number>} */
  const shifts = { greedy: 0, beam: 2500, sample: 3000 + seed + 100 * temperature };
  const shift = shifts[method] + 200 * Math.min(ablated.length, 9) + (direction === "en-de" ? 0 : 4000);
  /** @type {number[]} */
  const ids = [];
  /** @type {{ id: number, probability: number }[][]} */
  const top = [];
  source.forEach((_, step) => {
    const turned = ids.some((id, i) => id !== top[i][0].id); // by an earlier token
    const own = 10 * (step + 1) + shift + (turned ? 100 : 0);
    top.push(
      [0, 1, 2, 3, 4].map((rank) => ({
        id: step + 1 === source.length && !rank ? EOS : own + rank,
        probability: (1 - step / 50) * 2 ** -(rank + 1),
      })),
    );
    ids.push(prefix[step] ?? top[step][0].id);
  });
  const tokens = ids.map((id) => VOCABULARY[id]);
  const logProbs = ids.map(
    (id, step) => Math.log(top[step].find((entry) => entry.id === id)?.probability ?? 0.0123) - shift / 1e4,
  );
  /** @type {(kind: Kind, rows: string[], columns: string[]) => Float32Array[][][]} */
  const maps = (kind, rows, columns) =>
    Array.from({ length: LAYERS }, (_, layer) =>
      Array.from({ length: HEADS }, (_, head) =>
        rows.map((_, query) => Float32Array.from(columns, (_, key) => weight(kind, layer, head, query, key))),
      ),
    );
  return {
    source: { ids: source.map((_, i) => i + 4), tokens: source },
    target: { ids, tokens },
    text: tokens.slice(0, -1).join("").trim(),
    written: ids.map((_, step) => tokens.slice(0, step).join("").trim()),
    logProb: logProbs.reduce((sum, value) => sum + value),
    logProbs,
    top: top.map((entries) => entries.map((entry) => ({ ...entry, token: VOCABULARY[entry.id] }))),
    attention: {
      encoder: maps("encoder", source, source),
      decoder: maps("decoder", tokens, tokens),
      cross: maps("cross", tokens, source),
    },
    tensors: Object.entries(shapesOf(source.length, ids.length)).map(([name, shape]) => ({ name, shape })),
  };
}

class EngineClient {
  /** @type {Answer} */
  current;

  constructor() {
    this.worker = Object.assign(new EventTarget(), { terminate() {} });
    /** @type {(reason: string) => void} */
    this.fail = () => {};
  }

  /** @type {(direction: string) => Promise<{ vocabulary: string[] }>} */
  async load(direction) {
    asked.push(["load", direction]);
    return { vocabulary: VOCABULARY };
  }

  /** @type {(options: Request, report?: Report) => Promise<Answer>} */
  translate(options, report) {
    asked.push(["translate", options]);
    return new Promise((resolve, reject) => {
      this.fail = (reason) => reject(new Error(reason));
      Promise.resolve(door)
        .then(() => {
          this.current = answer(options);
          report?.({ tokens: this.current.target.tokens });
          resolve(this.current);
        })
        .catch(reject);
    });
  }

  /** @type {(name: string) => number[]} */
  shapeOf(name) {
    return this.current.tensors.find((tensor) => tensor.name === name)?.shape ?? [];
  }

  /** @type {(name: string) => Promise<unknown>} */
  async tensor(name) {
    return make(name, this.shapeOf(name));
  }

  /** @type {(name: string, index: number[]) => Promise<Omit<Provenance, "factors">>} */
  async provenance(name, index) {
    const [parent, kind] = partsOf(name);
    const value = tensorValue(name, index);
    const found = { name, index, kind, value, result: value };
    if (kind === "scores")
      return { ...found, terms: products(name, index), aside: { divisor: Math.sqrt(FEATURES) } };
    if (kind === "heads") {
      const terms = products(name, index, this.shapeOf(`${parent}.value`)[1]);
      return { ...found, terms, value: total(terms), result: total(terms) };
    }
    /** @type {Record<string, string | undefined>} */
    const sources = { weights: `${parent}.scores`, probabilities: "logits" };
    const from = sources[kind];
    if (from)
      return { ...found, terms: [], from, aside: { score: tensorValue(from, index), largest: 2, total: 3 } };
    return { ...found, terms: [{ factors: [value], value }] };
  }
}
