/* The cover's picture: a German word that is hovered, tapped or focused shows what it reads, and a button runs the model. */
(() => {
  "use strict";
  const EXPLORER = /** @type {HTMLScriptElement} */ (document.currentScript).src.replace(
    /cover\.js.*$/,
    "explorer/explorer",
  );

  /** @type {(figure: HTMLElement) => void} */
  const enliven = (figure) => {
    /** @type {HTMLElement[]} */
    const keys = Array.from(figure.querySelectorAll(".at-alignment-keys li"));
    const curves = [...figure.querySelectorAll("path")];
    /** @type {HTMLElement[]} */
    const items = Array.from(figure.querySelectorAll(".at-alignment-queries li"));
    let pinned = items.findIndex((item) => item.classList.contains("at-active")); // as the page opens

    /** @type {(query: number) => void} */
    const show = (query) => {
      const weights = (items[query].dataset.weights ?? "").split(" ").map(Number);
      items.forEach((item, i) => item.classList.toggle("at-active", i === query));
      curves.forEach((curve) => curve.classList.toggle("at-active", Number(curve.dataset.query) === query));
      keys.forEach((key, i) => {
        key.style.setProperty("--weight", String(weights[i]));
        /** @type {Element} */ (key.querySelector("i")).textContent = weights[i]
          ? `${Math.round(100 * weights[i])}%`
          : "";
      });
    };

    // Each word becomes a button.
    items.forEach((item, i) => {
      const word = /** @type {Element} */ (item.querySelector(".at-alignment-word"));
      const button = document.createElement("button");
      button.type = "button";
      button.className = word.className;
      button.append(...word.childNodes);
      word.replaceWith(button);
      button.addEventListener("focus", () => show((pinned = i)));
      button.addEventListener("click", () => button.focus()); // Safari does not focus a button that is clicked
      item.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && show(i));
    });
    figure.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && show(pinned));
  };

  // Loads a script or a style sheet.
  /** @type {(tag: "link" | "script", attributes: Record<string, string>) => Promise<unknown>} */
  const load = (tag, attributes) =>
    new Promise((resolve, reject) => {
      const element = Object.assign(document.createElement(tag), attributes);
      element.onload = resolve;
      element.onerror = () =>
        reject(
          new Error(`The explorer could not be loaded from ${attributes.src ?? attributes.href}; try again.`),
        );
      document.head.append(element);
    });

  // The button loads the explorer, which replaces the whole figure. Nothing of it is loaded before.
  /** @type {(figure: HTMLElement) => void} */
  const offer = (figure) => {
    const [run, error] = /** @type {Element} */ (figure.querySelector(".at-alignment-run")).children;
    const words = run.textContent;
    /** @type {(is: boolean) => void} */
    const busy = (is) => {
      run.textContent = is ? "Loading the model…" : words;
      run.setAttribute("aria-disabled", String(is));
    };
    run.addEventListener("click", async () => {
      if (run.getAttribute("aria-disabled") === "true") return;
      busy(true);
      error.textContent = "";
      figure.dataset.explorer = '{"view": "cover"}'; // what its script looks for
      try {
        await load("link", { rel: "stylesheet", href: `${EXPLORER}.css` });
        await load("script", { src: `${EXPLORER}.js` });
      } catch (problem) {
        error.textContent = /** @type {Error} */ (problem).message;
        busy(false);
      }
    });
  };

  const start = () => {
    /** @type {NodeListOf<HTMLElement>} */
    const figures = document.querySelectorAll("figure.at-alignment");
    figures.forEach((figure) => {
      enliven(figure);
      offer(figure);
    });
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
