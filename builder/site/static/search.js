/* Search: ranks the book's sections by BM25, and quotes each where it has most of the words that were asked for.
   The field above the entries of a handbook (entries.js) uses its functions. */
const SEARCH = (() => {
  "use strict";
  const MOST = 40; // results
  const LEAST = 0.2; // of the best score
  const QUOTED = 240; // characters
  const TITLE = 4; // a word of a title counts like so many of a text
  const [PAIR, TITLE_PAIR] = [0.6, 0.9]; // what two words gain side by side
  const OTHER = 0.6; // what a word counts that means the same
  const INTRODUCES = 1.5; // of the beginning of the chapter that introduces what is asked for
  const NAMED = 1.6; // the weight of a section of exactly this name
  const [K, LONG, LONG_TITLE] = [1.2, 0.6, 0.4]; // BM25's k, and its b for texts and for titles
  const STOP = new Set(
    (
      "a about am an and are as at be been but by can could did do does for from get had has have how i if in into " +
      "is it its me my no not of on or our should so such than that the their them then there these they this to us " +
      "use versus vs was we were what when where which who why will with would you your"
    ).split(" "),
  );

  /** @typedef {{ stem: string, start: number, end: number, place: number, other?: boolean }} Word; an `other` one means the same */
  const stemmer = new Stemmer();
  const stems = new Map(["√", "sqrt", "square root", "square roots"].map((root) => [root, "√"]));
  /** @type {(text: string) => Word[]} */
  const wordsOf = (text) =>
    Array.from(
      text.matchAll(/square roots?(?!\p{L})|√|[\p{L}\p{M}\p{N}_]+/giu),
      ({ 0: match, index }, place) => {
        const word = match.toLowerCase();
        const stem = stems.get(word) ?? stemmer.stemWord(word);
        stems.set(word, stem);
        return { stem, start: index, end: index + match.length, place: 2 * place };
      },
    );
  /** @type {(numbers: number[]) => number} */
  const total = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

  /** @typedef {{ address: string, anchor: string, where: string, title: string, text: string, weight: number, introduced: string[], head: Word[], body: Word[] }} Section */
  /** Reads the sections to keep; what is `between` words divides them like a space.
   * @type {(keep?: (address: string, anchor: string) => boolean, between?: RegExp) => Section[]} */
  const readSections = (keep = () => true, between = /(?!)/g) =>
    INDEX.sections.flatMap(([page, anchor, title, text, weight], number) => {
      const [address, where, terms] = INDEX.pages[page];
      if (!keep(address, anchor)) return [];
      const isFirst = INDEX.sections[number - 1]?.[0] !== page; // the terms of a chapter lead to its beginning
      const head = wordsOf((isFirst ? `${title} ${terms}` : title).replace(between, " "));
      const each = isFirst ? terms.split(" · ") : [];
      const introduced = each.map((term) =>
        wordsOf(term)
          .map(({ stem }) => stem)
          .join(" "),
      );
      const body = wordsOf(text.replace(between, " "));
      return [{ address, anchor, where, title, text, weight, introduced, head, body }];
    });

  /** How alike two words are: the share of the pairs of letters that both have.
   * @type {(one: string, other: string) => number} */
  const likeness = (one, other) => {
    const [pairs, others] = [one, other].map((word) =>
      Array.from(`${word} `, (letter, i) => (word[i - 1] ?? " ") + letter),
    );
    return (2 * pairs.filter((pair) => others.includes(pair)).length) / (pairs.length + others.length);
  };

  /** Returns a function that finds the words of a query among others, also by forms that mean the same, and, if `guesses`,
   * for a word that no text has, the most similar one.
   * @type {(asked: string[], known: Set<string>, same: Map<string, string[]>, guesses: boolean) => (words: Word[]) => Word[]} */
  const finder = (asked, known, same, guesses) => {
    /** @type {Map<string, string[]>} */
    const spelled = new Map(); // what a text may write for which words
    const others = new Set();
    asked.slice(1).forEach((stem, i) => spelled.set(asked[i] + stem, [asked[i], stem])); // LayerNorm
    asked.forEach((stem) => {
      const begun = known.has(stem) ? [] : Array.from(known).filter((other) => other.startsWith(stem));
      [stem, ...begun].forEach((form) => spelled.set(form, [stem]));
      const alike = same.get(stem) ?? [];
      if (guesses && !known.has(stem) && !begun.length && !alike.length) {
        const nearest = Array.from(known).reduce(
          (a, b) => (likeness(stem, b) > likeness(stem, a) ? b : a),
          "",
        );
        if (asked.length === 1 || likeness(stem, nearest) > 0.6) alike.push(nearest);
      }
      for (const form of alike.filter((form) => !spelled.has(form) && !asked.includes(form))) {
        spelled.set(form, [stem]);
        others.add(form);
      }
    });
    return (words) =>
      words.flatMap((word, i) => {
        const { stem, place } = word;
        const next = words[i + 1] ?? { stem: "", end: word.end };
        const [joined, more] = spelled.get(stem + next.stem) ?? [];
        if (joined && !more && !spelled.has(stem))
          return { ...word, stem: joined, end: next.end, other: others.has(stem + next.stem) }; // warm-up
        const other = others.has(stem);
        return (spelled.get(stem) ?? []).map((form, part) => ({
          ...word,
          stem: form,
          place: place + part,
          other,
        }));
      });
  };

  /** @type {(hits: Word[], first: string, second: string) => boolean} */
  const hasPair = (hits, first, second) =>
    hits.some(({ stem, place }, i) => {
      const next = hits[i + 1];
      return stem === first && next?.stem === second && next.place - place <= 2;
    });

  /** @typedef {Section & { score: number }} Result */
  /** Ranks sections; `same` has other forms for stems, `guesses` stands in for words that no text has, `share` is what a text counts
   * of what it counts in a search, and `extra` adds to a section's score.
   * @type {(query: string, sections: Section[], options?: { same?: Map<string, string[]>, guesses?: boolean, share?: number, extra?: (place: number) => number }) => { results: Result[], worth: (stems: string[]) => number }} */
  const rank = (query, sections, { same = new Map(), guesses = false, share = 1, extra = () => 0 } = {}) => {
    const meanTitle = total(sections.map(({ title }) => title.length)) / sections.length;
    const meanText = total(sections.map(({ text }) => text.length)) / sections.length;
    const known = new Set(sections.flatMap(({ head, body }) => [...head, ...body].map(({ stem }) => stem)));
    const words = wordsOf(query);
    const asked = words.map(({ stem }) => stem);
    const telling = words.filter(({ start, end }) => !STOP.has(query.slice(start, end).toLowerCase()));
    const terms = Array.from(new Set((telling.length > 0 ? telling : words).map(({ stem }) => stem)));
    const find = finder(asked, known, same, guesses);
    const matched = sections.map((part) => ({ ...part, head: find(part.head), body: find(part.body) }));
    const rarity = new Map(
      asked.map((stem) => {
        const having = (/** @type {boolean} */ other) =>
          matched.filter((part) =>
            [...part.head, ...part.body].some((hit) => hit.stem === stem && !!hit.other === other),
          ).length;
        const count = having(false) || having(true);
        return [stem, Math.log(1 + (matched.length - count + 0.5) / (count + 0.5))];
      }),
    );
    /** @type {(stems: string[]) => number} */
    const worth = (stems) => total(stems.map((stem) => rarity.get(stem) ?? 0));
    const results = matched.map(({ head, body, ...section }, place) => {
      const { title, text, introduced } = section;
      const often = Object.fromEntries(terms.map((stem) => [stem, 0]));
      const inTitle = TITLE / (1 - LONG_TITLE + (LONG_TITLE * title.length) / meanTitle);
      const inText = share / (1 - LONG + (LONG * text.length) / meanText);
      head.forEach(({ stem, other }) => (often[stem] += other ? OTHER * inTitle : inTitle));
      body.forEach(({ stem, other }) => (often[stem] += other ? OTHER * inText : inText));
      const has = terms.filter((stem) => often[stem] > 0);
      const single = total(has.map((stem) => (worth([stem]) * often[stem] * (K + 1)) / (often[stem] + K)));
      const pairs = asked.slice(1).map((stem, i) => {
        if (![asked[i], stem].some((one) => terms.includes(one))) return 0; // "what is"
        const gain = hasPair(head, asked[i], stem) ? TITLE_PAIR : hasPair(body, asked[i], stem) ? PAIR : 0;
        return gain * worth([asked[i], stem]);
      });
      const introduces = introduced.includes(terms.join(" ")) ? INTRODUCES : 1;
      const exact = title.toLowerCase() === query.toLowerCase();
      const weight = exact ? NAMED : introduces * section.weight;
      const named = terms.filter((stem) => head.some((hit) => hit.stem === stem));
      const covered = (share * worth(has) + (1 - share) * worth(named)) / worth(terms);
      const score = weight * (single + total(pairs)) * covered;
      const marked = (/** @type {Word[]} */ hits) => hits.filter(({ stem }) => terms.includes(stem));
      const sum = (has.length > 0 ? score : 0) + extra(place);
      return { ...section, head: marked(head), body: marked(body), score: sum };
    });
    results.sort((one, other) => other.score - one.score);
    const least = LEAST * (results[0]?.score ?? 0);
    return { results: results.filter(({ score }) => score > 0 && score >= least), worth };
  };

  /** Returns where to quote a text: near as many of the words as possible, and from the start of a sentence if one is near.
   * @type {(text: string, hits: Word[], worth: (stems: string[]) => number) => [start: number, end: number]} */
  const passage = (text, hits, worth) => {
    let [best, first] = [0, 0];
    hits.forEach(({ start }, i) => {
      const near = hits.slice(i).filter(({ end }) => end <= start + QUOTED * 0.7);
      const value = worth(Array.from(new Set(near.map(({ stem }) => stem)))) + near.length / 100;
      if (value > best) [best, first] = [value, start];
    });
    const from = Math.max(0, first - QUOTED * 0.3);
    const lead = text.slice(from, first);
    const sentence = Math.max(...[". ", "? ", ": "].map((end) => lead.lastIndexOf(end) + 2));
    const start = from === 0 ? 0 : Math.floor(from) + (sentence > 1 ? sentence : lead.indexOf(" ") + 1);
    return [start, start + QUOTED < text.length ? text.lastIndexOf(" ", start + QUOTED) : text.length];
  };

  /** Appends a text, or a part of it, to an element, with its hits marked.
   * @type {(element: HTMLElement, text: string, hits: Word[], start?: number, end?: number) => void} */
  const write = (element, text, hits, start = 0, end = text.length) => {
    let done = start;
    for (const hit of hits) {
      if (hit.start < done || hit.end > end) continue;
      const mark = document.createElement("mark");
      mark.textContent = text.slice(hit.start, hit.end);
      element.append(text.slice(done, hit.start), mark);
      done = hit.end;
    }
    element.append(text.slice(done, end));
  };

  /** @type {(className: string, text: string) => HTMLElement} */
  const paragraph = (className, text) =>
    Object.assign(document.createElement("p"), { className, textContent: text });

  /** @type {(result: Result, worth: (stems: string[]) => number, root?: string) => HTMLElement} */
  const show = ({ address, anchor, where, title, text, head, body }, worth, root = "") => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    write(link, title, head);
    const [start, end] = passage(text, body, worth);
    const quote = paragraph("context", start > 0 ? "… " : "");
    write(quote, text, body, start, end);
    quote.append(end < text.length ? " …" : "");
    item.append(link, paragraph("at-where", where), quote);
    const words = [
      ...head.map((hit) => title.slice(hit.start, hit.end)),
      ...body.map((hit) => text.slice(hit.start, hit.end)),
    ];
    const marked = new Set(words.map((word) => word.toLowerCase()).filter((word) => /\p{L}/u.test(word)));
    const marks = new URLSearchParams({ highlight: Array.from(marked).join("|") }); // book.js marks them there
    link.href = `${root}${address}${marked.size > 0 ? `?${marks}` : ""}#${anchor}`;
    return item;
  };

  const page = document.getElementById("search-results");
  const query = page ? (new URLSearchParams(location.search).get("q")?.trim() ?? "") : "";
  if (page && query) {
    const fields = /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll('input[name="q"]'));
    fields.forEach((field) => (field.value = query));
    const status = paragraph("search-summary", "Searching …");
    status.role = "status"; // a screen reader says how many there are
    page.append(status);
    setTimeout(() => {
      const { results, worth } = rank(query, readSections());
      const list = Object.assign(document.createElement("ul"), { className: "search" });
      list.append(...results.slice(0, MOST).map((result) => show(result, worth)));
      page.append(list);
      const count = results.length === 1 ? "1 section" : `${results.length} sections`;
      const summary =
        results.length > MOST ? `The ${MOST} best of ${count}.` : `Found ${count}, the best one first.`;
      status.textContent =
        results.length > 0 ? summary : "No section has these words. Check their spelling, or try others.";
    }, 0);
  }
  return { STOP, readSections, wordsOf, rank, show };
})();
