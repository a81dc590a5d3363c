/* The fields of exercises whose answers are values. What is right, and what mistakes give, comes with the page from the checks
   of the notebooks (predictions.py). What a reader writes stays in the browser. */
(() => {
  "use strict";
  /** @typedef {string | number | boolean | (number | boolean)[] | (number | boolean)[][]} Value */
  /** @typedef {{ name: string, kind: string, value: Value, tolerance: number, clue: string, mistakes: [Value, string][], choices: string[] }} Field */
  /** @typedef {{ right: boolean, why: string }} Verdict */
  /** @typedef {{ given: string[], right: boolean }} Progress */
  /** @typedef {{ of: number, exercises: Record<string, Progress> }} Chapter */

  // 1. What a text says. A comma may stand for a point, divide thousands, or stand between two numbers, so a text may have several
  //    readings.
  const TRUTHS = /** @type {Record<string, number[]>} */ ({
    true: [1],
    t: [1],
    yes: [1],
    false: [0],
    f: [0],
    no: [0],
  });
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/;
  const THOUSANDS = /^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/;
  /** @type {(word: string) => number[]} */
  const numbers = (word) => {
    const [, left, sign, right] = /^(.+?)(\/|\^|\*\*)(.+)$/.exec(word) ?? [];
    if (sign) return numbers(left).flatMap((a) => numbers(right).map((b) => (sign === "/" ? a / b : a ** b)));
    if (word.endsWith("%")) return numbers(word.slice(0, -1)).map((share) => share / 100);
    const bare = word.replaceAll("_", "");
    const texts = [bare.replace(",", "."), ...(THOUSANDS.test(bare) ? [bare.replaceAll(",", "")] : [])];
    return TRUTHS[word] ?? texts.filter((text) => NUMBER.test(text)).map(Number);
  };
  /** @type {(words: string[], place: number) => number[] | null} */
  const all = (words, place) => {
    const read = words.filter(Boolean).map((word) => numbers(word).at(place));
    return read.length && !read.includes(undefined) ? /** @type {number[]} */ (read) : null;
  };
  /** @type {((row: string) => number[] | null)[]} */
  const READERS = [
    (row) => all(row.split(/,?\s+/), 0),
    (row) => all(row.split(/,?\s+/), -1),
    (row) => all(row.split(/[\s,]+/), 0),
  ];
  /** @type {(field: Field, text: string) => Value[]} */
  const readings = ({ kind }, text) => {
    const simple = text.trim().toLowerCase().replace(/\s+/g, " ");
    if (kind === "text" || kind === "choice") return [simple.replace(/["'“”]/g, "")];
    const signs = simple
      .replace(/[−–]/g, "-")
      .replace(/ ?(\/|\^|\*\*) ?/g, "$1")
      .replaceAll(" %", "%");
    const rows = (kind === "shape" ? signs.replace(/[x×*]/g, " ") : signs)
      .split(/ ?; ?|[\])] ?, ?[[(]/)
      .map((row) => row.replace(/[()[\]{}]/g, " ").trim());
    const found = READERS.map((reader) => rows.map(reader)).filter((read) => !read.includes(null));
    const several = /** @type {number[][][]} */ (found);
    if (kind === "rows") return several;
    const [one] = [several.filter((read) => read.length === 1).map(([row]) => row)];
    return kind === "number" ? one.filter((row) => row.length === 1).map(([number]) => number) : one;
  };
  /** @type {(given: unknown, other: unknown, tolerance: number) => boolean} */
  const same = (given, other, tolerance) => {
    if (Array.isArray(given) && Array.isArray(other))
      return given.length === other.length && given.every((part, i) => same(part, other[i], tolerance));
    if (typeof other === "string") return given === other.toLowerCase();
    return Math.abs(Number(given) - Number(other)) <= tolerance * (1 + Math.abs(Number(other)));
  };

  // 2. The verdict on a text; none on an empty one.
  const EXAMPLES = /** @type {Record<string, string>} */ ({
    number: "a number, such as 0.5, 1/3, or 20%",
    shape: "a shape, such as (2, 3) or 2 × 3",
    row: "a row, such as 1/3 0.5 0",
    rows: "rows, such as 1 2; 3 4",
    truths: "a row, such as True False True",
    text: "a text",
  });
  /** @type {(field: Field, text: string) => Verdict | null} */
  const judge = (field, text) => {
    if (!text.trim()) return null;
    const read = readings(field, text);
    /** @type {(value: Value) => boolean} */
    const gives = (value) => read.some((given) => same(given, value, field.tolerance));
    if (!read.length) return { right: false, why: `Write ${EXAMPLES[field.kind]}.` };
    if (gives(field.value)) return { right: true, why: "" };
    const [, why] = field.mistakes.find(([value]) => gives(value)) ?? [null, field.clue];
    return { right: false, why };
  };

  // 3. Progress, by chapter and exercise. Where storage is denied, it stays in memory.
  const KEY = "at-exercises";
  /** @type {Record<string, Chapter>} */
  let memory = {};
  const recall = () => {
    try {
      memory = JSON.parse(localStorage.getItem(KEY) ?? "null") ?? memory;
    } catch {
      // what is in memory counts
    }
    return memory;
  };
  /** @type {(all: Record<string, Chapter>) => void} */
  const keep = (all) => {
    memory = all;
    try {
      localStorage.setItem(KEY, JSON.stringify(all));
    } catch {
      // for this visit only
    }
  };
  /** @type {(chapter: Chapter | undefined) => number} */
  const solved = (chapter) => Object.values(chapter?.exercises ?? {}).filter(({ right }) => right).length;

  /** @type {(name: string, text?: string, values?: Record<string, string>) => any} */
  const element = (name, text = "", values = {}) => {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(values)) made.setAttribute(key, value);
    return made;
  };
  const page = location.pathname.split("/").at(-1)?.replace(".html", "") ?? "";

  // 4. The contents: how many exercises of each chapter are right.
  const showContents = () => {
    const all = recall();
    document.querySelectorAll(".at-progress").forEach((old) => old.remove());
    for (const link of document.querySelectorAll(".bd-sidebar-primary a.internal")) {
      const address = link.getAttribute("href") ?? "";
      const chapter = all[address === "#" ? page : address.replace(/^.*\/|\.html.*$/g, "")];
      const shown = `${solved(chapter)} of ${chapter?.of}`;
      if (chapter)
        link.append(element("small", shown, { class: "at-progress", title: "exercises that are right" }));
    }
    let [right, total] = [0, 0];
    for (const table of document.querySelectorAll("article p.rubric + div table, article p.rubric + table")) {
      const marks = Array.from(table.querySelectorAll(".at-judged"));
      const found = marks.filter((mark) => {
        const [file, label] = mark.closest("tr")?.querySelector("a")?.getAttribute("href")?.split("#") ?? [];
        const done = all[file?.replace(".html", "") ?? ""]?.exercises[label ?? ""]?.right ?? false;
        mark.replaceChildren(done ? element("span", "✓", { role: "img", "aria-label": "right" }) : "");
        return done;
      });
      [right, total] = [right + found.length, total + marks.length];
      const text = `${found.length} of ${marks.length}`;
      const title = table.closest(".pst-scrollable-table-container")?.previousElementSibling;
      if (marks.length) title?.append(element("small", text, { class: "at-progress" }));
    }
    if (total) summary.textContent = `${right} of the ${total} exercises that a page judges: right.`;
  };
  const summary = element("output");
  const addClearing = () => {
    const place = document.querySelector("article h2")?.parentElement;
    const bar = element("p", "", { class: "at-bar" });
    const clear = element("button", "Clear my answers", { type: "button" });
    clear.addEventListener("click", () => {
      keep({});
      showContents();
    });
    bar.append(summary, clear);
    place?.before(bar);
  };

  // 5. The fields of an exercise, in its box.
  /** @type {(script: Element, i: number, scripts: Element[]) => void} */
  const addFields = (script, _, scripts) => {
    const { shows, fields } = /** @type {{ shows: string, fields: Field[] }} */ (
      JSON.parse(script.textContent ?? "")
    );
    const box = /** @type {HTMLElement} */ (script.parentElement);
    const title = box.querySelector(".caption-number")?.textContent?.trim();
    const form = element("form", "", { class: "at-fields", "aria-label": `Your answers to ${title}` });
    const kinds = [...new Set(fields.map(({ kind }) => EXAMPLES[kind]).filter(Boolean))];
    if (kinds.length) form.append(element("p", `Write ${kinds.join(", or ")}.`, { class: "at-examples" }));
    const rows = fields.map((field, place) => {
      const id = `${box.id}-${place}`;
      const label = element("label", field.name, { for: id });
      const described = { id, "aria-describedby": `${id}-verdict` };
      const input =
        field.kind === "choice" ? element("select", "", described) : element("input", "", described);
      if (field.kind === "choice")
        input.append(
          element("option", "…", { value: "" }),
          ...field.choices.map((one) => element("option", one)),
        );
      else Object.assign(input, { type: "text", autocomplete: "off", spellcheck: false });
      const verdict = element("output", "", { id: `${id}-verdict`, for: id });
      form.append(label, input, verdict);
      return { field, input, verdict };
    });
    const [check, clear] = [element("button", "Check"), element("button", "Clear", { type: "button" })];
    const result = element("output");
    const bar = element("div", "", { class: "at-bar" });
    bar.append(check, clear, result);
    form.append(bar);
    script.replaceWith(form);

    /** @type {(output: HTMLElement, verdict: Verdict | null) => void} */
    const show = (output, verdict) => {
      const text = verdict ? (verdict.right ? "✓ Right." : `✗ ${verdict.why}`) : "";
      if (output.textContent !== text) output.textContent = text; // else it would be read out again
      output.className = verdict ? (verdict.right ? "at-right" : "at-wrong") : "";
    };
    const judgeAll = () => {
      const verdicts = rows.map(({ field, input }) => judge(field, input.value));
      rows.forEach(({ input, verdict }, i) => {
        show(verdict, verdicts[i]);
        input.setAttribute("aria-invalid", String(verdicts[i]?.right === false));
      });
      const right = verdicts.filter((verdict) => verdict?.right).length;
      const done = right === rows.length;
      const all = `✓ All right: ${shows}`;
      result.textContent = done ? all : verdicts.some(Boolean) ? `${right} of ${rows.length} right.` : "";
      result.className = done ? "at-right" : "";
      return done;
    };
    const save = () => {
      const all = recall();
      const right = judgeAll();
      const given = rows.map(({ input }) => input.value);
      const exercises = { ...all[page]?.exercises, [box.id]: { given, right } };
      if (!given.some(Boolean)) delete exercises[box.id];
      keep({ ...all, [page]: { of: scripts.length, exercises } });
      showContents();
    };
    form.addEventListener("submit", (/** @type {Event} */ event) => {
      event.preventDefault();
      save();
    });
    form.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Enter" && event.target instanceof HTMLSelectElement) form.requestSubmit(); // as in an input
    });
    form.addEventListener("input", (/** @type {Event} */ event) => {
      const row = rows.find(({ input }) => input === event.target);
      if (row) show(row.verdict, null); // it was on another answer
      result.textContent = "";
    });
    clear.addEventListener("click", () => {
      rows.forEach(({ input }) => (input.value = ""));
      save();
      rows[0].input.focus();
    });
    recall()[page]?.exercises[box.id]?.given.forEach((text, place) => {
      if (rows[place]) rows[place].input.value = text;
    });
    judgeAll();
  };

  Array.from(document.querySelectorAll("script.at-judged")).forEach(addFields);
  if (document.querySelector("span.at-judged")) addClearing();
  showContents();
})();
