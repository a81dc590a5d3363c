// Lets the attention maps of a figure answer to mouse, finger and arrow keys: a row lights up, its weights are read out.
document.querySelectorAll("figure[data-map]:not([data-maps])").forEach((figure) => {
  const inline = (image) => {
    const bytes = Uint8Array.from(atob(image.src.split(",")[1]), (c) => c.charCodeAt(0));
    const host = document.createElement("div");
    host.innerHTML = new TextDecoder().decode(bytes);
    host.firstChild.setAttribute("role", "img");
    host.firstChild.setAttribute("aria-label", image.alt);
    image.replaceWith(host.firstChild);
  };
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
  caption.before(readout);

  // A cell belongs to the map, a group of the drawing, that it was drawn into.
  const rowOf = (cell) =>
    [...cell.parentNode.querySelectorAll(".at-cell")].filter(
      (other) => other.dataset.row === cell.dataset.row,
    );
  const mark = (cell, lit, others) => {
    cell.style.opacity = lit || !others ? "" : "0.5";
    cell.querySelector("path").style.strokeWidth = lit ? "2.5" : "0.5";
  };
  const clear = () => figure.querySelectorAll(".at-cell").forEach((cell) => mark(cell, false, false));
  const light = (cell) => {
    const row = rowOf(cell);
    figure.querySelectorAll(".at-cell").forEach((other) => mark(other, row.includes(other), true));
    const weights = row.map((other) => `${other.dataset.key}: ${other.dataset.weight}`).join(", ");
    readout.textContent = `${cell.dataset.query} reads ${weights}. Sum: ${cell.dataset.sum}.`;
    figure.dataset.lit = [...figure.querySelectorAll(".at-cell")].indexOf(row[0]);
  };
  const drawing = () => figure.querySelector("svg");
  const prepare = () => {
    const svg = drawing();
    if (!svg || svg.hasAttribute("tabindex")) return;
    svg.setAttribute("tabindex", "0");
    svg.setAttribute("aria-roledescription", "attention map; arrow keys read its rows");
    svg.querySelectorAll("text").forEach((text) => (text.style.pointerEvents = "none")); // its cell answers
    delete figure.dataset.lit;
    readout.textContent = hint;
  };
  prepare();
  new MutationObserver(prepare).observe(figure, { childList: true, subtree: true }); // a slider draws anew
  const over = (event) => {
    const cell = event.target.closest?.(".at-cell");
    if (cell) light(cell);
  };
  figure.addEventListener("pointerover", over);
  figure.addEventListener("click", over);
  figure.addEventListener("pointerleave", clear);
  figure.addEventListener("focusout", clear);
  figure.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.target !== drawing()) return;
    event.preventDefault();
    const cells = [...figure.querySelectorAll(".at-cell")];
    const rows = cells.filter((cell) => rowOf(cell)[0] === cell);
    const now = rows.indexOf(cells[figure.dataset.lit]);
    light(rows[Math.max(0, Math.min(rows.length - 1, now + step))]);
  });
});
