/* The field above the entries of a handbook, or above all symptoms. It ranks entries by the search (search.js), finds words that mean
   the same, and finds a message by its beginning, whatever lines surround it and whatever stands for "…" in a title. What is asked
   stays in the address. */
(() => {
  "use strict";
  const MOST = 12; // entries of all handbooks
  const RUN = 4; // words of a message that are found together
  const RUN_WEIGHT = 1.5; // compared with a word that is found
  const UNLIKE = 0.75; // the weight of a question if none is asked, and of a message if none is pasted
  const QUESTION = /^(?:are|can|do|does|how|is|may|must|should|what|when|where|which|why)\b|\?$/i;
  const MESSAGE = /error|warning|[:=()[\]]/i;
  const FILLERS = // words that say little
    /\b(?:a lot|always|any|anything|comes? out|everything|gets?|gives?|just|keeps?|looks?|much|really|so|something|still|suddenly|thing|too|very)\b/gi;
  const LAST = 60; // words of a long paste that are also looked for singly
  const GAP = 12; // words that "…" stands for at most
  // What means the same here; in a question, `ROW` with the number of a row stands for a phrase of it.
  const ROW = "row";
  const SAME = [
    "decrease, fall, drop, decline, sink, shrink, lower, go down, come down",
    "increase, rise, grow, climb, jump, go up, worsen",
    "stuck, plateau, stagnate, constant, flat, stay, stop improving, not go down, not decrease, not fall, not drop, not improve, not learn, not converge, no longer fall",
    "missing, lack, leave out, left out, lost, drop out",
    "remove, prune, switch off, switched off, turn off",
    "float16, fp16, half, amp, mixed precision",
    "bfloat16, bf16",
    "validation, val, dev",
    "long, longer, length",
    "eos, end",
    "nan, inf, infinite, infinity, not a number",
    "explode, diverge, huge, overflow, blow up",
    "vanish, zero, 0, none, disappear",
    "slow, slower, fast, faster, time, speed, utilization, idle, take long, take forever, not fully used",
    "memory, oom, ram, vram",
    "garbage, nonsense, gibberish, rubbish, wrong words, not work, work badly",
    "repeat, repetition, loop, over and over, again and again",
    "short, shorter, truncate, cut off, early, stop early",
    "endless, never stop, never end, not stop, not end, run on, limit, max_length",
    "same, identical, equal, uniform, alike, all the same",
    "future, cheat, leak, look ahead, peek",
    "output, write, produce, predict, result, logits",
    "resume, restart, continue, interrupt",
    "load, restore, reload",
    "random, seed, reproducible, nondeterministic, every run, every time, two runs",
    "inference, generation, generate, decode, test time, evaluation",
    "overfit, memorize, by heart",
    "unk, unknown, out of vocabulary",
    "gpu, cuda",
    "lr, learning rate, step size",
    "data, dataset, corpus, data set, pairs, examples",
    "small, few, little, tiny",
    "ignore, no effect, do nothing, does nothing, make no difference, not matter",
    "wrong, incorrect, bad, worse, poor, lower",
    "low, lower, below",
    "attention, attend, attentive, attn",
    "explain, explanation, interpret",
    "differ, different, difference, change, depend, other, wrong",
    "need, necessary, require",
    "crash, killed, abort, fail, die",
    "hang, freeze, wait, deadlock",
    "parameter, weight, param",
    "dimension, dim, axis",
    "norm, normalization, layernorm",
    "tokenizer, tokenization, bpe, segmentation",
    "ddp, distributed, several gpus, multiple gpus, multi gpu, two gpus",
    "average, mean",
    "finetune, finetuning, fine tune",
    "number, count, many",
    "begin, beginning, start, first",
    "perfect, 100, suspicious, good, high",
  ].map((row) => row.split(", "));

  const bar = document.querySelector(".at-filter");
  const [field, count] = [bar?.querySelector("input"), bar?.querySelector("output")];
  if (!(bar instanceof HTMLElement) || !field || !count) return;
  const root = document.documentElement.dataset.content_root ?? "";
  const folds = document.querySelectorAll(".at-asked");
  const parts = Array.from(document.querySelectorAll("article section section"));
  const list = Object.assign(document.createElement("ul"), { className: "at-entries" });
  if (!folds.length) bar.after(list);

  /** @type {(address: string) => Promise<void>} */
  const load = (address) =>
    new Promise((done) => {
      const script = Object.assign(document.createElement("script"), { src: root + address });
      script.addEventListener("load", () => done());
      document.head.append(script);
    });

  // A message: its words, in which all numbers are the same one, and "…".
  /** @type {(text: string) => string[]} */
  const tokensOf = (text) =>
    text
      .toLowerCase()
      .replace(/\S*…\S*/g, " … ")
      .replace(/\d+/g, "0")
      .match(/…|[\p{L}\p{N}_]+(?:['’]\p{L}{1,2}(?!\p{L}))?/gu) ?? [];

  const bare = (/** @type {string} */ address) => address.replace(/\.html$/, "");
  const read = () => {
    const sections = SEARCH.readSections(
      (address, anchor) =>
        anchor.startsWith("asked-") &&
        (folds.length ? bare(location.pathname).endsWith(bare(address)) : address.startsWith("handbook/")),
      /_/g, // attn_mask is a mask
    );
    const tokens = sections.map(({ title, text }) => [tokensOf(title), tokensOf(text)]);
    /** @type {Map<string, number>} */
    const having = new Map();
    for (const one of tokens)
      for (const token of new Set(one.flat())) having.set(token, (having.get(token) ?? 0) + 1);
    /** @type {(token: string) => number} */
    const rarity = (token) =>
      SEARCH.STOP.has(token) ? 0 : Math.log(1 + sections.length / (having.get(token) ?? 1));
    /** @type {Map<string, string>} */
    const kindOf = new Map(); // of symptoms; a question has none
    for (const link of document.querySelectorAll("article section section li a"))
      if (link instanceof HTMLAnchorElement) kindOf.set(link.href, link.closest("section")?.id ?? "");
    for (const fold of document.querySelectorAll("#symptoms .at-asked"))
      kindOf.set(new URL(`#${fold.id}`, location.href).href, fold.closest("section")?.id ?? "");
    const kinds = sections.map(({ address, anchor }) => {
      const there = folds.length ? location.href : new URL(root + address, location.href);
      return kindOf.get(new URL(`#${anchor}`, there).href) ?? "";
    });
    return { sections, kinds, tokens, rarity };
  };
  /** @type {ReturnType<typeof read> | undefined} */
  let entries;

  /** How much the longest run of words is worth that a text of the book has together with what is asked.
   * @type {(text: string[], places: Map<string, number[]>, rarity: (token: string) => number) => number} */
  const longestRun = (text, places, rarity) => {
    /** @type {Map<number, [words: number, worth: number]>[]} where in the question the word of the text at this place ends a run */
    const runs = [];
    let best = 0;
    text.forEach((token, i) => {
      runs[i] = new Map();
      const [before, gap] = text[i - 1] === "…" ? [runs[i - 2], GAP] : [runs[i - 1], 0];
      for (const place of places.get(token) ?? []) {
        let [words, worth] = [0, 0];
        for (let back = 1; back <= gap + 1 && before; back++) {
          const run = before.get(place - back);
          if (run && run[1] > worth && (back === 1 || run[0] > 1)) [words, worth] = run;
        }
        const counts = rarity(token) > 0 ? 1 : 0;
        runs[i].set(place, [words + counts, worth + rarity(token)]);
        if (words + counts >= RUN) best = Math.max(best, worth + rarity(token));
      }
    });
    return best;
  };

  /** The question with one word for each phrase of `SAME`, and what else a text may write for its words.
   * @type {(asked: string) => [query: string, same: Map<string, string[]>]} */
  const widen = (asked) => {
    let query = asked
      .split(/\s+/)
      .slice(-LAST)
      .join(" ")
      .replace(/n['’]t\b/g, " not")
      .replace(/\bcannot\b/g, "can not")
      .replace(/_/g, " ")
      .replace(FILLERS, "");
    /** @type {(text: string) => string[]} */
    const stemsOf = (text) => SEARCH.wordsOf(text).map(({ stem }) => stem);
    const rows = SAME.map((row) => row.map(stemsOf));
    const phrases = rows.flatMap((row, i) => row.map((phrase) => ({ phrase, i })));
    phrases.sort((one, other) => other.phrase.length - one.phrase.length); // "not go down" before "go down"
    for (const { phrase, i } of phrases.filter(({ phrase }) => phrase.length > 1)) {
      const words = SEARCH.wordsOf(query);
      const at = words.findIndex((_, start) => phrase.every((stem, k) => words[start + k]?.stem === stem));
      if (at >= 0)
        query = `${query.slice(0, words[at].start)}${ROW}${i}${query.slice(words[at + phrase.length - 1].end)}`;
    }
    /** @type {Map<string, string[]>} */
    const same = new Map();
    for (const stem of new Set(stemsOf(query)))
      for (const row of rows.filter((row, i) => [`${ROW}${i}`, ...row.map(String)].includes(stem))) {
        const forms = row.filter((phrase) => phrase.length <= 2).map((phrase) => phrase.join(""));
        same.set(stem, [...(same.get(stem) ?? []), ...forms.filter((form) => form !== stem)]);
      }
    return [query, same];
  };

  /** @type {(asked: string) => ReturnType<typeof SEARCH.rank>} */
  const find = (asked) => {
    entries ??= read();
    const { sections, kinds, tokens, rarity } = entries;
    /** @type {Map<string, number[]>} */
    const places = new Map();
    tokensOf(asked).forEach((token, place) => places.set(token, [...(places.get(token) ?? []), place]));
    const [query, same] = widen(asked);
    const extra = (/** @type {number} */ place) =>
      RUN_WEIGHT * Math.max(...tokens[place].map((text) => longestRun(text, places, rarity)));
    const [isQuestion, isMessage] = [QUESTION, MESSAGE].map((pattern) => pattern.test(asked));
    const unlike = (/** @type {string} */ kind) => (kind ? kind === "a-message" && !isMessage : !isQuestion);
    const weighted = sections.map((one, i) =>
      unlike(kinds[i]) ? { ...one, weight: UNLIKE * one.weight } : one,
    );
    return SEARCH.rank(query, weighted, { same, guesses: true, share: 0.4, extra });
  };

  const filter = () => {
    const asked = field.value.trim();
    const { results, worth } = asked ? find(asked) : { results: [], worth: () => 0 };
    const found = new Set(results.map(({ anchor }) => anchor));
    for (const fold of folds) fold.toggleAttribute("hidden", found.size > 0 && !found.has(fold.id));
    list.replaceChildren(
      ...(folds.length ? [] : results.slice(0, MOST)).map((one) => SEARCH.show(one, worth, root)),
    );
    for (const part of parts)
      part.toggleAttribute("hidden", found.size > 0 && !part.querySelector(".at-asked:not([hidden])"));
    const shown = folds.length ? `${found.size} of ${folds.length}` : `the ${list.childElementCount} nearest`;
    count.textContent = asked && (found.size > 0 ? shown : "no entry has such words: here are all");
  };

  /** @type {Promise<void> | undefined} */
  let loaded; // the index, when the field is used for the first time
  const ask = async () => {
    loaded ??= load("searchindex.js").then(() => load("_static/search.js"));
    await loaded;
    filter();
  };
  bar.hidden = false;
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  field.addEventListener("focus", ask, { once: true });
  field.addEventListener("input", () => {
    const address = new URL(location.href);
    if (field.value) address.searchParams.set("q", field.value);
    else address.searchParams.delete("q");
    history.replaceState(history.state, "", address);
    ask();
  });
  if (field.value) ask();
})();
