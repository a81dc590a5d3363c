/* The fields of exercises whose answers are values. What is right, and what mistakes give, comes with the page from the checks
   of the notebooks (answers.py). What a reader writes stays in the browser. */
(() => {
  "use strict";
  /** @typedef {string | number | boolean | (number | boolean)[] | (number | boolean)[][]} Value */
  /** @typedef {{ name: string, kind: string, value: Value, tolerance: number, clue: string, mistakes: [Value, string][], choices: string[] }} Field */
  /** @typedef {{ of: number, exercises: Record<string, { given: string[], right: boolean }> }} Chapter */

  // 1. What a text says. A comma may stand for a point, divide thousands, or stand between two numbers: a text may have several
  //    readings, and is right if one of them is.
  const TRUTHS = new Map(Object.entries({ true: 1, t: 1, yes: 1, false: 0, f: 0, no: 0 }));
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/;
  const THOUSANDS = /^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/;
  /** @type {(word: string) => number[]} */
  const numbers = (word) => {
    const [, left, sign, right] = /^(.+?)(\/|\^|\*\*)(.+)$/.exec(word) ?? [];
    if (sign) return numbers(left).flatMap((a) => numbers(right).map((b) => (sign === "/" ? a / b : a ** b)));
    if (word.endsWith("%")) return numbers(word.slice(0, -1)).map((share) => share / 100);
    const bare = word.replaceAll("_", "");
    const texts = [bare.replace(",", "."), THOUSANDS.test(bare) ? bare.replaceAll(",", "") : ""];
    const truth = TRUTHS.get(word);
    return truth === undefined ? texts.filter((text) => NUMBER.test(text)).map(Number) : [truth];
  };
  /** @type {(between: RegExp, reading: number) => (row: string) => (number | undefined)[]} */
  const reader = (between, reading) => (row) =>
    row
      .split(between)
      .filter(Boolean)
      .map((word) => numbers(word).at(reading));
  const READERS = [reader(/,?\s+/, 0), reader(/,?\s+/, -1), reader(/[\s,]+/, 0)];
  /** @type {(kind: string, text: string) => unknown[]} */
  const readings = (kind, text) => {
    const simple = text.trim().toLowerCase().replace(/\s+/g, " ");
    if (kind === "text" || kind === "choice") return [simple.replace(/["'“”]/g, "")];
    const signs = simple
      .replace(/[−–]/g, "-")
      .replace(/ ?(\/|\^|\*\*|%) ?/g, "$1 ")
      .replace(/(\/|\^|\*\*) /g, "$1");
    const rows = (kind === "shape" ? signs.replace(/[x×*]/g, " ") : signs)
      .split(/ ?; ?|[\])] ?, ?[[(]/)
      .map((row) => row.replace(/[()[\]{}]/g, " ").trim());
    const found = READERS.map((read) => rows.map(read));
    const whole = found.filter((read) => read.every((row) => row.length && !row.includes(undefined)));
    if (kind === "rows") return whole;
    const flat = whole.filter((read) => read.length === 1).map(([row]) => row);
    return kind === "number" ? flat.filter((row) => row.length === 1).map(([number]) => number) : flat;
  };
  /** @type {(given: unknown, other: unknown, tolerance: number) => boolean} */
  const same = (given, other, tolerance) => {
    if (Array.isArray(given) && Array.isArray(other))
      return given.length === other.length && given.every((part, i) => same(part, other[i], tolerance));
    if (typeof other === "string") return given === other.toLowerCase();
    return Math.abs(Number(given) - Number(other)) <= tolerance * (1 + Math.abs(Number(other)));
  };

  // Whether each number of a text is that of a value, rounded to the digits that are written, which are at least so many: 0.91 for 0.9057.
  /** @type {(text: string, value: Value, least: number) => boolean} */
  const rounded = (text, value, least) => {
    const points = text.includes(".") ? text : text.replace(/(\d),(\d)/g, "$1.$2");
    const words = points.replace(/[−–]/g, "-").match(/[^\s,;()[\]]+/g) ?? [];
    const wanted = [value].flat(2).map(Number);
    /** @type {(word: string, number: number) => boolean} */
    const close = (word, number) => {
      const [, whole, decimals] = /^-?(\d*)\.(\d+)$/.exec(word) ?? [];
      if (decimals === undefined) return Number(word) === number;
      const enough = `${whole}${decimals}`.replace(/^0+/, "").length >= least;
      return enough && Math.abs(Number(word) - number) <= 0.500001 * 10 ** -decimals.length;
    };
    return words.length === wanted.length && words.every((word, i) => close(word, wanted[i]));
  };

  // 2. What is wrong with a text, or nothing: "".
  const EXAMPLES = new Map(
    Object.entries({
      number: "a number, such as 0.5, 1/3, or 20%",
      shape: "a shape, such as (2, 3) or 2 × 3",
      row: "a row, such as 1/3 0.5 0",
      rows: "rows, such as 1 2; 3 4",
      truths: "a row, such as True False True",
    }),
  );
  /** @type {(field: Field, text: string) => string} */
  const fault = ({ kind, value, mistakes, clue, tolerance }, text) => {
    const read = readings(kind, text);
    /** @type {(value: Value) => boolean} */
    const gives = (value) => read.some((given) => same(given, value, tolerance));
    if (!read.length) return `Write ${EXAMPLES.get(kind)}.`;
    if (gives(value)) return "";
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
  const recall = () => {
    try {
      progress = JSON.parse(localStorage.getItem(KEY) ?? "null") ?? progress; // another tab may have changed it
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
  const summary = element("output");
  const showContents = () => {
    /** @type {(place: Element | null | undefined, right: number, of: number) => void} */
    const show = (place, right, of) =>
      place?.append(
        element("small", `${right} of ${of}`, { class: "at-progress", title: "exercises that are right" }),
      );
    document.querySelectorAll(".at-progress").forEach((old) => old.remove());
    for (const link of document.querySelectorAll('.bd-sidebar-primary a.internal:not([href*="handbook/"])')) {
      const address = link.getAttribute("href") ?? "";
      const { of, exercises } =
        progress[address === "#" ? page : address.replace(/^.*\/|\.html.*$/g, "")] ?? {};
      if (exercises) show(link, Object.values(exercises).filter(({ right }) => right).length, of);
    }
    for (const mark of document.querySelectorAll("span.at-judged")) {
      const [chapter, label] =
        mark.closest("td")?.querySelector("a")?.getAttribute("href")?.split(".html#") ?? [];
      const right = chapter && label && progress[chapter]?.exercises[label]?.right;
      mark.replaceChildren(right ? element("span", "✓", { role: "img", "aria-label": "right" }) : "");
    }
    for (const table of document.querySelectorAll("table:has(span.at-judged)")) {
      const title = table.closest(".pst-scrollable-table-container")?.previousElementSibling;
      show(
        title,
        table.querySelectorAll("span.at-judged > *").length,
        table.querySelectorAll("span.at-judged").length,
      );
    }
    const [right, of] = ["span.at-judged > *", "span.at-judged"].map(
      (marks) => document.querySelectorAll(marks).length,
    );
    summary.textContent = `${right} of the ${of} exercises that a page judges: right.`;
  };
  const addSummary = () => {
    const clear = element("button", "Clear my answers", { type: "button" });
    clear.addEventListener("click", () => keep({}));
    const bar = element("p", "", { class: "at-bar" });
    bar.append(summary, clear);
    document.querySelector("article section section")?.before(bar);
  };

  // 5. The fields of an exercise, in its box.
  /** @type {(field: Field, id: string) => { field: Field, label: any, input: any, verdict: any }} */
  const makeRow = (field, id) => {
    const choice = field.kind === "choice";
    const input = element(choice ? "select" : "input", "", { id, "aria-describedby": `${id}-verdict` });
    if (choice) input.append(new Option("…", ""), ...field.choices.map((one) => new Option(one)));
    else Object.assign(input, { type: "text", autocomplete: "off", spellcheck: false });
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
    const examples = new Set(fields.map(({ kind }) => EXAMPLES.get(kind)).filter(Boolean));
    if (examples.size)
      form.append(element("p", `Write ${[...examples].join(", or ")}.`, { class: "at-examples" }));
    rows.forEach(({ label, input, verdict }) => form.append(label, input, verdict));
    const clear = element("button", "Clear", { type: "button" });
    const result = element("output");
    const bar = element("div", "", { class: "at-bar" });
    bar.append(element("button", "Check"), clear, result);
    form.append(bar);
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
    progress[page]?.exercises[box.id]?.given.forEach((text, place) => {
      if (rows[place]) rows[place].input.value = text;
    });
    judge();
  };

  recall();
  Array.from(document.querySelectorAll("script.at-judged")).forEach(addFields);
  if (document.querySelector("span.at-judged")) addSummary();
  showContents();
})();
