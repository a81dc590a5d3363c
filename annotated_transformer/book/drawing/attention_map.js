// Lets the attention maps of a figure answer to mouse, finger and arrow keys: a row lights up, its weights are read out.
/** @type {NodeListOf<HTMLElement>} */ (
  document.querySelectorAll("figure[data-map]:not([data-maps])")
).forEach((figure) => {
  /** @type {(image: HTMLImageElement) => void} */
  const inline = (image) => {
    const host = document.createElement("div");
    host.innerHTML = decodeURIComponent(image.src.slice(image.src.indexOf(",") + 1));
    host.children[0].setAttribute("role", "img");
    host.children[0].setAttribute("aria-label", image.alt);
    image.replaceWith(host.children[0]);
  };
  /** @type {HTMLImageElement | null} */
  const image = figure.querySelector(":scope > img.at-svg");
  if (image) inline(image);
  if (!figure.querySelector(".at-cell")) return;
  figure.dataset.maps = "";
  const readout = document.createElement("p");
  readout.className = "at-readout";
  readout.setAttribute("role", "status");
  const hint = "Point at a row or tap it, or move through the rows with the arrow keys.";
  readout.textContent = hint;
  const caption = figure.querySelector("figcaption");
  caption?.before(readout);

  // A cell belongs to the map, a group of the drawing, that it was drawn into.
  /** @type {(part: ParentNode) => SVGElement[]} */
  const cellsIn = (part) => Array.from(part.querySelectorAll(".at-cell"));
  /** @type {(cell: SVGElement) => SVGElement[]} */
  const rowOf = (cell) => {
    const map = /** @type {ParentNode} */ (cell.parentNode);
    return cellsIn(map).filter((other) => other.dataset.row === cell.dataset.row);
  };
  /** @type {(cell: SVGElement, lit: boolean, others: boolean) => void} */
  const mark = (cell, lit, others) => {
    cell.style.opacity = lit || !others ? "" : "0.5";
    /** @type {SVGElement} */ (cell.querySelector("path")).style.strokeWidth = lit ? "2.5" : "0.5";
  };
  const clear = () => cellsIn(figure).forEach((cell) => mark(cell, false, false));
  /** @type {(cell: SVGElement) => void} */
  const light = (cell) => {
    const row = rowOf(cell);
    cellsIn(figure).forEach((other) => mark(other, row.includes(other), true));
    const weights = row.map((other) => `${other.dataset.key}: ${other.dataset.weight}`).join(", ");
    readout.textContent = `${cell.dataset.query} reads ${weights}. Sum: ${cell.dataset.sum}.`;
    figure.dataset.lit = String(cellsIn(figure).indexOf(row[0]));
  };
  const drawing = () => figure.querySelector("svg");
  const prepare = () => {
    const svg = drawing();
    if (!svg || svg.hasAttribute("tabindex")) return;
    svg.setAttribute("tabindex", "0");
    svg.dataset.lmSuppressShortcuts = ""; // JupyterLab's, which would move to another cell
    svg.setAttribute("aria-roledescription", "attention map; arrow keys read its rows");
    svg.querySelectorAll("text").forEach((text) => (text.style.pointerEvents = "none")); // its cell answers
    delete figure.dataset.lit;
    readout.textContent = hint;
  };
  prepare();
  new MutationObserver(prepare).observe(figure, { childList: true, subtree: true }); // a slider draws anew
  /** @type {(event: Event) => void} */
  const over = (event) => {
    const cell = event.target instanceof Element && event.target.closest(".at-cell");
    if (cell) light(/** @type {SVGElement} */ (cell));
  };
  figure.addEventListener("pointerover", over);
  figure.addEventListener("click", over);
  figure.addEventListener("pointerleave", clear);
  figure.addEventListener("focusout", clear);
  figure.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key] ?? 0;
    if (!step || event.target !== drawing()) return;
    event.preventDefault();
    const cells = cellsIn(figure);
    const rows = cells.filter((cell) => rowOf(cell)[0] === cell);
    const now = rows.indexOf(cells[Number(figure.dataset.lit)]);
    light(rows[Math.max(0, Math.min(rows.length - 1, now + step))]);
  });
});
