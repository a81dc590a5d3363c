// The engine as this page uses it. The engine remembers only its last translation, so all calls form one queue,
// and a tensor is asked for together with the translation that it belongs to.
import { h } from "./dom.js";

export class Session {
  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder;
    /** @type {Promise<unknown>} */
    this.queue = Promise.resolve();
    /** @type {Options | null} */
    this.held = null; // the options of the translation that the engine remembers
    /** @type {{ key: string, result: Answer } | null} */
    this.whole = null; // the last translation with all heads
    /** @type {Promise<unknown> | undefined} */
    this.script = undefined;
    /** @type {Set<string>} */
    this.loaded = new Set();
    /** @type {Map<string, string[]>} */
    this.vocabularies = new Map(); // the names of all tokens, for the columns of the logits
  }

  // Loads a model; `received` is called with the bytes that have arrived.
  /** @type {(direction: string, received?: (bytes: number) => void) => Promise<EngineClient>} */
  async load(direction, received) {
    const client = await this.engine();
    const { vocabulary } = await client.load(direction, received);
    this.vocabularies.set(direction, vocabulary);
    if (client === (await this.client)) this.loaded.add(direction);
    return client;
  }

  // The client of the engine. If it could not start or has stopped, the next call starts another.
  /** @type {() => Promise<EngineClient>} */
  engine() {
    if (!this.client) {
      const client = this.start();
      this.client = client;
      const forget = () => {
        if (this.client !== client) return;
        this.client = undefined;
        this.held = null;
        this.loaded.clear();
      };
      client.then(
        ({ worker }) => worker.addEventListener("error", () => (worker.terminate(), forget())),
        forget,
      );
    }
    return this.client;
  }

  /** @type {() => Promise<EngineClient>} */
  async start() {
    this.script ??= loadScript(`${this.folder}/engine.js`); // once: a second run would declare its classes again
    this.script.catch(() => (this.script = undefined));
    await this.script;
    return new EngineClient(this.folder);
  }

  /** @type {<T>(work: () => Promise<T>) => Promise<T>} */
  inTurn(work) {
    const done = this.queue.then(work);
    this.queue = done.catch(() => {});
    return done;
  }

  // The translation, and what it is compared with if heads are off. Null if it is no longer the latest that was asked
  // for when its turn comes.
  /** @type {(options: Options, report?: TokensReport, isLatest?: () => boolean) => Promise<Translation | null>} */
  translate(options, report, isLatest = () => true) {
    return this.inTurn(async () => {
      if (!isLatest()) return null;
      const client = await this.load(options.direction);
      this.held = null;
      const { ablated, ...others } = options;
      const key = JSON.stringify(others);
      if (ablated.length && this.whole?.key !== key)
        // it is cached, since it does not depend on which heads are off
        this.whole = { key, result: await client.translate(others) };
      const whole = (ablated.length && this.whole?.result) || null;
      const rescored = whole && (await client.translate({ ...options, prefix: whole.target.ids }));
      const result = await client.translate(options, report);
      this.held = options;
      return { ...result, direction: options.direction, options, whole, rescored };
    });
  }

  // Calls the engine's client once the engine remembers this translation.
  /** @type {<T>(translation: Translation, call: (client: EngineClient) => Promise<T>) => Promise<T>} */
  holding({ options }, call) {
    return this.inTurn(async () => {
      const client = await this.load(options.direction);
      if (this.held !== options) {
        this.held = null;
        await client.translate(options);
        this.held = options;
      }
      return call(client);
    });
  }

  /** @type {(translation: Translation, name: string) => Promise<Matrix | Matrix[]>} */
  tensor(translation, name) {
    return this.holding(translation, (client) => client.tensor(name));
  }

  /** @type {(translation: Translation, name: string, index: number[]) => Promise<Provenance>} */
  provenance(translation, name, index) {
    return this.holding(translation, (client) => client.provenance(name, index));
  }
}

/** @type {(address: string) => Promise<unknown>} */
function loadScript(address) {
  return new Promise((resolve, reject) => {
    const script = h("script", { src: address });
    script.onload = resolve;
    script.onerror = () => reject(new Error(`the engine could not be loaded from ${script.src}; try again`));
    document.head.append(script);
  });
}
