// The poster: the whole model on a sheet of A3, with its numbers for one sentence. builder/explorer/poster.py calls it.
import { fill, h } from "./dom.js";
import { flatten } from "./flatten.js";
import { rect, strip, text } from "./marks.js";
import { capital } from "./names.js";
import { readStrips } from "./strips.js";
import { exactPercent, percent, plain, shapeWords } from "./words.js";

/** @typedef {{ x: number, y: number, stack: string, tokens: string[], items: any[] }} Column  filled from the bottom up */
/** @typedef {{ height: number, draw: (x: number, y: number) => any }} Piece  of a box */

const [WIDTH, HEIGHT, MARGIN] = [842, 1191, 18]; // of A3, in points
const [PANEL, GUTTER] = [390, 20]; // the width of a stack, and what is between both
const [PAD, LANE, GAP] = [8, 20, 8]; // around boxes, beside them for what goes past, and between two
const [INNER, BOX] = [PANEL - 3 * PAD - LANE, PANEL - PAD - LANE]; // the width of what is in a box, and of a box
const [HEAD, LINE, CELL] = [22, 15, 11]; // the height of a line that names a box, of one of words, and of a token
const NOTE =
  "Numbers: a model of The Annotated Transformer, 8-bit weights. Equations: Attention Is All You Need (2017); E and M are ours.";
const SIDE = 56; // the width of words beside what they name

/** @type {Poster} */
let data;
/** @type {Rows} */
let strips;
/** @type {[x: number, y: number, formula: string, size: number][]} */
const formulas = [];

/** @type {(request: Poster) => Promise<string>} */
async function drawStill(request) {
  data = request;
  Object.assign(BOOK, { frame: { strips: data.strips } });
  const result = /** @type {any} */ ({ ...data, frame: true });
  strips = await readStrips(/** @type {any} */ (null), result, Object.keys(data.strips));
  const svg = h("svg", { width: WIDTH, height: HEIGHT });
  fill(document.body, h("div", { class: "at-x at-poster" }, svg));
  const encoder = stack("encoder", MARGIN, data.source);
  const decoder = stack("decoder", MARGIN + PANEL + GUTTER, data.read);
  layer(encoder, [
    () =>
      attention(encoder, "Multi-head self-attention", encoder, [
        tex("attention", 40),
        tex("head"),
        tex("heads"),
      ]),
    () => feedForward(encoder),
  ]);
  layer(decoder, [
    () => attention(decoder, "Masked multi-head self-attention", decoder, [tex("masked")]),
    () => bridge(encoder, attention(decoder, "Multi-head cross-attention", encoder, [tex("cross")]), decoder),
    () => feedForward(decoder),
  ]);
  candidates(decoder);
  fill(svg, encoder.items, decoder.items, loop(decoder), words(encoder.y));
  return withFormulas(flatten(svg));
}

/** @type {(x: number, y: number, words: string, look?: string, anchor?: string) => SVGTextElement} */
const say = (x, y, words, look = "text", anchor = "start") =>
  /** @type {any} */ (text(x, y, words, { look: `at-x-${look}`, anchor }));
// A formula; its letters are added to the finished drawing.
/** @type {(x: number, y: number, formula: string, size?: number) => void} */
const math = (x, y, formula, size = 15) => void formulas.push([x, y, data.formulas[formula], size]);
/** @type {(box: Box) => Element} */
const frame = (box) => rect(box, { class: "at-x-frame" });
/** @type {(d: string, look?: string) => Element} */
const path = (d, look = "arrow") => h("path", { d, class: `at-x-${look}` });
/** @type {(name: string) => string} */
const shapeOf = (name) => shapeWords(data.shapes[name]);
// The letters of a token; that of the token that is followed has the color of its mark.
/** @type {(column: Column, place: number) => string} */
const look = ({ stack }, place) => (stack === "decoder" && place === data.step ? "word-here" : "word");

