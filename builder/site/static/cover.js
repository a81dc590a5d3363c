/* The cover's picture: a German word that is hovered, tapped or focused shows what it reads, and a button runs the model. */
(() => {
  "use strict";
  const { src } = /** @type {HTMLScriptElement} */ (document.currentScript);
  const EXPLORER = src.replace(/cover\.js.*$/, "explorer/explorer");
  const figure = /** @type {HTMLElement} */ (document.querySelector("figure.at-alignment"));

  /** @type {NodeListOf<HTMLElement>} */
  const keys = figure.querySelectorAll(".at-alignment-keys li");
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
      const share = weights[i] ? `${Math.round(100 * weights[i])}%` : "";
      key.style.setProperty("--weight", String(weights[i]));
      /** @type {Element} */ (key.querySelector("i")).textContent = share;
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

  /** @type {(tag: "link" | "script", attributes: Record<string, string>) => Promise<unknown>} */
  const load = (tag, attributes) =>
    new Promise((resolve, reject) => {
      const element = Object.assign(document.createElement(tag), attributes);
      const address = attributes.src ?? attributes.href;
      element.onload = resolve;
      element.onerror = () =>
        reject(new Error(`The explorer could not be loaded from ${address}; try again.`));
      document.head.append(element);
    });

  // The button loads the explorer, which replaces the whole figure. Nothing of it is loaded before.
  const [run, error] = /** @type {Element} */ (figure.querySelector(".at-alignment-run")).children;
  const words = run.textContent;
  run.addEventListener("click", async () => {
    if (run.ariaDisabled === "true") return;
    run.textContent = "Loading the model…";
    run.ariaDisabled = "true";
    error.textContent = "";
    figure.dataset.explorer = '{"view": "cover"}'; // what its script looks for
    try {
      await load("link", { rel: "stylesheet", href: `${EXPLORER}.css` });
      await load("script", { src: `${EXPLORER}.js` });
    } catch (problem) {
      error.textContent = /** @type {Error} */ (problem).message;
      run.textContent = words;
      run.ariaDisabled = "false";
    }
  });
})();
