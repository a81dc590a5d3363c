// Translation of sentences: annotated_transformer/decoding/translator.py, and what it observes.
import { setAside } from "./cleaning.js";
import { logSoftmax, readSafetensors, softmax, sum, topk } from "./tensors.js";
import { Tokenizer } from "./tokenizer.js";
import { Transformer } from "./transformer.js";

const LIKELIEST = 5; // tokens of a step

export class Translator {
  /** @param {ArrayBuffer} file  a safetensors file with configuration and tokenizer */
  constructor(file) {
    const { metadata, tensors } = readSafetensors(file);
    this.model = new Transformer(JSON.parse(metadata.config), tensors);
    this.tokenizer = new Tokenizer(JSON.parse(metadata.tokenizer));
  }

  // The ids of a text, or an error with Python's message about why it cannot be translated.
  /** @type {(text: string) => number[]} */
  encode(text) {
    const start = pythonRepr([...text].slice(0, 40).join(""));
    if (/\p{Cs}/u.test(text)) {
      throw new Error(
        `text 1 of 1 is not valid Unicode: it has half of a surrogate pair (${start}); decode it as UTF-8`,
      );
    }
    const [control] = this.tokenizer.normalize(text).match(/[\x00-\x1f\x7f-\x9f]/) ?? [];
    if (control) {
      const code = control.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
      const place = [...text].indexOf(control) + 1;
      throw new Error(
        `text 1 of 1 has the control character U+${code}, character ${place} of ${start}; remove it`,
      );
    }
    const [, sentence] = this.setAside(text);
    const ids = this.tokenizer.encodeSource(sentence);
    const { max_length } = this.model.config;
    if (ids.length === 1) {
      throw new Error(`text 1 of 1 has nothing to translate (${start}); leave it out`);
    }
    if (ids.length > max_length) {
      throw new Error(
        `text 1 of 1 (${start}…) has ${ids.length} tokens with EOS, and this model has ` +
          `positions for ${max_length}; split it into shorter sentences`,
      );
    }
    return ids;
  }

  /** @type {(text: string) => [before: string, sentence: string, after: string]} */
  setAside(text) {
    return setAside(text, this.tokenizer.variants);
  }

  // One pass over a whole target: log-probabilities, the likeliest tokens of each step, and every tensor.
  /** @param {number[]} src @param {number[]} target */
  observe(src, target) {
    /** @type {Map<string, any>} */
    const tensors = new Map(); // a number, list or list of lists for each token: the name says which
    this.model.watch = (name, value) => tensors.set(name, value);
    try {
      const memory = this.model.encode(src);
      const read = [this.model.config.bos_id, ...target.slice(0, -1)];
      const hidden = this.model.decode(read, memory);
      const logits = this.model.logits(hidden);
      const probabilities = logits.map(softmax);
      tensors.set("probabilities", probabilities);
      const logProbs = logits.map((row, step) => logSoftmax(row)[target[step]]);
      const top = logits.map((row, step) =>
        topk(row, LIKELIEST).map((id) => ({
          id,
          token: this.tokenizer.tokens([id])[0],
          probability: probabilities[step][id],
        })),
      );
      return { ids: { encoder: src, decoder: read }, tensors, logProbs, logProb: sum(logProbs), top };
    } finally {
      this.model.watch = null;
    }
  }
}

// A text as Python's repr shows it.
/** @type {(text: string) => string} */
function pythonRepr(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  /** @type {Record<string, string>} */
  const escapes = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", [quote]: `\\${quote}` };
  /** @type {(code: number) => string} */
  const hexadecimal = (code) => {
    const digits = code.toString(16);
    if (code < 0x100) return `\\x${digits.padStart(2, "0")}`;
    return code < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
  };
  const characters = Array.from(text, (character) => {
    if (escapes[character]) return escapes[character];
    return character !== " " && /[\p{C}\p{Z}]/u.test(character)
      ? hexadecimal(/** @type {number} */ (character.codePointAt(0)))
      : character;
  });
  return quote + characters.join("") + quote;
}
