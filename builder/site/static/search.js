/* Search results: chapters first, then phrases before scattered words; no code in what is quoted. */
(() => {
  "use strict";
  /** @type {(text: string) => string[]} */
  const words = (text) => text.toLowerCase().match(/[a-z]+/g) ?? [];
  const asked = words(new URLSearchParams(location.search).get("q") ?? "");
  const pairs = asked.slice(1).map((word, place) => `${asked[place]} ${word}`);

  Scorer.score = ([page, , , , score]) => {
    const place = page.includes("/api/") ? -40 : /\/\d\d_/.test(page) ? 20 : 0;
    const together = pairs.reduce((sum, pair) => sum + (PAIRS[page]?.[pair] ?? 0), 0);
    return score + place + (together && Math.min(80, 40 + 4 * together));
  };

  // From a file address, a browser loads no page to quote from.
  if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

  // A page is quoted where it has the whole phrase, or else any of its words, and not in its code.
  const summary = Search.makeSearchSummary;
  const text = Search.htmlToText;
  Search.htmlToText = (html, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    page.querySelectorAll("pre, summary, style, script, mjx-container, h1").forEach((part) => part.remove());
    page.querySelectorAll("p").forEach((part) => part.append(" ")); // or a title would touch its caption
    return text(page.documentElement.outerHTML, anchor).replace(/\s+/g, " ").trim();
  };
  Search.makeSearchSummary = (html, keywords, anchor) => {
    const phrase = asked.join(" ");
    const found = Search.htmlToText(html, anchor).toLowerCase().includes(phrase);
    return summary(html, found ? [phrase] : keywords, anchor);
  };
})();
