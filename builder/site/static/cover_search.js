/* Sphinx puts this into its search page, after its own code. A chapter's terms lead to it because the index names them;
   here, what is shown of a page and of its titles becomes plain text: no TeX, no drawings. */
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

(() => {
  "use strict";
  if (typeof Search === "undefined") return;

  /** @type {Record<string, string>} */
  const SYMBOLS = {
    times: "×",
    cdot: "·",
    sqrt: "√",
    infty: "∞",
    in: "∈",
    ge: "≥",
    geq: "≥",
    le: "≤",
    leq: "≤",
    ne: "≠",
    neq: "≠",
    approx: "≈",
    to: "→",
    dots: "…",
    ldots: "…",
    cdots: "…",
    sum: "Σ",
    top: "ᵀ",
    pm: "±",
    odot: "⊙",
    land: "∧",
    mid: "|",
    partial: "∂",
    alpha: "α",
    beta: "β",
    gamma: "γ",
    epsilon: "ε",
    varepsilon: "ε",
    theta: "θ",
    lambda: "λ",
    mu: "μ",
    sigma: "σ",
    omega: "ω",
  };
  /** @type {(text: string) => string} */
  const plainTeX = (text) =>
    text
      .replace(/\\[()[\]]/g, "")
      .replace(/\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}/g, "$1/$2")
      .replace(/\\([a-zA-Z]+)/g, (_, name) => SYMBOLS[name] ?? "")
      .replace(/\^ᵀ/g, "ᵀ")
      .replace(/[\\${}^]/g, "");

  Search.htmlToText = (html, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    page
      .querySelectorAll(".headerlink, script, style, svg, .at-hidden, #jb-print-docs-body")
      .forEach((part) => part.remove());
    page.querySelectorAll("div.math").forEach((formula) => formula.replaceWith(" … "));
    page.querySelectorAll(".math").forEach((formula) => formula.replaceWith(plainTeX(formula.textContent)));
    const main = page.querySelector("article") ?? page.querySelector('[role="main"]') ?? page.body;
    if (!anchor) main.querySelector("h1")?.remove(); // the same as the result's title
    const part = (anchor && main.querySelector(`#${CSS.escape(anchor.slice(1))}`)) || main;
    return part.textContent.replace(/[\\$]/g, "").replace(/\s+/g, " ");
  };

  const setIndex = Search.setIndex;
  Search.setIndex = (index) => {
    index.titles = index.titles.map(plainTeX);
    index.alltitles = Object.fromEntries(
      Object.entries(index.alltitles).map(([title, places]) => [plainTeX(title), places]),
    );
    // A chapter that a term leads to is listed once, by its page.
    Object.values(index.indexentries)
      .flat()
      .forEach((place) => (place[1] = place[2] ? "" : place[1]));
    setIndex(index);
  };
})();
