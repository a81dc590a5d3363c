// Byte-pair encoding shared by both languages: annotated_transformer/text/tokenizer.py.
// It reads the files of the tokenizers library, and computes the same ids.

// GPT-2's words: letters, digits or other signs, each with the space before them.
const WORDS = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^ \p{L}\p{N}]+| +(?! )| +/gu;

/** @typedef {{ type: string, pattern: { Regex: string }, content: string }} Step  of the normalization */
/**
 * The settings of tokenizer.json that the engine reads.
 * @typedef {object} TokenizerFile
 * @property {{ vocab: Record<string, number>, merges: [string, string][] }} model
 * @property {{ normalizers: Step[] }} normalizer
 * @property {{ id: number, content: string }[]} added_tokens
 */

export class Tokenizer {
  /** @param {TokenizerFile} json */
  constructor(json) {
    const { model, normalizer } = json;
    const variants = normalizer.normalizers.filter(({ pattern }) => /^\[[^\]]+\]$/.test(pattern?.Regex));
    this.variants = new Map(
      variants.flatMap(({ pattern, content }) =>
        Array.from(pattern.Regex.slice(1, -1), (variant) => [variant, content]),
      ),
    );
    this.steps = normalizer.normalizers.map(stepOf);
    this.ids = new Map(Object.entries(model.vocab));
    /** @type {string[]} */
    this.vocabulary = [];
    for (const [token, id] of this.ids) this.vocabulary[id] = token;
    this.ranks = new Map(model.merges.map(([left, right], rank) => [`${left} ${right}`, rank]));
    this.special = new Set(json.added_tokens.map(({ id }) => id));
    this.characters = byteCharacters();
    this.bytes = new Map(this.characters.map((character, byte) => [character, byte]));
    const [eos] = json.added_tokens.filter(({ content }) => content === "<eos>");
    this.eosId = eos.id;
  }

  /** @type {(text: string) => string} */
  normalize(text) {
    return this.steps.reduce((changed, step) => step(changed), text);
  }

  // The ids of a text with EOS, which the encoder reads.
  /** @type {(text: string) => number[]} */
  encodeSource(text) {
    const normalized = this.normalize(text);
    const words = (normalized ? ` ${normalized}` : "").match(WORDS) ?? [];
    return [...words.flatMap((word) => this.encodeWord(word)), this.eosId];
  }

  // Merges the leftmost pair of the lowest rank until no pair can be merged.
  /** @type {(word: string) => number[]} */
  encodeWord(word) {
    const parts = Array.from(new TextEncoder().encode(word), (byte) => this.characters[byte]);
    for (;;) {
      let [place, lowest] = [0, Infinity];
      for (let i = 0; i + 1 < parts.length; i++) {
        const rank = this.ranks.get(`${parts[i]} ${parts[i + 1]}`) ?? Infinity;
        if (rank < lowest) [place, lowest] = [i, rank];
      }
      if (lowest === Infinity) return parts.map((part) => /** @type {number} */ (this.ids.get(part)));
      parts.splice(place, 2, parts[place] + parts[place + 1]);
    }
  }

  /** @type {(ids: number[]) => string} */
  decode(ids) {
    const text = this.show(ids.filter((id) => !this.special.has(id)));
    return text.startsWith(" ") ? text.slice(1) : text;
  }

  // The text of each id; a part of a character is shown as U+FFFD.
  /** @type {(ids: number[]) => string[]} */
  tokens(ids) {
    return ids.map((id) => (this.special.has(id) ? this.vocabulary[id] : this.show([id])));
  }

  /** @type {(ids: number[]) => string} */
  show(ids) {
    const bytes = ids.flatMap((id) =>
      Array.from(this.vocabulary[id], (character) => this.bytes.get(character)),
    );
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
  }
}

// A step of the normalization, as the file describes it.
/** @type {(step: Step) => (text: string) => string} */
function stepOf({ type, pattern, content }) {
  if (type === "NFC") return (text) => text.normalize();
  if (type === "Strip") return (text) => text.trim();
  const expression = new RegExp(pattern.Regex, "gu");
  return (text) => text.replaceAll(expression, () => content);
}

// GPT-2's alphabet: a printable character for each of the 256 bytes.
/** @type {() => string[]} */
function byteCharacters() {
  /** @type {(byte: number) => boolean} */
  const printable = (byte) =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++));
}
