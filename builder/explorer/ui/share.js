// What is shown, to be shared: its link, and its drawing as SVG or PNG with title and license.
import { button, fill, h } from "./dom.js";
import { toFragment } from "./state.js";

const LICENSE = "The Annotated Transformer, CC BY 4.0; model trained on Tatoeba’s sentences, CC BY 2.0";
const LOOK =
  "display opacity vector-effect visibility fill fill-opacity stroke stroke-opacity stroke-width stroke-dasharray stroke-linecap paint-order font-size font-weight font-style text-anchor dominant-baseline";
/** @type {Record<string, string>} */
const NOT_INHERITED = { display: "inline", opacity: "1", "vector-effect": "none" };
const MARGIN = 16;
const SHARPNESS = 2; // pixels of a PNG for each pixel of the page

/** @type {(explorer: Explorer) => Element} */
export function sharing(explorer) {
  const { picture, store } = explorer;
  const drawing = () =>
    standalone(picture.svg, `“${store.state.text.trim()}” becomes “${store.result.text}”`);
  const message = h("p");
  const copy = async () => {
    fill(message, await copied(location.href.split("#")[0] + toFragment(store.state)));
    explorer.say(message.textContent ?? "");
  };
  return h(
    "details",
    { class: "at-x-help at-x-share" },
    h("summary", {}, "Share"),
    button("Copy the link", copy, { "data-key": "copy link" }),
    button("SVG", () => save(drawing(), "svg"), { "data-key": "svg" }),
    button("PNG", async () => save(await png(drawing()), "png"), { "data-key": "png" }),
    message,
  );
}

// Copies a link, and says so; where the browser forbids it, the reader can do it.
/** @type {(link: string) => Promise<Child>} */
async function copied(link) {
  try {
    await navigator.clipboard.writeText(link);
    return "The link is copied.";
  } catch {
    return ["Copy this link: ", h("a", { href: link }, link)];
  }
}

// A drawing of the page as a file that needs nothing else: it looks as it does now, with two lines below it.
/** @type {(drawing: SVGSVGElement, title: string) => Blob} */
function standalone(drawing, title) {
  const box = drawing.getBoundingClientRect();
  const [width, height] = [box.width + 2 * MARGIN, box.height + 5 * MARGIN];
  const { backgroundColor, color } = getComputedStyle(document.body);
  const copy = /** @type {SVGSVGElement} */ (drawing.cloneNode(true));
  const originals = [drawing, ...drawing.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((part, i) => dress(part, originals[i]));
  const place = { x: MARGIN, y: MARGIN, width: box.width, height: box.height, overflow: "visible" };
  for (const [name, value] of Object.entries(place)) copy.setAttribute(name, String(value));
  /** @type {(node: Node) => string} */
  const written = (node) => new XMLSerializer().serializeToString(node);
  const [name, license] = [title, LICENSE].map((line) => written(new Text(line)));
  const size = Math.min(12, (2 * box.width) / Math.max(title.length, LICENSE.length)); // so that both lines fit
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif">
<title>${name}</title><desc>${license}</desc><rect width="100%" height="100%" fill="${plainColor(backgroundColor)}"/>
${written(copy)}
<g fill="${plainColor(color)}" font-size="${size}"><text x="${MARGIN}" y="${height - 2 * MARGIN}">${name}</text>
<text x="${MARGIN}" y="${height - MARGIN}">${license}</text></g></svg>`;
  return new Blob([svg], { type: "image/svg+xml" });
}

// Writes what the style sheets say of a part into its copy, unless it inherits that, or it is usual.
/** @type {(copy: Element, part: Element) => void} */
function dress(copy, part) {
  const style = getComputedStyle(part);
  const outer = copy.parentElement && getComputedStyle(/** @type {Element} */ (part.parentElement));
  copy.removeAttribute("style"); // its variables have done their work
  const length = part instanceof SVGTextElement && part.getComputedTextLength();
  if (length) copy.setAttribute("textLength", String(length)); // the file has another face, which may be wider
  if (length) copy.setAttribute("lengthAdjust", "spacingAndGlyphs");
  for (const name of LOOK.split(" ")) {
    const value = style.getPropertyValue(name);
    const usual = NOT_INHERITED[name] ?? outer?.getPropertyValue(name);
    if (value !== usual || copy.hasAttribute(name)) copy.setAttribute(name, plainColor(value));
  }
}

// A color as every program knows it, since those that a style sheet mixes have another form; other values stay.
/** @type {(value: string) => string} */
function plainColor(value) {
  if (!value.includes("(") || !CSS.supports("color", value)) return value;
  const brush = /** @type {CanvasRenderingContext2D} */ (h("canvas").getContext("2d"));
  brush.fillStyle = value;
  brush.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = brush.getImageData(0, 0, 1, 1).data;
  return `rgba(${red}, ${green}, ${blue}, ${alpha / 255})`;
}

/** @type {(svg: Blob) => Promise<Blob>} */
async function png(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(await svg.text())}`;
  await image.decode();
  const canvas = h("canvas", { width: SHARPNESS * image.width, height: SHARPNESS * image.height });
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(/** @type {Blob} */ (blob))));
}

/** @type {(blob: Blob, ending: string) => void} */
const save = (blob, ending) =>
  h("a", { href: URL.createObjectURL(blob), download: `transformer.${ending}` }).click();
