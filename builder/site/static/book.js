/* Six small improvements; the page can be read without them. */
(() => {
  "use strict";

  // 1. A figure arrives as an image, so that it also shows where scripts do not run. Put the drawing itself into the page:
  //    only then does it follow the theme.
  /** @type {(image: HTMLImageElement) => void} */
  const inline = (image) => {
    const head = "data:image/svg+xml,";
    if (!image.src.startsWith(head)) return;
    const text = decodeURIComponent(image.src.slice(head.length));
    const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    if (svg.nodeName !== "svg") return;
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", image.alt);
    image.replaceWith(document.importNode(svg, true));
  };

  // The figures on the screen come first; the others, and with them most of the work, when the browser has time,
  // and on a busy machine, which never has time, after 300 ms each.
  /** @type {(work: () => void) => number} */
  const idle = (work) =>
    "requestIdleCallback" in window ? requestIdleCallback(work, { timeout: 300 }) : setTimeout(work, 50);
  /** @type {(images: HTMLImageElement[]) => void} */
  const inlineAll = (images) => {
    const [image, ...others] = images;
    if (!image) return;
    inline(image);
    idle(() => inlineAll(others));
  };

  // 2. A formula within a sentence that is wider than the column gets a scrolling line of its own,
  //    and what scrolls sideways must be reachable by keyboard.
  const reachable = () => {
    const formulas = [...document.querySelectorAll("article span.math")].filter(
      (formula) => !formula.closest("table:not([role])"), // which scrolls as a whole
    );
    // Each is measured as it stands: without its class for a moment, a formula that is being scrolled would stop midway.
    // First come all measures, then all changes: the page is laid out once.
    /** @type {[Element, boolean][]} */
    const measured = formulas.map((formula) => {
      const room = formula.parentElement?.closest("p, li, dd, dt, div")?.clientWidth ?? 0;
      return [formula, (formula.firstElementChild ?? formula).getBoundingClientRect().width > room + 1];
    });
    measured.forEach(([formula, wide]) => formula.classList.toggle("at-wide", wide));
    const boxes =
      "mjx-container, .at-wide, .bd-article pre, .pst-scrollable-table-container, .at-stage, .cell_output .output";
    /** @type {NodeListOf<HTMLElement>} */
    const scrollable = document.querySelectorAll(boxes);
    /** @type {[HTMLElement, boolean][]} */
    const scrolling = Array.from(scrollable, (box) => [box, box.scrollWidth > box.clientWidth]);
    scrolling.forEach(([box, scrolls]) => (scrolls ? (box.tabIndex = 0) : box.removeAttribute("tabindex")));
  };

  // 3. Some of the theme's buttons have accessible names that differ from their visible labels; use the labels.
  for (const button of document.querySelectorAll(".search-button-field"))
    button.removeAttribute("aria-label");
  for (const button of document.querySelectorAll(".theme-switch-button"))
    button.setAttribute("aria-label", "Color mode: Light, Dark or System Settings");

  // 4. Print with the light theme, whatever the theme of the screen.
  const page = document.documentElement;
  /** @type {string | undefined | null} */
  let screen = null;
  /** @type {(printing: boolean) => void} */
  const print = (printing) => {
    if (printing && screen === null) [screen, page.dataset.theme] = [page.dataset.theme, "light"];
    if (!printing && screen !== null) [page.dataset.theme, screen] = [screen, null];
  };
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
  matchMedia("print").addEventListener("change", (media) => print(media.matches));

  // 5. Browsers of 2024 neither open a fold that a link leads into nor print a closed one.
  const FOLDS = "details:is(.at-asked, .at-evidence, .at-page-code)";
  /** @type {HTMLDetailsElement[]} */
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = Array.from(document.querySelectorAll("details.at-asked:not([open])"));
    opened.forEach((fold) => (fold.open = true));
  });
  window.addEventListener("afterprint", () => opened.forEach((fold) => (fold.open = false)));
  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1));
    /** @type {HTMLDetailsElement | null | undefined} */
    let fold = target?.closest(FOLDS);
    if (!target || !fold) return;
    for (; fold; fold = fold.parentElement?.closest(FOLDS)) fold.open = true;
    target.scrollIntoView();
  };

  // 6. Mark the words that a search has found here, until Escape is pressed.
  const markFound = () => {
    const address = new URL(location.href);
    const words = address.searchParams.get("highlight")?.match(/[\p{L}\p{M}\p{N}_ ]+/gu);
    const article = document.querySelector("article");
    if (!words || !article || !("highlights" in CSS)) return;
    address.searchParams.delete("highlight");
    history.replaceState(history.state, "", address);
    const pattern = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${words.join("|")})(?![\\p{L}\\p{N}_])`, "giu");
    const marks = new Highlight();
    const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode;
      for (const { 0: word, index } of (text.nodeValue ?? "").matchAll(pattern)) {
        const range = new Range();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        marks.add(range);
      }
    }
    CSS.highlights.set("at-found", marks);
    document.addEventListener(
      "keydown",
      (event) => event.key === "Escape" && CSS.highlights.delete("at-found"),
    );
  };

  /** @type {() => HTMLImageElement[]} */
  const drawings = () => Array.from(document.querySelectorAll("img.at-svg"));
  const images = drawings();
  const near = images.filter((image) => image.getBoundingClientRect().top < 1.5 * window.innerHeight);
  near.forEach(inline);
  idle(() => inlineAll(images.filter((image) => !near.includes(image))));
  window.addEventListener("beforeprint", () => drawings().forEach(inline));
  reveal();
  markFound();
  window.addEventListener("hashchange", reveal);
  const article = document.querySelector("article"); // changes its size with the window, and when formulas are set
  if (article) new ResizeObserver(() => idle(reachable)).observe(article);
})();
