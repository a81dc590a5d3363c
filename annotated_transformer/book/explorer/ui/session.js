// The engine as this page uses it. The engine remembers only its last translation, so all calls form one queue,
// and whoever translates something else on the way puts the shown translation back.
class Session {
  constructor(folder) {
    this.folder = folder;
    this.queue = Promise.resolve();
    this.shown = null; // the options of the translation whose tensors are asked for
    this.loaded = new Set();
    this.tokenizers = new Map();
  }

  async load(direction) {
    this.client ??= this.start();
    this.client.catch(() => (this.client = undefined)); // the next press tries again
    await (await this.client).load(direction);
    this.loaded.add(direction);
  }

  async start() {
    await this.script("engine.js");
    const { Tokenizer } = transformerEngine();
    const receive = window.receiveTransformer;
    window.receiveTransformer = (model) => { // the names of all tokens, for the columns of the logits
      this.tokenizers.set(model.direction, new Tokenizer(model.tokenizer));
      receive(model);
    };
    return new EngineClient(this.folder);
  }

  script(name) {
    return new Promise((resolve, reject) => {
      const script = h("script", { src: `${this.folder}/${name}` });
      script.onload = resolve;
      script.onerror = () => reject(new Error(`the engine could not be loaded from ${script.src}; try again`));
      document.head.append(script);
    });
  }

  inTurn(work) {
    const done = this.queue.then(work);
    this.queue = done.catch(() => {});
    return done;
  }

  // The translation, and what it is compared with where heads are off: the one with all heads, and how likely
  // that one still is without them.
  translate(options, report) {
    return this.inTurn(async () => {
      const client = await this.client;
      let whole = null;
      let kept = null;
      if (options.ablated.length) {
        whole = await client.translate({ ...options, ablated: [] });
        kept = await client.translate({ ...options, prefix: whole.target.ids });
      }
      this.shown = options;
      const result = await client.translate(options, report);
      return { ...result, whole, keptLogProb: kept?.logProb };
    });
  }

  // Other searches for the same sentence, one after another.
  searches(list) {
    return this.inTurn(async () => {
      const client = await this.client;
      const found = [];
      for (const options of list) found.push(await client.translate({ ...this.shown, ...options }));
      await client.translate(this.shown);
      return found;
    });
  }

  tensor(name) {
    return this.inTurn(async () => (await this.client).tensor(name));
  }

  provenance(name, index) {
    return this.inTurn(async () => (await this.client).provenance(name, index));
  }

  tokenName(direction, id) {
    return this.tokenizers.get(direction)?.tokens([id])[0] ?? String(id);
  }
}
