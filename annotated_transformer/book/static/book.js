/* Three small services; the page can be read without them. */
(() => {
  "use strict";

  // 1. A figure arrives as an image, so that it also shows where scripts do not run. Put the drawing itself into the page:
  //    only then does it follow the theme.
  const inline = (image) => {
    const [head, data] = image.src.split(",", 2);
    if (head !== "data:image/svg+xml;base64") return;
    const text = new TextDecoder().decode(Uint8Array.from(atob(data), (c) => c.charCodeAt(0)));
    const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    if (svg.nodeName !== "svg") return;
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", image.alt);
    image.replaceWith(document.importNode(svg, true));
  };

  // 2. A formula within a sentence that is wider than the column gets a scrolling line of its own,
  //    and what scrolls sideways must be reachable by keyboard.
  const reachable = () => {
    document.querySelectorAll("span.math").forEach((formula) => {
      if (formula.closest("table")) return; // a table scrolls as a whole
      formula.classList.remove("at-wide");
      const room = formula.parentElement.closest("p, li, dd, dt, div").clientWidth;
      formula.classList.toggle("at-wide", formula.getBoundingClientRect().width > room);
    });
    const boxes = "mjx-container, .at-wide, .bd-article pre, .pst-scrollable-table-container, .cell_output .output";
    document.querySelectorAll(boxes).forEach((box) => {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    });
  };

  // 3. Some buttons of the theme are named otherwise than they are labelled; let the words that one sees be the name.
  const named = () => {
    const mislabelled = ".search-button-field, details.hide > summary";
    document.querySelectorAll(mislabelled).forEach((button) => button.removeAttribute("aria-label"));
    document.querySelectorAll(".theme-switch-button").forEach((button) => {
      button.setAttribute("aria-label", "Color mode: Light, Dark or System Settings");
    });
  };

  const start = () => {
    document.querySelectorAll("img.at-svg").forEach(inline);
    named();
    const article = document.querySelector("article"); // changes its size with the window, and when formulas are set
    if (article) new ResizeObserver(() => requestAnimationFrame(reachable)).observe(article);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
