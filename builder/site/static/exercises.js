/* The fields of exercises whose answers are values. What is right, and what mistakes give, comes with the page from the checks
   of the notebooks (answers.py). What a reader writes stays in the browser. */
(() => {
  "use strict";
  /** @typedef {string | number | boolean | (number | boolean)[] | (number | boolean)[][]} Value */
  /** @typedef {{ name: string, kind: string, value: Value, tolerance: number, clue: string, mistakes: [Value, string][], choices: string[] }} Field */
  /** @typedef {{ of: number, exercises: Record<string, { given: string[], right: boolean }> }} Chapter */

  // 1. What a text says. A comma may stand for a point, divide thousands, or stand between two numbers: a text may have several
  //    readings, and is right if one of them is.
  /** @type {Record<string, number>} */
  const TRUTHS = { true: 1, t: 1, yes: 1, false: 0, f: 0, no: 0 };
  const NUMBER = /^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/;
  const THOUSANDS = /^[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/;
  const TOKEN = /(?:\d|\.\d)[\d.,_]*(?:e[+-]?\d+)?|\p{L}+|\*\*|\S/gu;
  /** @type {(word: string, reading: number) => number} */
  const number = (word, reading) => {
    const bare = word.replaceAll("_", "");
    const texts = [bare.replace(",", "."), THOUSANDS.test(bare) ? bare.replaceAll(",", "") : ""];
    const numbers = texts.filter((text) => NUMBER.test(text)).map(Number);
    return (Object.hasOwn(TRUTHS, word) ? TRUTHS[word] : numbers.at(reading)) ?? NaN;
  };
  /** The value of sums, products, and powers, or NaN. @type {(text: string, reading: number) => number} */
  const evaluate = (text, reading) => {
    const tokens = text.match(TOKEN) ?? [];
    /** @type {(...signs: string[]) => string} */
    const take = (...signs) => (signs.includes(tokens[0] ?? "") ? (tokens.shift() ?? "") : "");
    const atom = () => {
      if (!take("(")) return number(tokens.shift() ?? "", reading);
      const inner = sum();
      return take(")") ? inner : NaN;
    };
    /** @type {() => number} */
    const power = () => {
      if (take("-")) return -power();
      const base = take("+") ? power() : atom();
      if (take("%")) return base / 100;
      return take("^", "**") ? base ** power() : base;
    };
    const product = () => {
      let value = power();
      for (let sign; (sign = take("*", "/"));) value = sign === "*" ? value * power() : value / power();
      return value;
    };
    const sum = () => {
      let value = product();
      for (let sign; (sign = take("+", "-"));) value += sign === "+" ? product() : -product();
      return value;
    };
    const value = sum();
    return tokens.length ? NaN : value;
  };
  /** @type {(between: RegExp, reading: number) => (row: string) => number[]} */
  const reader = (between, reading) => (row) =>
    row
      .split(between)
      .filter(Boolean)
      .map((word) => evaluate(word, reading));
  const READERS = [reader(/,?\s+/, 0), reader(/,?\s+/, -1), reader(/[\s,]+/, 0)];
  // In plain characters: without marks of direction, full-width digits, other hyphens and signs, and blanks between thousands.
  /** @type {(text: string) => string} */
  const plain = (text) =>
    text
      .replace(/(\d)[\u2009\u202F](?=\d{3}(?!\d))/g, "$1")
      .replace(/[⁻⁰¹²³⁴-⁹]+/g, "^$&")
      .replace(/(?=[¼-¾⅐-⅞])/g, " ")
      .normalize("NFKC")
      .replace(/\p{Cf}/gu, "")
      .replace(/[\u2010-\u2015\u2212]/g, "-")
      .replaceAll("\u2044", "/")
      .replace(/[×·⋅]/g, "*")
      .trim()
      .toLowerCase()
      .replace(/\s+/g, " ");
  /** @type {(kind: string, text: string) => unknown[]} */
  const readings = (kind, text) => {
    if (kind === "text" || kind === "choice") return [text.replace(/["'“”]/g, "")];
    if (kind === "number") {
      const bare = text.replace(/[[{]/g, "(").replace(/[\]}]/g, ")");
      const whole = bare.replace(/(\d)[ '’](?=\d{3}(?!\d))/g, "$1").replace(/(?<=\d ?)x(?= ?\d)/g, "*");
      return [0, -1].map((reading) => evaluate(whole, reading)).filter((value) => !Number.isNaN(value));
    }
    const signs = text.replace(/ ?(\/|\^|\*\*|%) ?/g, "$1 ").replace(/(\/|\^|\*\*) /g, "$1");
    const rows = (kind === "shape" ? signs.replace(/[x*]/g, " ") : signs)
      .split(/ ?; ?|[\])] ?, ?[[(]/)
      .map((row) => row.replace(/[()[\]{}]/g, " ").trim());
    const read = READERS.map((reader) => rows.map(reader));
    const whole = read.filter((rows) => rows.every((row) => row.length && !row.some(Number.isNaN)));
    return kind === "rows" ? whole : whole.filter(({ length }) => length === 1).map(([row]) => row);
  };
  /** @type {(reading: unknown, value: unknown, tolerance: number) => boolean} */
  const same = (reading, value, tolerance) => {
    if (Array.isArray(reading) && Array.isArray(value))
      return reading.length === value.length && reading.every((part, i) => same(part, value[i], tolerance));
    if (typeof value === "string") return reading === value.toLowerCase();
    return Math.abs(Number(reading) - Number(value)) <= tolerance * (1 + Math.abs(Number(value)));
  };

  // Whether each number of a text is that of a value, rounded to the digits that are written, and to at least so many: 0.91 for 0.9057.
  /** @type {(text: string, value: Value, least: number) => boolean} */
  const rounded = (text, value, least) => {
    const points = text.includes(".") ? text : text.replace(/(\d),(\d)/g, "$1.$2");
    const words = points.match(/[^\s,;()[\]]+/g) ?? [];
    const numbers = [value].flat(2).map(Number);
    /** @type {(word: string, number: number) => boolean} */
    const close = (word, number) => {
      const [, whole, decimals] = /^-?(\d*)\.(\d+)$/.exec(word) ?? [];
      if (decimals === undefined) return Number(word) === number;
      const missing = Math.max(0, least - `${whole}${decimals}`.replace(/^0+/, "").length);
      return Math.abs(Number(word) - number) <= 0.500001 * 10 ** -(decimals.length + missing);
    };
    return words.length === numbers.length && words.every((word, i) => close(word, numbers[i]));
  };

  // 2. What is wrong with a text, or nothing: "".
  /** @type {Record<string, string>} */
  const EXAMPLES = {
    number: "a number, such as 0.5, 1/3, or 20%",
    shape: "a shape, such as (2, 3) or 2 × 3",
    row: "a row, such as 1/3 0.5 0",
    rows: "rows, such as 1 2; 3 4",
    truths: "a row, such as True False True",
  };
  const THOUSAND = "A point begins the decimals here: write 1,024 or 1024 for a thousand and 24, not 1.024.";
  /** @type {(field: Field, typed: string) => string} */
  const fault = ({ kind, value, mistakes, clue, tolerance }, typed) => {
    const text = plain(typed);
    /** @type {(value: Value, of?: string) => boolean} */
    const gives = (value, of = text) => readings(kind, of).some((reading) => same(reading, value, tolerance));
    if (gives(value)) return "";
    if (gives(value, text.replace(/(\d)\.(?=\d{3}(?!\d))/g, "$1"))) return THOUSAND;
    if (!readings(kind, text).length) return `Write ${EXAMPLES[kind]}.`;
    const exact = mistakes.find(([mistake]) => gives(mistake));
    if (exact) return exact[1];
    if (rounded(text, value, 1)) return rounded(text, value, 2) ? "" : "It is near: write more digits.";
    return mistakes.find(([mistake]) => rounded(text, mistake, 2))?.[1] ?? clue;
  };

  // 3. Progress, by chapter and exercise. Where storage is denied or full, it lasts for the visit.
  const KEY = "at-exercises";
  const page = location.pathname.replace(/^.*\/|\.html$/g, "");
  /** @type {Record<string, Chapter>} */
  let progress = {};
  /** @type {(entry: [string, Chapter]) => boolean} */
  const sound = ([, chapter]) =>
    Number.isInteger(chapter?.of) &&
    Object.values(chapter.exercises ?? [null]).every((one) => Array.isArray(one?.given));
  const recall = () => {
    try {
      const stored = JSON.parse(localStorage.getItem(KEY) ?? "null") ?? progress; // another tab may have changed it
      progress = Object.fromEntries(Object.entries(stored).filter(sound)); // an earlier version of the page may have, too
    } catch {
      // what is in memory counts
    }
    return progress;
  };
  /** @type {(changed: Record<string, Chapter>) => void} */
  const keep = (changed) => {
    progress = changed;
    try {
      localStorage.setItem(KEY, JSON.stringify(progress));
    } catch {
      // it is in memory
    }
    showContents();
  };

  /** @type {(name: string, text?: string, values?: Record<string, string>) => any} */
  const element = (name, text = "", values = {}) => {
    const made = Object.assign(document.createElement(name), { textContent: text });
    Object.entries(values).forEach(([key, value]) => made.setAttribute(key, value));
    return made;
  };

  // 4. The contents: how many exercises of a chapter are right, beside it and on the page that lists them.
  /** @type {(place: ParentNode) => number[]} */
  const judged = (place) =>
    ["span.at-judged > *", "span.at-judged"].map((marks) => place.querySelectorAll(marks).length);
  const summary = element("output");
  const showContents = () => {
    /** @type {(place: Element | null | undefined, counts: number[]) => void} */
    const show = (place, [right, of]) =>
      place?.append(
        element("small", `${right} of ${of}`, { class: "at-progress", title: "exercises that are right" }),
      );
    document.querySelectorAll(".at-progress").forEach((old) => old.remove());
    for (const link of document.querySelectorAll('.bd-sidebar-primary a.internal:not([href*="handbook/"])')) {
      const address = link.getAttribute("href") ?? "";
      const { of, exercises } =
        progress[address === "#" ? page : address.replace(/^.*\/|\.html.*$/g, "")] ?? {};
      if (exercises) show(link, [Object.values(exercises).filter(({ right }) => right).length, of]);
    }
    for (const mark of document.querySelectorAll("span.at-judged")) {
      const [chapter, label] =
        mark.closest("td")?.querySelector("a")?.getAttribute("href")?.split(".html#") ?? [];
      const right = chapter && label && progress[chapter]?.exercises[label]?.right;
      mark.replaceChildren(right ? element("span", "✓", { role: "img", "aria-label": "right" }) : "");
    }
    for (const table of document.querySelectorAll("table:has(span.at-judged)"))
      show(table.closest(".pst-scrollable-table-container")?.previousElementSibling, judged(table));
    const [right, of] = judged(document);
    summary.textContent = `${right} of the ${of} exercises that a page judges: right.`;
  };

  /** @type {(name: string, ...children: Element[]) => any} */
  const makeBar = (name, ...children) => {
    const bar = element(name, "", { class: "at-bar" });
    bar.append(...children);
    return bar;
  };

  // On a chapter's page: a button that clears its answers, and then brings them back.
  /** @type {(() => void)[]} */
  const restore = []; // what is kept, into the fields of each exercise
  const addClear = () => {
    const [clear, undo] = ["Clear my answers on this page", "Undo"];
    const button = element("button", clear, { type: "button" });
    /** @type {Chapter | undefined} */
    let cleared;
    button.addEventListener("click", () => {
      const { [page]: chapter, ...others } = recall();
      const again = cleared && { ...cleared, exercises: { ...cleared.exercises, ...chapter?.exercises } };
      keep(again ? { ...others, [page]: again } : others);
      cleared = again ? undefined : chapter;
      button.textContent = cleared ? undo : clear;
      restore.forEach((fill) => fill());
    });
    document.querySelector("form.at-fields")?.closest(".at-task")?.before(makeBar("p", button));
  };

  // 5. The fields of an exercise, in its box.
  /** @type {(field: Field, id: string) => { field: Field, label: any, input: any, verdict: any }} */
  const makeRow = (field, id) => {
    const choice = field.kind === "choice";
    const input = element(choice ? "select" : "input", "", { id, "aria-describedby": `${id}-verdict` });
    if (choice) input.append(new Option("…", ""), ...field.choices.map((one) => new Option(one)));
    else Object.assign(input, { type: "text", spellcheck: false });
    input.autocomplete = "off";
    const verdict = element("output", "", { id: `${id}-verdict`, for: id });
    return { field, label: element("label", field.name, { for: id }), input, verdict };
  };
  /** @type {(output: HTMLElement, right: boolean, text: string) => void} */
  const say = (output, right, text) => {
    if (output.textContent !== text) output.textContent = text; // else it would be read out again
    output.className = right ? "at-right" : "at-wrong";
  };
  /** @type {(script: Element, place: number, scripts: Element[]) => void} */
  const addFields = (script, _, { length: of }) => {
    /** @type {{ shows: string, fields: Field[] }} */
    const { shows, fields } = JSON.parse(script.textContent ?? "");
    const box = /** @type {HTMLElement} */ (script.parentElement);
    const title = box.querySelector(".caption-number")?.textContent?.trim();
    const form = element("form", "", { class: "at-fields", "aria-label": `Your answers to ${title}` });
    const rows = fields.map((field, place) => makeRow(field, `${box.id}-${place}`));
    const examples = new Set(fields.map(({ kind }) => EXAMPLES[kind]).filter(Boolean));
    if (examples.size)
      form.append(element("p", `Write ${[...examples].join(", or ")}.`, { class: "at-examples" }));
    rows.forEach(({ label, input, verdict }) => form.append(label, input, verdict));
    const clear = element("button", "Clear", { type: "button" });
    const result = element("output");
    form.append(makeBar("div", element("button", "Check"), clear, result));
    script.replaceWith(form);

    /** Judge what is written, show the verdicts, and return whether all of it is right. */
    const judge = () => {
      const faults = rows.map(
        ({ field, input }) => input.value.trim() && (fault(field, input.value) || "right"),
      );
      rows.forEach(({ input, verdict }, i) => {
        const right = faults[i] === "right";
        say(verdict, right, right ? "✓ Right." : faults[i] && `✗ ${faults[i]}`);
        input.setAttribute("aria-invalid", String(Boolean(faults[i]) && !right));
      });
      const count = faults.filter((one) => one === "right").length;
      const all = count === rows.length;
      const some = faults.some(Boolean) && rows.length > 1 ? `${count} of ${rows.length} right.` : "";
      say(result, all, all ? `✓ All right: ${shows}` : some);
      return all;
    };
    const save = () => {
      const [right, given] = [judge(), rows.map(({ input }) => input.value)];
      const all = recall();
      const exercises = { ...all[page]?.exercises, [box.id]: { given, right } };
      if (!given.some(Boolean)) delete exercises[box.id];
      keep({ ...all, [page]: { of, exercises } });
    };
    form.addEventListener("submit", (/** @type {Event} */ event) => {
      event.preventDefault();
      save();
    });
    form.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Enter" || !(event.target instanceof HTMLSelectElement)) return; // an input does so by itself
      event.preventDefault(); // the list stays closed
      form.requestSubmit();
    });
    form.addEventListener("input", (/** @type {Event} */ event) => {
      const changed = rows.filter(({ input }) => input === event.target).map(({ verdict }) => verdict);
      [...changed, result].forEach((output) => say(output, false, "")); // it was about another answer
    });
    clear.addEventListener("click", () => {
      form.reset();
      save();
      rows[0].input.focus();
    });
    restore.push(() => {
      const given = progress[page]?.exercises[box.id]?.given ?? [];
      rows.forEach(({ input }, place) => (input.value = given[place] ?? ""));
      judge();
    });
  };

  recall();
  Array.from(document.querySelectorAll("script.at-judged")).forEach(addFields);
  restore.forEach((fill) => fill());
  addEventListener("pageshow", ({ persisted }) => persisted || restore.forEach((fill) => fill())); // a browser may have filled them
  if (restore.length) addClear();
  if (document.querySelector("span.at-judged"))
    document.querySelector("article section section")?.before(makeBar("p", summary));
  showContents();
})();
