// Turns elements of the page into one SVG: their backgrounds, words, and drawings, where the browser has put them.

// The style sheets in which still.py runs this repeat each color as `--fill` and so on, in which the variables of the
// theme have values that still.py finds again.
const SHAPES = ["path", "rect", "image", "text"];
const KEPT = ["x", "y", "width", "height", "rx", "d", "href", "preserveAspectRatio"];
const FONT = /** @type {const} */ (["font-size", "font-weight", "font-style"]);
const HATCH = 7; // pixels between two lines

/** @typedef {{ left: number, top: number, right: number, bottom: number }} Area  of the page */

// It is shown at `zoom` times its size.
/** @type {(root: Element, crop?: Area, zoom?: number) => string} */
export function flatten(root, crop = root.getBoundingClientRect(), zoom = 1) {
  const { left, top } = crop;
  const parts = [...texts(root, crop)];
  const shapes = [...root.querySelectorAll("*")].flatMap((element) => {
    const box = element.getBoundingClientRect();
    if (!element.checkVisibility() || !meets(box, crop) || element.closest(".at-hidden")) return [];
    if (!(element instanceof SVGElement)) return ground(element, box, left, top);
    return SHAPES.includes(element.tagName) ? shape(element, left, top) : [];
  });
  const [width, height] = [crop.right - left, crop.bottom - top].map(Math.ceil);
  const [across, down] = [width, height].map((size) => Math.round(zoom * size));
  return `<svg width="${across}" height="${down}" viewBox="0 0 ${width} ${height}">${[...shapes, ...parts].join("\n")}</svg>`;
}

/** @type {(box: DOMRect, crop: Area) => boolean} */
const meets = (box, { left, top, right, bottom }) =>
  box.right > left && box.left < right && box.bottom > top && box.top < bottom;

const pen = /** @type {CanvasRenderingContext2D} */ (
  document.createElement("canvas").getContext("2d", { willReadFrequently: true })
);

// A color for programs that know no functions, and, if there is one, the function for those that do.
/** @type {(name: string, style: CSSStyleDeclaration, from?: string) => string} */
function paint(name, style, from = name) {
  const color = style.getPropertyValue(from === "background" ? "background-color" : from);
  if (color === "none") return `${name}: none;`;
  const mixed = style.getPropertyValue(`--${from}`).trim();
  const [, clear, share] = /^color-mix\(in srgb, (\S+) (\d+)%, transparent\)/.exec(mixed) ?? [];
  if (clear) return `${name}: ${clear}; ${name}-opacity: ${Number(share) / 100};`;
  if (!mixed.startsWith("color-mix")) return `${name}: ${mixed || color};`;
  pen.fillStyle = color;
  pen.fillRect(0, 0, 1, 1);
  const { data } = pen.getImageData(0, 0, 1, 1);
  const hex = Array.from(data.slice(0, 3), (one) => one.toString(16).padStart(2, "0")).join("");
  return `${name}: #${hex}; ${name}: ${mixed};`;
}