/** @type {(formula: string, height?: number) => Piece} */
const tex = (formula, height = HEAD) => ({ height, draw: (x, y) => math(x, y + height / 2 + 4, formula) });
// Beside the name of a box.
/** @type {(formula: string, by: number) => Piece} */
const aside = (formula, by) => ({ height: 0, draw: (x, y) => math(x + by, y - 5, formula, 14) });
/** @type {(words: string) => Piece} */
const remark = (words) => ({ height: LINE, draw: (x, y) => say(x, y + 11, words) });

// Vectors: a strip for each token; that of the token that is followed is marked.
/** @type {(name: string, width?: number, height?: number, by?: number) => Piece} */
const vectors = (name, width = INNER, height = 22, by = 0) => ({
  height: height + 5,
  draw: (left, y) => {
    const [x, pitch] = [left + by, height / strips[name].length];
    const here = { x: x - 6, y: y + pitch * data.step - 0.5, width: 5, height: pitch + 1 };
    return [
      strips[name].map((values, row) =>
        strip(values, { x, y: y + pitch * row, width, height: pitch - 0.3 }, { name, row }),
      ),
      frame({ x, y, width, height }),
      name.startsWith("decoder") && rect(here, { class: "at-x-here" }),
    ];
  },
});

// Weights as pixels, from paper to the darkest; what a mask hides is gray.
/** @type {(rows: (number | null)[][], box: Box) => any[]} */
function heat(rows, box) {
  const [width, height] = [rows[0].length, rows.length];
  const canvas = h("canvas", { width, height });
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const style = getComputedStyle(document.documentElement);
  /** @type {(color: string, alpha: number, ...place: [number, number, number, number]) => void} */
  const paint = (color, alpha, ...place) => {
    pen.fillStyle = style.getPropertyValue(`--at-${color}`);
    pen.globalAlpha = alpha;
    pen.fillRect(...place);
  };
  paint("paper", 1, 0, 0, width, height);
  rows.forEach((row, y) =>
    row.forEach((one, x) => paint(one === null ? "rule" : "heat", one ?? 1, x, y, 1, 1)),
  );
  return [h("image", { ...box, href: canvas.toDataURL(), preserveAspectRatio: "none" }), frame(box)];
}

// A box on top of the others, and the arrow into it. Returns where it is.
/** @type {(column: Column, name: string, shape: string, role: string, pieces: Piece[]) => Box} */
function box(column, name, shape, role, pieces) {
  const height = HEAD + 3 + pieces.reduce((sum, piece) => sum + piece.height, 0);
  const place = { x: column.x + PAD, y: (column.y -= GAP + height), width: BOX, height };
  column.items.push(
    path(`M${place.x + BOX / 2} ${place.y + height + GAP}v${1 - GAP}m-4 5l4 -5l4 5`),
    h("g", { class: "at-x-box", style: `--role: var(--at-${role})` }, rect(place, { rx: 5 })),
    say(place.x + PAD, place.y + 17, name, "name"),
    say(place.x + BOX - PAD, place.y + 17, shape, "shape", "end"),
  );
  let y = place.y + HEAD + 1;
  for (const piece of pieces) {
    column.items.push(piece.draw(place.x + PAD, y));
    y += piece.height;
  }
  return place;
}

// Tokens in a line: above each other, what is known of each.
/** @type {(column: Column, lines: Record<string, string[]>) => void} */
function tokens(column, lines) {
  const [names, rows] = [Object.keys(lines), Object.values(lines)];
  const [top, height] = [(column.y -= LINE * rows.length + 6), LINE * rows.length + 5];
  const svg = /** @type {Element} */ (document.querySelector(".at-poster > svg"));
  const wide = rows[0].map((_, i) => {
    const probes = rows.map((row, k) => say(0, 0, row[i], k ? "quiet" : "word"));
    svg.append(...probes);
    return Math.max(...probes.map((probe) => probe.getComputedTextLength()));
  });
  const air = (BOX + LANE - SIDE - wide.reduce((sum, one) => sum + one)) / wide.length;
  column.items.push(names.map((name, k) => say(column.x, top + LINE * (k + 1), name, "quiet")));
  let x = column.x + PAD + SIDE;
  for (const [i, own] of wide.entries()) {
    const middle = x + (own + air) / 2;
    column.items.push(
      rect({ x: x + 1, y: top, width: own + air - 2, height }, { class: "at-x-frame", rx: 4 }),
      rows.map((row, k) =>
        say(middle, top + LINE * (k + 1), row[i], k ? "quiet" : look(column, i), "middle"),
      ),
    );
    x += own + air;
  }
}

