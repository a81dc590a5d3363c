/* The cover's picture: a German word that is hovered, tapped or focused shows what it reads, and a button runs the model. */
(() => {
  "use strict";
  const EXPLORER = /** @type {HTMLScriptElement} */ (document.currentScript).src.replace(
    /cover\.js.*$/,
    "explorer/explorer",
  );
  const LEAST = 0.03; // as in front/picture.py

  /** @type {(figure: HTMLElement) => void} */
  const enliven = (figure) => {
    /** @type {HTMLElement[]} */
    const keys = Array.from(figure.querySelectorAll(".at-alignment-keys li"));
    const curves = [...figure.querySelectorAll("path")];
    /** @type {HTMLElement[]} */
    const items = Array.from(figure.querySelectorAll(".at-alignment-queries li"));
    const home = items.findIndex((item) => item.classList.contains("at-active")); // as the page opens
    let pinned = home;

    /** @type {(query: number) => void} */
    const show = (query) => {
      const weights = query < 0 ? [] : (items[query].dataset.weights ?? "").split(" ").map(Number);
      figure.classList.toggle("at-reading", query >= 0);
      items.forEach((item, i) => item.classList.toggle("at-active", i === query));
      curves.forEach((curve) => curve.classList.toggle("at-active", Number(curve.dataset.query) === query));
      keys.forEach((key, i) => {
        const weight = weights[i] >= LEAST ? weights[i] : 0;
        key.style.setProperty("--weight", String(weight));
        /** @type {Element} */ (key.querySelector("i")).textContent = weight
          ? `${Math.round(100 * weight)}%`
          : "";
      });
    };

    // Each word becomes a button; the whole list is one tab stop, and the arrow keys move in it.
    const buttons = items.map((item, i) => {
      const word = /** @type {Element} */ (item.querySelector(".at-alignment-word"));
      const button = document.createElement("button");
      button.type = "button";
      button.className = word.className;
      button.tabIndex = i === home ? 0 : -1;
      button.append(...word.childNodes);
      word.replaceWith(button);
      return button;
    });
    // The link to the explorer leads to the word that is chosen.
    const link = /** @type {HTMLAnchorElement} */ (figure.querySelector(".at-alignment-more a"));
    const { sentence: text = "", direction = "" } = figure.dataset;
    /** @type {(i: number) => void} */
    const pin = (i) => {
      pinned = i;
      link.hash = i < 0 ? "" : String(new URLSearchParams({ direction, text, step: String(i) }));
      show(i);
    };
    buttons.forEach((button, i) => {
      button.addEventListener("focus", () => {
        buttons.forEach((other, j) => (other.tabIndex = i === j ? 0 : -1));
        pin(i);
      });
      button.addEventListener("click", () => {
        button.focus(); // Safari does not focus a button that is clicked
        pin(i);
      });
      items[i].addEventListener("pointerenter", (event) => event.pointerType === "mouse" && show(i));
      button.addEventListener("keydown", (event) => {
        /** @type {Record<string, number>} */
        const step = {
          ArrowDown: i + 1,
          ArrowRight: i + 1,
          ArrowUp: i - 1,
          ArrowLeft: i - 1,
          Home: 0,
          End: buttons.length - 1,
        };
        if (event.key === "Escape") pin(-1);
        if (!(event.key in step)) return;
        event.preventDefault();
        buttons[Math.min(Math.max(step[event.key], 0), buttons.length - 1)].focus();
      });
    });
    figure.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && show(pinned));
    // The link keeps its word, since Safari does not focus a link that is pressed.
    figure.addEventListener(
      "focusout",
      (event) => figure.contains(/** @type {Node | null} */ (event.relatedTarget)) || show((pinned = home)),
    );
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
