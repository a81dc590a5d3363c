// Receivers of the models' scripts, by direction.
const receivers = new Map();
window.receiveTransformer = (model) => {
  const receive = receivers.get(model.direction);
  receivers.delete(model.direction); // otherwise the model's text would stay in memory
  receive(model);
};

// The page's side of the engine: starts the worker, loads a model when asked to, and answers with promises.
class EngineClient {
  // `folder` is where this script and the models lie.
  constructor(folder) {
    this.folder = folder;
    const source = `"use strict"; (${transformerEngine})().serve(self);`;
    this.worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    this.waiting = new Map();
    this.models = new Map();
    this.worker.onmessage = ({ data }) => this.answer(data);
    this.worker.onerror = ({ message }) =>
      this.fail(`the engine stopped: ${message ?? "it could not start"}`);
  }

  // Loads the model of a direction, "en-de" or "de-en", once.
  load(direction) {
    if (!this.models.has(direction)) {
      const loading = fetchModel(this.folder, direction).then((model) => this.ask("load", model));
      loading.catch(() => this.models.delete(direction)); // the next call tries again
      this.models.set(direction, loading);
    }
    return this.models.get(direction);
  }

  // Translates; `report` is called after each token with { tokens }. See worker.js for what it returns.
  async translate(options, report) {
    await this.load(options.direction);
    return this.ask("translate", options, report);
  }

  // A tensor of the last translation, by its name.
  tensor(name) {
    return this.ask("tensor", { name });
  }

  // Where a number of such a tensor comes from.
  provenance(name, index) {
    return this.ask("provenance", { name, index });
  }

  ask(call, argument, report) {
    const id = (this.lastId = (this.lastId ?? 0) + 1);
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, report });
      this.worker.postMessage({ id, call, argument });
    });
  }

  answer({ id, partial, result, error }) {
    const { resolve, reject, report } = this.waiting.get(id) ?? {};
    if (!resolve) return; // already rejected
    if (partial) return report?.(partial);
    this.waiting.delete(id);
    return error === undefined ? resolve(result) : reject(new Error(error));
  }

  // No more answers will come, so all pending promises are rejected.
  fail(reason) {
    for (const { reject } of this.waiting.values()) reject(new Error(reason));
    this.waiting.clear();
  }
}

// A page that is opened from a file can load scripts, but it cannot fetch.
function fetchModel(folder, direction) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    receivers.set(direction, resolve);
    script.src = `${folder}/${direction}.js`;
    script.onerror = () => reject(new Error(`the model could not be loaded from ${script.src}; try again`));
    script.onload = () => {
      script.remove();
      reject(new Error(`${script.src} holds no model; try again`)); // no effect if it has resolved
    };
    document.head.append(script);
  });
}
