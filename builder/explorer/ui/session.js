// The engine as this page uses it. The engine remembers only its last translation, so all calls form one queue,
// and a tensor is asked for together with the translation that it belongs to.
import { h } from "./dom.js";
/** @import { Provenance } from "../engine/provenance.js" */
/** @import { Matrix } from "../engine/tensors.js" */
/** @import { Answer, Report, Request } from "../engine/worker.js" */

/** @typedef {Request & Required<Pick<Request, "prefix" | "ablated">>} Options */
/** @typedef {Answer & { options: Options, whole: Answer | null, kept: Answer | null }} Translation */
/** @typedef {Pick<Answer, "target" | "text" | "logProb" | "logProbs" | "top">} Outcome */
/**
 * What the page shows: a translation, or the first frame, which was computed when the book was built.
 * @typedef {Outcome & { source: { tokens: string[] }, attention: number[][], selfAttention: number[][],
 *   direction: string, frame: true, written?: undefined, tensors?: undefined }} FirstFrame
 */
/** @typedef {Translation & { direction: string, frame?: undefined }} Translated */
/** @typedef {FirstFrame | Translated} Result */

export class Session {
  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder;
    /** @type {Promise<unknown>} */
    this.queue = Promise.resolve();
    /** @type {Request | null} */
    this.held = null; // the options of the translation that the engine remembers
    /** @type {{ key: string, result: Answer } | null} */
    this.whole = null; // the last translation with all heads
    /** @type {Promise<unknown> | undefined} */
    this.scripts = undefined;
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
      const forget = () => this.client === client && this.forget();
      client.then(
        ({ worker }) => worker.addEventListener("error", () => (worker.terminate(), forget())),
        forget,
      );
    }
    return this.client;
  }

  forget() {
    this.client = undefined;
    this.held = null;
    this.loaded.clear();
  }

  /** @type {() => Promise<EngineClient>} */
  async start() {
    this.scripts ??= this.script("engine.js"); // once: a second run would declare its classes again
    this.scripts.catch(() => (this.scripts = undefined));
    await this.scripts;
    return new EngineClient(this.folder);
  }

  /** @type {(name: string) => Promise<unknown>} */
  script(name) {
    return new Promise((resolve, reject) => {
      const script = h("script", { src: `${this.folder}/${name}` });
      script.onload = resolve;
      script.onerror = () =>
        reject(new Error(`the engine could not be loaded from ${script.src}; try again`));
      document.head.append(script);
    });
  }

  /** @type {<T>(work: () => Promise<T>) => Promise<T>} */
  inTurn(work) {
    const done = this.queue.then(work);
    this.queue = done.catch(() => {});
    return done;
  }

  // The translation, and what it is compared with if heads are off: the one with all heads, and how likely that one
  // is without them. Null if the translation is no longer `wanted` when its turn comes.
  /** @type {(options: Options, report?: Report, wanted?: () => boolean) => Promise<Translation | null>} */
  translate(options, report, wanted = () => true) {
    return this.inTurn(async () => {
      if (!wanted()) return null;
      const client = await this.load(options.direction);
      this.held = null;
      let whole = null;
      let kept = null;
      if (options.ablated.length) {
        whole = await this.withAllHeads(client, options);
        kept = await client.translate({ ...options, prefix: whole.target.ids });
      }
      const result = await client.translate(options, report);
      this.held = options;
      return { ...result, options, whole, kept };
    });
  }

  // It does not depend on which heads are off, so it is cached.
  /** @type {(client: EngineClient, options: Options) => Promise<Answer>} */
  async withAllHeads(client, options) {
    const key = JSON.stringify([options.direction, options.text, options.prefix]);
    if (this.whole?.key !== key)
      this.whole = { key, result: await client.translate({ ...options, ablated: [] }) };
    return this.whole.result;
  }

  // The engine's client, once the engine remembers the translation with these options.
  /** @type {(options: Options) => Promise<EngineClient>} */
  async holding(options) {
    const client = await this.load(options.direction);
    if (this.held !== options) {
      this.held = null;
      await client.translate(options);
      this.held = options;
    }
    return client;
  }

  /** @type {(translation: { options: Options }, name: string) => Promise<Matrix | Matrix[]>} */
  tensor({ options }, name) {
    return this.inTurn(async () => (await this.holding(options)).tensor(name));
  }

  /** @type {(translation: { options: Options }, name: string, index: number[]) => Promise<Provenance>} */
  provenance({ options }, name, index) {
    return this.inTurn(async () => (await this.holding(options)).provenance(name, index));
  }

  /** @type {(direction: string, id: number) => string} */
  tokenName(direction, id) {
    return this.vocabularies.get(direction)?.[id] ?? String(id);
  }
}