// The background of an element; that of a key is a bar, as long as its weight.
/** @type {(element: Element, box: DOMRect, left: number, top: number) => string[]} */
function ground(element, box, left, top) {
  const style = getComputedStyle(element);
  const color = style.getPropertyValue("--background").trim();
  const [x, y] = [box.x - left, box.y - top];
  const place = (width = box.width) =>
    `x="${x + box.width - width}" y="${y}" width="${width}" height="${box.height}" rx="${Number.parseFloat(style.borderRadius) || 0}"`;
  if (!color || color === "none" || color === "transparent") return [];
  if (color.startsWith("repeating")) return [hatch({ x, y, width: box.width, height: box.height })];
  if (style.outlineStyle === "solid") {
    const inset = `x="${x + 1.5}" y="${y + 1.5}" width="${box.width - 3}" height="${box.height - 3}"`;
    return [
      `<rect ${inset} style="${paint("fill", style, "background")} stroke: ${style.getPropertyValue("--at-query-text")}; stroke-width: 3px;"/>`,
    ];
  }
  if (!color.startsWith("linear"))
    return [`<rect ${place()} style="${paint("fill", style, "background")}"/>`];
  const room = box.width - Number.parseFloat(style.getPropertyValue("--numbers")) * 16;
  const bar = room * Number(style.getPropertyValue("--weight"));
  const [, key, share] = /color-mix\(in srgb, (\S+) (\d+)%/.exec(color) ?? [];
  return bar ? [`<rect ${place(bar)} style="fill: ${key}; fill-opacity: ${Number(share) / 100};"/>`] : [];
}

// What a mask hides.
/** @type {(box: Box) => string} */
function hatch({ x, y, width, height }) {
  let d = "";
  for (let at = HATCH / 2; at < width + height; at += HATCH) {
    const [high, low] = [Math.max(0, at - height), Math.min(at, width)];
    d += `M${x + high} ${y + at - high}L${x + low} ${y + at - low}`;
  }
  return `<path d="${d}" style="fill: none; stroke: #d9dde3; stroke-width: 1.5;"/>`;
}

/** @type {(text: string) => string} */
const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");

// A part of a drawing in the page. One that is stretched, that of the curves, has only M and C in its paths.
/** @type {(element: SVGElement, left: number, top: number) => string} */
function shape(element, left, top) {
  const {
    a,
    d: down,
    e,
    f,
  } = /** @type {DOMMatrix} */ (/** @type {SVGGraphicsElement} */ (element).getScreenCTM());
  const stretched = a !== 1 || down !== 1;
  const style = getComputedStyle(element);
  let at = 0;
  const attributes = KEPT.filter((name) => element.hasAttribute(name)).map((name) => {
    const value = /** @type {string} */ (element.getAttribute(name));
    if (!stretched || name !== "d") return `${name}="${escaped(value)}"`;
    const moved = value.replace(/-?[\d.]+/g, (one) =>
      String(at++ % 2 ? Number(one) * down + f - top : Number(one) * a + e - left),
    );
    return `d="${moved}"`;
  });
  if (!stretched) attributes.push(`transform="translate(${e - left} ${f - top})"`);
  const looks = [paint("fill", style), paint("stroke", style)];
  if (style.stroke !== "none") looks.push(`stroke-width: ${style.strokeWidth};`);
  for (const name of ["fill-opacity", "stroke-opacity"])
    if (Number(style.getPropertyValue(name)) !== 1) looks.push(`${name}: ${style.getPropertyValue(name)};`);
  if (style.strokeDasharray !== "none" && !element.hasAttribute("pathLength"))
    looks.push(`stroke-dasharray: ${style.strokeDasharray};`);
  if (element.tagName === "image")
    return `<image ${attributes.join(" ")} style="image-rendering: ${style.imageRendering}"/>`;
  if (element.tagName !== "text")
    return `<${element.tagName} ${attributes.join(" ")} style="${looks.join(" ")}"/>`;
  if (style.paintOrder !== "normal") looks.push(`paint-order: ${style.paintOrder};`);
  const anchor = element.getAttribute("text-anchor");
  if (anchor) attributes.push(`text-anchor="${anchor}"`);
  return `<text ${attributes.join(" ")} style="${looks.join(" ")} ${font(style)}">${escaped(element.textContent ?? "")}</text>`;
}

/** @type {(style: CSSStyleDeclaration) => string} */
const font = (style) => FONT.map((name) => `${name}: ${style.getPropertyValue(name)};`).join(" ");

// The lines of words that are not in a drawing: a piece for each look.
/** @type {(root: Element, crop: Area) => Iterable<string>} */
function* texts(root, crop) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  /** @type {Map<string, { block: Element, pieces: { node: Node, style: CSSStyleDeclaration, box: DOMRect }[] }>} */
  const lines = new Map();
  while (walker.nextNode()) {
    const { currentNode: node } = walker;
    const parent = /** @type {Element} */ (node.parentElement);
    if (parent.closest("svg, .at-hidden") || !parent.checkVisibility() || !node.nodeValue?.trim()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (!meets(box, crop)) continue;
    let block = parent;
    while (getComputedStyle(block).display === "inline") block = /** @type {Element} */ (block.parentElement);
    const line = `${Math.round(block.getBoundingClientRect().x)} ${Math.round(block.getBoundingClientRect().y)} ${Math.round(box.y)}`;
    if (!lines.has(line)) lines.set(line, { block, pieces: [] });
    lines.get(line)?.pieces.push({ node, style: getComputedStyle(parent), box });
  }
  for (const { block, pieces } of lines.values()) {
    const align = getComputedStyle(block).textAlign;
    const anchor = { center: "middle", right: "end", end: "end" }[align] ?? "start";
    const [from, to] = [pieces[0].box.left, /** @type {typeof pieces[0]} */ (pieces.at(-1)).box.right];
    const x = { start: from, middle: (from + to) / 2, end: to }[anchor] ?? from;
    const { style, box } = pieces[0];
    pen.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const y = box.top + pen.measureText("x").fontBoundingBoxAscent;
    const words = pieces.map(({ node, style }, i) => {
      const text = escaped((node.nodeValue ?? "").replace(/\s+/g, " "));
      const trimmed = i === pieces.length - 1 ? text.trimEnd() : text;
      return `<tspan style="${paint("fill", style, "color")} ${font(style)}">${i ? trimmed : trimmed.trimStart()}</tspan>`;
    });
    const [right, down] = [x - crop.left, y - crop.top];
    if (!getComputedStyle(block).writingMode.startsWith("vertical"))
      yield `<text x="${right}" y="${down}" text-anchor="${anchor}">${words.join("")}</text>`;
    else {
      const { x, width } = block.getBoundingClientRect();
      const [middle, bottom] = [x + width / 2 + 4 - crop.left, box.bottom - crop.top]; // 4: half a letter's height
      yield `<text transform="translate(${middle} ${bottom}) rotate(-90)">${words.join("")}</text>`;
    }
  }
}
