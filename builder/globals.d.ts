// What scripts find on their pages, but import from no module.

// Written by Python.

/** What the explorer knows about the book; `explorer/bundle.py` writes it before the script. */
declare const BOOK: {
  models: Record<string, { size: string; examples: string[]; limits: { longest: number; least: number } }>;
  shape: {
    layers: number;
    heads: number;
    width: number;
    vocabulary: number;
    special: Record<"pad" | "bos" | "eos", number>;
  };
  kinds: Record<string, TensorKind>;
  full: number; // numbers of this size have full color in the picture, and larger ones, too
  least: number; // smaller attention weights are neither drawn nor said
  frame: Omit<FirstFrame, "frame"> & {
    sentence: string;
    step: number;
    layer: number;
    strips: Record<string, string>;
  };
  chapters: Record<number, { title: string; page: string }>;
};
type TensorKind = {
  title: string;
  words: string;
  symbols?: string;
  function: string;
  test: string;
  chapter: number;
  page: string;
};

// Between the explorer's scripts.

/** Returns what the modules of the engine export; `explorer/pack.py` joins them into it. */
declare function transformerEngine(): typeof import("./explorer/engine/worker.js");
declare const EngineClient: typeof import("./explorer/client.js").EngineClient;
type EngineClient = import("./explorer/client.js").EngineClient;
declare var receiveTransformer: (direction: string, file: string) => void;

// The index of the search, which `site/rendering/search.py` writes, and the stemmer that it takes from Sphinx.

declare const INDEX: {
  pages: [address: string, title: string, terms: string][];
  sections: [page: number, anchor: string, title: string, text: string, weight: number][];
};
declare const SEARCH: {
  STOP: Set<string>;
  readSections(keep?: (address: string, anchor: string) => boolean, between?: RegExp): Entry[];
  wordsOf(text: string): { stem: string; start: number; end: number }[];
  rank(
    query: string,
    sections: Entry[],
    options?: {
      same?: Map<string, string[]>;
      guesses?: boolean;
      share?: number;
      extra?: (place: number) => number;
    },
  ): Ranking;
  show(result: Entry, worth: Ranking["worth"], root?: string): HTMLElement;
};
type Entry = { address: string; anchor: string; title: string; text: string; weight: number };
type Ranking = { results: Entry[]; worth: (stems: string[]) => number };
declare const Stemmer: new () => { stemWord(word: string): string };

/** MathJax, whose scripts are loaded before ours while the book is built. It publishes no types. */
declare const MathJax: any;