// What a stack begins with: tokens, embedding, positions, and the layers that are not drawn open.
/** @type {(stack: string, x: number, read: { tokens: string[], ids: number[] }) => Column} */
function stack(stack, x, { tokens: read, ids }) {
  /** @type {Column} */
  const column = { x, y: HEIGHT - MARGIN - LINE - 2, stack, tokens: read.map(plain), items: [] };
  const [places, half] = [read.map((_, i) => String(i)), INNER / 2 - 6];
  tokens(column, { token: column.tokens, id: ids.map(String), position: places });
  const [embedding, positions, embedded] = ["embedding", "positions", "embedded"].map(
    (kind) => `${stack}.${kind}`,
  );
  box(column, "Embedding", shapeOf(embedding), "first", [aside("embedding", 96), vectors(embedding)]);
  box(column, "+ position", shapeOf(embedded), "first", [
    aside("sine", 78),
    { height: HEAD, draw: (x, y) => (math(x + 78, y + 16, "cosine", 14), say(x, y + 16, "PE, then sum")) },
    { ...vectors(positions, half), height: 0 },
    vectors(embedded, half, 22, half + 12),
  ]);
  for (let at = 0; at < data.layer; at += 1) {
    const place = { x, y: (column.y -= 22), width: PANEL, height: 18 };
    column.items.push(
      h("g", { class: "at-x-panel" }, rect(place, { rx: 4 })),
      say(x + PAD, place.y + 13, `layer ${at + 1}`),
      vectors(output(stack, at), INNER - SIDE, 14).draw(x + 2 * PAD + SIDE, place.y + 2),
    );
  }
  column.y -= PAD;
  return column;
}

/** @type {(stack: string, layer: number) => string} */
const output = (stack, layer) => `${stack}.layers.${layer}.add_norm_${stack === "encoder" ? 2 : 3}`;

// The layer that is drawn open: its sub-layers, each with Add & Norm and a way past it, on a sheet.
/** @type {(column: Column, sublayers: (() => Box)[]) => void} */
function layer(column, sublayers) {
  const { x, y: foot, items, stack } = column;
  const at = items.length;
  for (const [i, draw] of sublayers.entries()) {
    const past = draw();
    const name = `${stack}.layers.${data.layer}.add_norm_${i + 1}`;
    const { y } = box(column, "Add & Norm", shapeOf(name), "muted", [aside("norm", 96), vectors(name)]);
    const [right, low] = [past.x + BOX, past.y + past.height + GAP / 2];
    const curve = `H${right + LANE - 14}q6 0 6 -6V${y + 18}q0 -6 -6 -6H${right + 1}m5 -4l-5 4l5 4`;
    items.push(path(`M${past.x + BOX / 2} ${low}${curve}`));
  }
  column.y -= HEAD + 2;
  const sheet = { x, y: column.y, width: PANEL, height: foot - column.y };
  const title = `${capital(stack)}, layer ${data.layer + 1} of ${data.layer + 1}`;
  items.splice(at, 0, h("g", { class: "at-x-panel" }, rect(sheet, { rx: 8 })));
  items.push(say(x + PAD, sheet.y + 17, title, "name"));
}

