/* "Copy as SVG" below each figure: the drawing as it is shown, its theme's colors resolved, ready for a slide. */
(() => {
  "use strict";

  /** @type {(svg: SVGSVGElement) => string} */
  const standalone = (svg) => {
    const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true));
    const names = new Set(copy.outerHTML.match(/--at-[\w-]+/g));
    const style = getComputedStyle(document.documentElement);
    copy.style.cssText += [...names].map((name) => `${name}: ${style.getPropertyValue(name)};`).join("");
    ["role", "aria-label", "aria-roledescription", "tabindex"].forEach((name) => copy.removeAttribute(name));
    return copy.outerHTML;
  };

  const start = () => {
    document.querySelectorAll("figure.at-figure").forEach((figure) => {
      if (figure.querySelector(".at-figure-tools")) return;
      const button = Object.assign(document.createElement("button"), {
        type: "button",
        textContent: "copy as SVG",
      });
      button.addEventListener("click", async () => {
        const svg = figure.querySelector("svg");
        if (!svg) return;
        try {
          await navigator.clipboard.writeText(standalone(svg));
          button.textContent = "copied";
        } catch {
          button.textContent = "the browser does not allow copying";
        }
        setTimeout(() => (button.textContent = "copy as SVG"), 2000);
      });
      const tools = document.createElement("p");
      tools.className = "at-figure-tools";
      tools.append(button);
      figure.append(tools);
    });
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
