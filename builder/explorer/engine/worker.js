// The engine's message handler: answers { id, call, argument } with { id, partial }, { id, result } or { id, error }.
function serve(scope) {
  const translators = new Map(); // by direction
  let current = null; // what was translated last: { translator, observation }

  const calls = {
    load({ direction, config, tokenizer, weights }) {
      const translator = new Translator({ config, tokenizer, weights: bytesOf(weights) });
      translators.set(direction, translator);
      return { config, vocabulary: translator.tokenizer.tokens([...Array(config.vocab_size).keys()]) };
    },

    translate({ direction, text, ablated = [], ...options }, report) {
      const translator = translators.get(direction);
      const src = translator.encode(text);
      const { tokenizer, model } = translator;
      model.ablate(ablated);
      const steps = translator.search(src, options);
      let step = steps.next();
      for (; !step.done; step = steps.next()) report({ tokens: tokenizer.tokens(step.value) });
      const target = step.value;
      const observation = translator.observe(src, target);
      current = { translator, observation };
      const [before, , after] = translator.setAside(text);
      return {
        source: { ids: src, tokens: tokenizer.tokens(src) },
        target: { ids: target, tokens: tokenizer.tokens(target) },
        text: before + tokenizer.decode(target) + after,
        written: target.map((_, step) => tokenizer.decode(target.slice(0, step))), // before each token
        logProb: observation.logProb,
        logProbs: observation.logProbs,
        top: observation.top,
        attention: Object.fromEntries(["encoder", "decoder", "cross"].map((kind) => [kind, weightsOf(kind)])),
        tensors: [...observation.tensors].map(([name, tensor]) => ({ name, shape: shapeOf(tensor) })),
      };
    },

    tensor: ({ name }) => current.observation.tensors.get(name),

    provenance: ({ name, index }) => provenance(current.translator, current.observation, name, index),
  };

  // layers × heads × queries × keys
  function weightsOf(kind) {
    const { tensors } = current.observation;
    const [stack, module] = [
      kind === "encoder" ? kind : "decoder",
      kind === "cross" ? "cross_attention" : "self_attention",
    ];
    const { num_layers } = current.translator.model.config;
    return Array.from({ length: num_layers }, (_, layer) =>
      tensors.get(`${stack}.layers.${layer}.${module}.weights`),
    );
  }

  scope.onmessage = ({ data: { id, call, argument } }) => {
    try {
      const result = calls[call](argument, (partial) => scope.postMessage({ id, partial }));
      scope.postMessage({ id, result });
    } catch (error) {
      scope.postMessage({ id, error: error.message });
    }
  };
}

const shapeOf = (tensor) => (typeof tensor === "number" ? [] : [tensor.length, ...shapeOf(tensor[0])]);

// The weights come as base64, since a page opened from a file cannot fetch another file.
function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes.buffer;
}