// For each head, what each token reads of `read`.
/** @type {(column: Column, name: string, read: Column, pieces: Piece[]) => Box} */
function attention(column, name, read, pieces) {
  const full = `${column.stack}.layers.${data.layer}.${column === read ? "self" : "cross"}_attention`;
  const [query, key, scores] = ["query", "key", "scores"].map((kind) => shapeOf(`${full}.${kind}`));
  const [weights, height] = [data.weights[full], CELL * column.tokens.length];
  const pitch = (INNER - SIDE + 6) / weights.length;
  const even = read.tokens.flatMap((_, place) => (place % 2 ? [] : [place])); // there is no room for all
  /** @type {(rows: (number | null)[][], head: number, x: number, y: number) => any} */
  const map = (rows, head, x, y) => [
    say(x, y - 4, head ? String(head + 1) : "head 1", "quiet"),
    heat(rows, { x, y, width: pitch - 6, height }),
    even.map((place) => {
      const middle = x + ((place + 0.5) * (pitch - 6)) / read.tokens.length;
      return say(middle, y + height + 11, String(place), "quiet", "middle");
    }),
  ];
  /** @type {Piece} */
  const heads = {
    height: height + CELL + 18,
    draw: (x, y) => [
      column.tokens.map((token, i) => say(x + SIDE - 5, y + 23 + CELL * i, token, look(column, i), "end")),
      weights.map((rows, head) => map(rows, head, x + SIDE + pitch * head, y + 14)),
    ],
  };
  const { d_model: wide } = data.config;
  const own = `Q, K, V: ${query} · weights: ${scores} · W: ${shapeWords([wide, wide / weights.length])}`;
  const sizes = column === read ? own : `Q: ${query} · K, V: ${key} · weights: ${scores}`;
  return box(column, name, shapeOf(`${full}.output`), "query", [...pieces, heads, remark(sizes)]);
}

/** @type {(column: Column) => Box} */
function feedForward(column) {
  const full = `${column.stack}.layers.${data.layer}.feed_forward`;
  const hidden = `${full}.activation`;
  return box(column, "Feed-forward", shapeOf(full), "value", [
    tex("network"),
    vectors(hidden),
    { height: 0, draw: (x, y) => math(x + 112, y + 11, "matrices", 14) },
    remark(`hidden: ${shapeOf(hidden)}`),
  ]);
}

// From the encoder's last vectors to the box that reads them.
/** @type {(encoder: Column, reader: Box, decoder: Column) => Box} */
function bridge(encoder, reader, decoder) {
  const [from, top, x] = [encoder.x + PAD + BOX / 2, encoder.y - GAP, encoder.x + PANEL + GUTTER / 2];
  const [y, words] = [
    reader.y + reader.height / 2,
    `${shapeOf(output("encoder", data.layer))}, for each decoder layer`,
  ];
  const start = `M${from} ${encoder.y}V${top + 8}q0 -8 8 -8H${x - 8}q8 0 8 8V${y - 8}`;
  const arrow = path(`${start}q0 8 8 8H${reader.x - 3}m-7 -6l7 6l-7 6`, "reads");
  decoder.items.push(arrow, say(x, top - 6, words, "text", "end"));
  return reader;
}

// The likeliest next tokens, and all that are written.
/** @type {(column: Column) => void} */
function candidates(column) {
  const rows = data.top.map(({ token, logit, probability }, i) => ({
    height: LINE,
    draw: (/** @type {number} */ x, /** @type {number} */ y) => {
      const track = { x: x + 150, y: y + 3, width: 140, height: 10 };
      return [
        say(x + 66, y + 12, plain(token, 1), i ? "text" : "word-here", "end"),
        say(x + 138, y + 12, `logit ${logit.toFixed(1)}`, "quiet", "end"),
        rect(track, { class: "at-x-track", rx: 2 }),
        rect({ ...track, width: track.width * probability }, { class: "at-x-probability", rx: 2 }),
        say(x + INNER, y + 12, exactPercent(probability), "quiet", "end"),
      ];
    },
  }));
  box(column, "Linear and softmax", shapeOf("logits"), "output", [aside("output", 158), ...rows]);
  column.y -= GAP;
  tokens(column, { written: data.target.tokens.map(plain), probability: data.chosen.map(percent) });
}

// What is written is read again.
/** @type {(decoder: Column) => Element} */
function loop(decoder) {
  const [right, edge, low] = [decoder.x + PANEL, WIDTH - 14, HEIGHT - MARGIN - LINE - 26];
  return path(
    `M${right} ${decoder.y + 18}H${edge - 8}q8 0 8 8V${low - 8}q0 8 -8 8H${right + 1}m5 -4l-5 4l5 4`,
  );
}

