// A part of the page as an SVG that needs nothing else: its drawings, its words, and the colored boxes behind them.
const SHAPES = "path, rect, circle, ellipse, line, polyline, polygon, text";
const LOOK =
  "opacity fill-opacity stroke-opacity stroke-width stroke-dasharray vector-effect font-size font-weight text-anchor";
const CLEAR = "rgba(0, 0, 0, 0)";
const MARGIN = 16;
const SMALL = 12; // font size of the lines below

const brush = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));

// The first line is the picture's title; all stand below it.
/** @type {(part: Element, lines: string[]) => string} */
export function snapshot(part, lines) {
  const box = part.getBoundingClientRect();
  const width = box.width + 2 * MARGIN;
  const below = lines.flatMap((line) => broken(line, Math.floor(box.width / SMALL / 0.5)));
  const height = box.height + 2 * MARGIN + 1.5 * SMALL * below.length;
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-family": "sans-serif" });
  const { color } = getComputedStyle(part);
  const paper = getComputedStyle(document.body).backgroundColor;
  svg.append(make("title", {}, lines[0]), make("desc", {}, lines.slice(1).join(" ")));
  svg.append(make("rect", { width, height, fill: plain(paper) }));
  svg.append(copy(part, new DOMPoint(box.x - MARGIN, box.y - MARGIN)));
  below.forEach((line, i) => {
    const y = box.height + 2 * MARGIN + SMALL * (1 + 1.5 * i);
    svg.append(make("text", { x: MARGIN, y, "font-size": SMALL, fill: plain(color) }, line));
  });
  return new XMLSerializer().serializeToString(svg);
}

/** @type {(tag: string, attributes: Record<string, unknown>, text?: string) => Element} */
function make(tag, attributes, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.textContent = text;
  return element;
}

// An element as it is seen from a corner of the window, or nothing if it is hidden or only read aloud.
/** @type {(element: Element, corner: DOMPoint) => Element | ""} */
function copy(element, corner) {
  const { x, y, width, height } = element.getBoundingClientRect();
  if (!element.checkVisibility() || (width <= 1 && height <= 1)) return "";
  if (element.matches(SHAPES)) return shape(/** @type {SVGGraphicsElement} */ (element), corner);
  const { opacity, backgroundColor, borderRadius } = getComputedStyle(element);
  const group = make("g", { opacity });
  if (backgroundColor !== CLEAR) {
    const box = { x: x - corner.x, y: y - corner.y, width, height, rx: Number.parseFloat(borderRadius) };
    group.append(make("rect", { ...box, fill: plain(backgroundColor) }));
  }
  for (const child of element.childNodes) {
    if (child instanceof Element) group.append(copy(child, corner));
    if (child instanceof Text) group.append(...words(child, element, corner));
  }
  return group;
}

/** @type {(element: SVGGraphicsElement, corner: DOMPoint) => Element} */
function shape(element, corner) {
  const { a, b, c, d, e, f } = /** @type {DOMMatrix} */ (element.getScreenCTM());
  const style = getComputedStyle(element);
  const made = make(element.tagName, {}, element.matches("text") ? (element.textContent ?? "") : "");
  for (const { name, value } of element.attributes)
    if (/^([dxyr]|c[xy]|r[xy]|[xy][12]|d[xy]|width|height|points)$/.test(name))
      made.setAttribute(name, value);
  for (const name of LOOK.split(" ")) made.setAttribute(name, style.getPropertyValue(name));
  for (const name of ["fill", "stroke"]) made.setAttribute(name, plain(style.getPropertyValue(name)));
  made.setAttribute("transform", `matrix(${[a, b, c, d, e - corner.x, f - corner.y].join(" ")})`);
  return made;
}

// Each word at its own place, so that lines break where they do on the page.
/** @type {(text: Text, parent: Element, corner: DOMPoint) => Element[]} */
function words(text, parent, corner) {
  const { font, fontSize, fontWeight, fontStyle, color } = getComputedStyle(parent);
  brush.font = font;
  const { fontBoundingBoxAscent: above, fontBoundingBoxDescent: below } = brush.measureText(text.data);
  const look = {
    "font-size": fontSize,
    "font-weight": fontWeight,
    "font-style": fontStyle,
    fill: plain(color),
  };
  const range = document.createRange();
  return [...text.data.matchAll(/\S+/g)].map(({ 0: word, index }) => {
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    const box = range.getBoundingClientRect();
    const place = { x: box.x - corner.x, y: box.y - corner.y + (box.height + above - below) / 2 };
    return make("text", { ...place, ...look, textLength: box.width }, word);
  });
}

// A color as every program knows it: colors that a style sheet mixes have another form.
/** @type {(color: string) => string} */
function plain(color) {
  if (!CSS.supports("color", color)) return "none"; // or a pattern, which would be left behind
  brush.clearRect(0, 0, 1, 1);
  brush.fillStyle = color;
  brush.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = brush.getImageData(0, 0, 1, 1).data;
  return `rgba(${red}, ${green}, ${blue}, ${alpha / 255})`;
}

// A line broken into lines of about so many characters.
/** @type {(line: string, most: number) => string[]} */
const broken = (line, most) => line.match(new RegExp(`\\S.{0,${most}}(?=\\s|$)`, "g")) ?? [];
