// The engine's message handler: answers { call, argument }, through the port that comes with it, with { partial },
// { result } or { error }.
import { provenance } from "./provenance.js";
import { greedySearch } from "./search.js";
import { Translator } from "./translator.js";

/** @type {(scope: Pick<Worker, "onmessage">) => void} */
export function serve(scope) {
  /** @type {Map<string, Translator>} */
  const translators = new Map(); // by direction
  /** @type {{ translator: Translator, observation: Observation }} */
  let current; // what was translated last

  /** @type {Record<string, (argument: any, report: TokensReport) => unknown>} */
  const calls = {
    /** @type {(packed: Packed) => Promise<{ config: Config, vocabulary: string[] }>} */
    async load({ direction, file }) {
      const translator = new Translator(await inflate(file));
      translators.set(direction, translator);
      const { config } = translator.model;
      return { config, vocabulary: translator.tokenizer.tokens([...Array(config.vocab_size).keys()]) };
    },

    /** @type {(options: Typed & Partial<Options>, report: TokensReport) => Answer} */
    translate({ direction, text, prefix, ablated = [] }, report) {
      const translator = /** @type {Translator} */ (translators.get(direction));
      const src = translator.encode(text);
      const { tokenizer, model } = translator;
      model.ablate(ablated);
      /** @type {number[]} */
      const target = [];
      for (const token of greedySearch(model, src, prefix)) {
        target.push(token);
        report({ tokens: tokenizer.tokens(target) });
      }
      current = { translator, observation: translator.observe(src, target) };
      const { tensors, logProb, logProbs, top } = current.observation;
      /** @type {(kind: Kind) => Matrix[][]} */
      const weightsOf = (kind) =>
        model.decoder.layers.map((_, layer) => tensors.get(`${model.attention(kind, layer).path}.weights`));
      const [before, , after] = translator.setAside(text);
      return {
        source: { ids: src, tokens: tokenizer.tokens(src) },
        target: { ids: target, tokens: tokenizer.tokens(target) },
        text: before + tokenizer.decode(target) + after,
        written: target.map((_, step) => tokenizer.decode(target.slice(0, step))),
        logProb,
        logProbs,
        top,
        attention: {
          encoder: weightsOf("encoder"),
          decoder: weightsOf("decoder"),
          cross: weightsOf("cross"),
        },
        tensors: [...tensors].map(([name, tensor]) => ({ name, shape: shapeOf(tensor) })),
      };
    },

    /** @type {(argument: { name: string }) => unknown} */
    tensor: ({ name }) => current.observation.tensors.get(name),

    /** @type {(argument: { name: string, index: number[] }) => Provenance} */
    provenance: ({ name, index }) => provenance(current.translator, current.observation, name, index),
  };

  scope.onmessage = async ({ data: { call, argument }, ports: [port] }) => {
    try {
      const result = await calls[call](argument, (partial) => port.postMessage({ partial }));
      port.postMessage({ result });
    } catch (error) {
      port.postMessage({ error: /** @type {Error} */ (error).message });
    }
  };
}

/** @type {(tensor: any) => number[]} */
const shapeOf = (tensor) => (typeof tensor === "number" ? [] : [tensor.length, ...shapeOf(tensor[0])]);

// A model comes as text, since a page opened from a file cannot fetch another file: compressed, a byte in the last eight
// bits of each character.
/** @type {(text: string) => Promise<ArrayBuffer>} */
export function inflate(text) {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new Response(
    new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")),
  ).arrayBuffer();
}