// Above the encoder: what the sheet shows, one head in full, and what the letters stand for.
/** @type {(foot: number) => any[]} */
function words(foot) {
  const [x, y] = [MARGIN, foot - 84];
  /** @type {(i: number) => number} */
  const at = (i) => x + 92 + 50 * i;
  const sizes = Object.entries(data.sizes);
  sizes.forEach(([name], i) => math(at(i), y, name));
  return [
    say(x, 50, "The Transformer", "big"),
    say(x, 76, data.sentence, "lead"),
    say(x, 97, data.text, "lead"),
    closer(x, 123),
    ["this model", "paper, base"].map((name, k) => [
      say(x, y + 17 + 17 * k, name),
      sizes.map(([, both], i) => say(at(i), y + 17 + 17 * k, String(both[k]), "size")),
    ]),
    say(x, y + 54, "Strips: violet above 0, amber below, full color from ±2. Maps: 1 is black."),
    say(x, HEIGHT - MARGIN + 4, NOTE),
  ];
}

// One query of one head, in numbers.
/** @type {(x: number, top: number) => any[]} */
function closer(x, top) {
  const { key, value } = data.closer;
  const [query, scores, weights, heads] = ["query", "scores", "weights", "heads"].map(
    (kind) => data.closer[kind][data.step],
  );
  const [keys, score, bar, share, values] = [66, 196, 208, 280, 296].map((by) => x + by);
  /** @type {(values: number[], x: number, y: number) => any} */
  const small = (values, x, y) => [
    strip(values, { x, y: y - 9, width: 84, height: 9 }, { name: "", row: 0 }),
    frame({ x, y: y - 9, width: 84, height: 9 }),
  ];
  math(keys - 16, top + 23, "query");
  math(values - 66, top + 23, "mixed");
  [keys, score - 54, bar + 20, values].forEach((at, i) =>
    math(at, top + 43, ["key", "score", "weight", "value"][i]),
  );
  return [
    say(
      x,
      top,
      `Head ${data.head + 1} of cross-attention, after “${plain(data.read.tokens[data.step], 1)}”`,
      "name",
    ),
    small(query, keys, top + 23),
    small(heads, values, top + 23),
    data.source.tokens.map((token, i) => {
      const y = top + 60 + 13 * i;
      return [
        say(x, y, plain(token, i)),
        small(key[i], keys, y),
        say(score, y, scores[i].toFixed(2).replace("-", "−"), "quiet", "end"),
        rect({ x: bar, y: y - 9, width: 40 * weights[i], height: 9 }, { class: "at-x-weight" }),
        say(share, y, exactPercent(weights[i]), "quiet", "end"),
        small(value[i], values, y),
      ];
    }),
  ];
}

// The drawing with its formulas, which share the outlines of their letters.
/** @type {(drawing: string) => string} */
function withFormulas(drawing) {
  const { input, output, adaptors, handlers, mathjax } = MathJax._;
  const adaptor = adaptors.liteAdaptor.liteAdaptor();
  handlers.html_ts.RegisterHTMLHandler(adaptor);
  const letters = new output.svg_ts.SVG({ font: new output.svg.fonts.tex_ts.TeXFont(), fontCache: "global" });
  const reader = new input.tex_ts.TeX({ packages: ["base", "ams"] });
  const page = mathjax.mathjax.document("", { InputJax: reader, OutputJax: letters });
  const set = formulas.map(([x, y, formula, size]) => {
    const html = adaptor.innerHTML(
      page.convert(formula, { display: true, em: 16, ex: 8, containerWidth: 1e6 }),
    );
    const shapes = html.replace(/^<svg[^>]*>|<\/svg>$/g, "").replace(/ data-[\w-]+="[^"]*"/g, "");
    return `<g transform="translate(${x} ${y}) scale(${size / 100}) scale(0.1)" color="#1d2430">${shapes}</g>`;
  });
  const outlines = adaptor.outerHTML(letters.fontCache.getCache());
  return drawing.replace("</svg>", `${outlines}${set.join("\n")}</svg>`);
}

Object.assign(window, { drawStill });
