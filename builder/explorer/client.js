/** @typedef {{ config: Config, vocabulary: string[] }} Loaded */

// Receivers of the models' scripts, by direction.
/** @type {Map<string, (model: Packed) => void>} */
const receivers = new Map();
window.receiveTransformer = (direction, file) => {
  const receive = receivers.get(direction);
  receivers.delete(direction); // otherwise the model's text would stay in memory
  receive?.({ direction, file });
};

const REFUSED =
  "the browser refused to start a Web Worker, in which the model runs; allow scripts and workers for this page in its settings or extensions, or open the page in another browser";

// The page's side of the engine: starts the worker, loads a model when asked to, and answers with promises.
export class EngineClient {
  // `folder` is where this script and the models lie.
  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder;
    const source = `"use strict"; (${transformerEngine})().serve(self);`;
    try {
      this.worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    } catch (error) {
      throw new Error(`${REFUSED} (${/** @type {Error} */ (error).message})`, { cause: error });
    }
    /** @type {Set<(reason: Error) => void>} */
    this.waiting = new Set(); // what rejects the calls that have no answer yet
    /** @type {Map<string, Promise<Loaded>>} */
    this.models = new Map();
    this.failed = "";
    this.worker.onerror = ({ message }) => {
      this.failed = message ? `the engine stopped: ${message}` : REFUSED;
      for (const reject of this.waiting) reject(new Error(this.failed));
    };
  }

  // Loads the model of a direction, "en-de" or "de-en", once; `received` is called with the bytes so far.
  /** @type {(direction: string, received?: (bytes: number) => void) => Promise<Loaded>} */
  load(direction, received) {
    const known = this.models.get(direction);
    if (known) return known;
    const loading = fetchModel(this.folder, direction, received).then((model) => this.ask("load", model));
    loading.catch(() => this.models.delete(direction)); // the next call tries again
    this.models.set(direction, loading);
    return loading;
  }

  // Translates; `report` is called after each token with { tokens }. See worker.js for what it returns.
  /** @type {(options: Typed & Partial<Options>, report?: TokensReport) => Promise<Answer>} */
  async translate(options, report) {
    await this.load(options.direction);
    return this.ask("translate", options, report);
  }

  // A tensor of the last translation.
  /** @type {(name: string) => Promise<any>} */
  tensor(name) {
    return this.ask("tensor", { name });
  }

  // Where a number of such a tensor comes from.
  /** @type {(name: string, index: number[]) => Promise<Provenance>} */
  provenance(name, index) {
    return this.ask("provenance", { name, index });
  }

  // Each call has a channel of its own for its answer.
  /** @type {(call: string, argument: object, report?: TokensReport) => Promise<any>} */
  ask(call, argument, report) {
    const { port1: answers, port2 } = new MessageChannel();
    return new Promise((resolve, reject) => {
      if (this.failed) return reject(new Error(this.failed)); // while the model was loaded
      this.waiting.add(reject);
      answers.onmessage = ({ data: { partial, result, error } }) => {
        if (partial) return report?.(partial);
        this.waiting.delete(reject);
        answers.close();
        return error === undefined ? resolve(result) : reject(new Error(error));
      };
      this.worker.postMessage({ call, argument }, [port2]);
    });
  }
}

/** @type {(folder: string, direction: string, received?: (bytes: number) => void) => Promise<Packed>} */
async function fetchModel(folder, direction, received) {
  const { href, protocol } = new URL(`${folder}/${direction}.js`, document.baseURI);
  try {
    return await runScript(protocol === "file:" ? href : await readScript(href, received), direction);
  } catch (error) {
    throw new Error(`the model could not be loaded from ${href}; try again`, { cause: error });
  }
}

// Reads a script before it is run, since only so can a page tell how much of it has arrived; returns its new address.
/** @type {(address: string, received?: (bytes: number) => void) => Promise<string>} */
async function readScript(address, received = () => {}) {
  const { body } = await fetch(address);
  const reader = /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (body).getReader();
  const parts = [];
  let bytes = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    received((bytes += part.value.length));
  }
  return URL.createObjectURL(new Blob(parts, { type: "text/javascript" }));
}

// A page that is opened from a file can load scripts, but it cannot fetch. Each byte of a model's is a character.
/** @type {(address: string, direction: string) => Promise<Packed>} */
function runScript(address, direction) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    receivers.set(direction, resolve);
    script.charset = "x-user-defined";
    script.src = address;
    script.onerror = reject;
    script.onload = () => {
      script.remove();
      URL.revokeObjectURL(address);
      reject(); // the script held no model; no effect if it has resolved
    };
    document.head.append(script);
  });
}
