// The poster: the whole model on a sheet of A3, with its numbers for one sentence. builder/explorer/poster.py calls it.
import { fill, h } from "./dom.js";
import { flatten } from "./flatten.js";
import { rect, strip, text } from "./marks.js";
import { capital } from "./names.js";
import { readStrips } from "./strips.js";
import { exactPercent, number, percent, plain, shapeWords } from "./words.js";

/** @typedef {{ x: number, y: number, stack: string, tokens: string[], items: any[] }} Column  filled from the bottom up */
/** @typedef {{ height: number, draw: (x: number, y: number) => any }} Piece  of a box */

const [WIDTH, HEIGHT, MARGIN] = [842, 1191, 18]; // of A3, in points
const [PANEL, GUTTER] = [390, 26]; // the width of a stack, and what is between both
const [PAD, LANE, GAP] = [8, 20, 8]; // around boxes, beside them for what goes past, and between two
const [INNER, BOX] = [PANEL - 3 * PAD - LANE, PANEL - PAD - LANE]; // the width of what is in a box, and of a box
const [HEAD, LINE, CELL] = [22, 15, 11]; // the height of a line that names a box, of one of small letters, and of a token
const SIDE = 56; // the width of words beside what they name

/** @type {any} */
let data;
/** @type {any} */
let strips;
/** @type {[x: number, y: number, tex: string, size: number][]} */
const formulas = [];

/** @type {(request: any) => Promise<string>} */
async function drawStill(request) {
  data = request;
  Object.assign(BOOK, { frame: { strips: data.strips } });
  strips = await readStrips(/** @type {any} */ (null), { ...data, frame: true }, Object.keys(data.strips));
  const svg = h("svg", { width: WIDTH, height: HEIGHT });
  fill(document.body, h("div", { class: "at-x at-poster" }, svg));
  const encoder = stack("encoder", MARGIN, data.source);
  const decoder = stack("decoder", MARGIN + PANEL + GUTTER, data.read);
  layer(encoder, () => {
    addNorm(
      encoder,
      1,
      attention(encoder, "Multi-head self-attention", "self_attention", encoder.tokens, [
        tex(String.raw`\mathrm{Attention}(Q,K,V)=\mathrm{softmax}\Big(\frac{QK^\top}{\sqrt{d_k}}\Big)V`, 40),
        tex(String.raw`\mathrm{head}_i=\mathrm{Attention}(QW_i^Q,\,KW_i^K,\,VW_i^V)`),
        tex(String.raw`\mathrm{MultiHead}=\mathrm{Concat}(\mathrm{head}_1,\dots,\mathrm{head}_h)\,W^O`),
      ]),
    );
    addNorm(encoder, 2, feedForward(encoder));
  });
  layer(decoder, () => {
    addNorm(
      decoder,
      1,
      attention(decoder, "Masked self-attention", "self_attention", decoder.tokens, [
        tex(String.raw`\mathrm{softmax}(QK^\top/\sqrt{d_k}+M)\,V,\;\; M_{ij}=-\infty\text{ if }j>i`),
      ]),
    );
    const reader = attention(decoder, "Cross-attention", "cross_attention", encoder.tokens, [
      tex(String.raw`\mathrm{softmax}(QK^\top/\sqrt{d_k})\,V,\;\; K,V\text{ from the encoder}`),
    ]);
    decoder.items.push(bridge(encoder, reader));
    addNorm(decoder, 2, reader);
    addNorm(decoder, 3, feedForward(decoder));
  });
  candidates(decoder);
  fill(svg, encoder.items, decoder.items, loop(decoder), words(encoder.y));
  return withFormulas(flatten(svg));
}

/** @type {(x: number, y: number, words: string, look?: string, anchor?: string) => SVGTextElement} */
const say = (x, y, words, look = "text", anchor = "start") =>
  /** @type {any} */ (text(x, y, words, { look: `at-x-${look}`, anchor }));
// A formula; its letters are added to the finished drawing.
/** @type {(x: number, y: number, tex: string, size?: number) => void} */
const math = (x, y, tex, size = 15) => void formulas.push([x, y, tex, size]);
/** @type {(box: Box) => Element} */
const frame = (box) => rect(box, { class: "at-x-frame" });
/** @type {(d: string, look?: string) => Element} */
const path = (d, look = "arrow") => h("path", { d, class: `at-x-${look}` });
/** @type {(name: string) => string} */
const shapeOf = (name) => shapeWords(data.shapes[name]);

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
  draw: (left, top) => {
    const [rows, x] = [strips[name], left + by];
    const pitch = height / rows.length;
    /** @type {(values: any, row: number) => Element} */
    const one = (values, row) =>
      strip(values, { x, y: top + pitch * row, width, height: pitch - 0.3 }, { name, row });
    const here = { x: x - 6, y: top + pitch * data.step - 0.5, width: 5, height: pitch + 1 };
    return [
      rows.map(one),
      frame({ x, y: top, width, height }),
      name.startsWith("decoder") && rect(here, { class: "at-x-here" }),
    ];
  },
});

// Weights as pixels, from paper to the darkest; what a mask hides is gray.
/** @type {(rows: (number | null)[][], box: Box) => any[]} */
function heat(rows, box) {
  const canvas = h("canvas", { width: rows[0].length, height: rows.length });
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const style = getComputedStyle(document.documentElement);
  for (const [y, row] of rows.entries())
    for (const [x, weight] of row.entries()) {
      for (const [color, alpha] of [
        ["--at-paper", 1],
        weight === null ? ["--at-rule", 1] : ["--at-heat", weight],
      ]) {
        pen.globalAlpha = Number(alpha);
        pen.fillStyle = style.getPropertyValue(String(color));
        pen.fillRect(x, y, 1, 1);
      }
    }
  return [h("image", { ...box, href: canvas.toDataURL(), preserveAspectRatio: "none" }), frame(box)];
}

// A box on top of the others, and the arrow into it. Returns where it is.
/** @type {(column: Column, name: string, shape: string, role: string, pieces: Piece[]) => Box} */
function box(column, name, shape, role, pieces) {
  const height = HEAD + 3 + pieces.reduce((sum, piece) => sum + piece.height, 0);
  const place = { x: column.x + PAD, y: (column.y -= GAP + height), width: BOX, height };
  const [x, right] = [place.x + PAD, place.x + BOX];
  column.items.push(
    path(`M${place.x + BOX / 2} ${place.y + height + GAP}v${1 - GAP}m-4 5l4 -5l4 5`),
    h("g", { class: "at-x-box", style: `--role: var(--at-${role})` }, rect(place, { rx: 5 })),
    say(x, place.y + 17, name, "name"),
    say(right - PAD, place.y + 17, shape, "shape", "end"),
  );
  let y = place.y + HEAD + 1;
  for (const piece of pieces) {
    column.items.push(piece.draw(x, y));
    y += piece.height;
  }
  return place;
}

// Tokens in a line: above each other, what is known of each.
/** @type {(column: Column, lines: Record<string, string[]>, here: number) => void} */
function tokens(column, lines, here) {
  const [names, rows] = [Object.keys(lines), Object.values(lines)];
  const top = (column.y -= LINE * rows.length + 6);
  /** @type {(place: number, line: number) => string} */
  const look = (place, line) => (line ? "quiet" : place === here ? "word-here" : "word");
  const svg = /** @type {Element} */ (document.querySelector(".at-poster > svg"));
  const wide = rows[0].map((_, i) => {
    const probes = rows.map((row, k) => say(0, 0, row[i], look(i, k)));
    svg.append(...probes);
    return Math.max(...probes.map((probe) => probe.getComputedTextLength()));
  });
  const air = (BOX + LANE - SIDE - wide.reduce((sum, one) => sum + one)) / wide.length;
  column.items.push(names.map((name, k) => say(column.x + PAD, top + LINE * (k + 1), name, "quiet")));
  let x = column.x + PAD + SIDE;
  for (const [i, own] of wide.entries()) {
    column.items.push(
      rect(
        { x: x + 1, y: top, width: own + air - 2, height: LINE * rows.length + 5 },
        { class: "at-x-frame", rx: 4 },
      ),
      rows.map((row, k) => say(x + (own + air) / 2, top + LINE * (k + 1), row[i], look(i, k), "middle")),
    );
    x += own + air;
  }
}

// What a stack begins with: tokens, embedding, positions, and the layers that are not drawn open.
/** @type {(stack: string, x: number, read: { tokens: string[], ids: number[] }) => Column} */
function stack(stack, x, { tokens: read, ids }) {
  const column = { x, y: HEIGHT - MARGIN - LINE - 2, stack, tokens: read.map(plain), items: [] };
  const places = read.map((_, i) => String(i));
  tokens(
    column,
    { token: column.tokens, id: ids.map(String), position: places },
    stack === "decoder" ? data.step : -1,
  );
  const { vocab_size: vocabulary, d_model: wide } = data.config;
  box(column, "Embedding", shapeOf(`${stack}.embedding`), "first", [
    aside(String.raw`E_{\mathrm{id}}\sqrt{d_{\mathrm{model}}},\;\;E:${vocabulary}\times${wide}`, 96),
    vectors(`${stack}.embedding`),
  ]);
  const half = INNER / 2 - 6;
  box(column, "+ positions", shapeOf(`${stack}.embedded`), "first", [
    aside(String.raw`\mathit{PE}_{(pos,\,2i)}=\sin(pos/10000^{2i/d_{\mathrm{model}}})`, 96),
    {
      height: 0,
      draw: (x, y) =>
        math(
          x + 96,
          y + 16,
          String.raw`\mathit{PE}_{(pos,\,2i+1)}=\cos(pos/10000^{2i/d_{\mathrm{model}}})`,
          14,
        ),
    },
    { height: HEAD, draw: () => null },
    { ...vectors(`${stack}.positions`, half), height: 0 },
    vectors(`${stack}.embedded`, half, 22, half + 12),
  ]);
  for (let at = 0; at < data.layer; at += 1) {
    const name = `${stack}.layers.${at}.add_norm_${stack === "encoder" ? 2 : 3}`;
    const place = { x, y: (column.y -= 22), width: PANEL, height: 18 };
    column.items.push(
      h("g", { class: "at-x-panel" }, rect(place, { rx: 4 })),
      say(x + PAD, place.y + 13, `layer ${at + 1}`),
      vectors(name, INNER - SIDE, 14).draw(x + 2 * PAD + SIDE, place.y + 2),
    );
  }
  column.y -= PAD;
  return column;
}

// The layer that is drawn open; its sheet is behind its boxes.
/** @type {(column: Column, draw: () => void) => void} */
function layer(column, draw) {
  const { x, y: foot, items, stack } = column;
  const at = items.length;
  draw();
  column.y -= HEAD + 2;
  const place = { x, y: column.y, width: PANEL, height: foot - column.y };
  const title = `${capital(stack)}, layer ${data.layer + 1} of ${data.layer + 1}`;
  items.splice(at, 0, h("g", { class: "at-x-panel" }, rect(place, { rx: 8 })));
  items.push(say(x + PAD, place.y + 17, title, "name"));
}

// For each head, what each token reads.
/** @type {(column: Column, name: string, module: string, keys: string[], pieces: Piece[]) => Box} */
function attention(column, name, module, keys, pieces) {
  const full = `${column.stack}.layers.${data.layer}.${module}`;
  const [query, key, scores] = ["query", "key", "scores"].map((kind) => shapeOf(`${full}.${kind}`));
  const height = CELL * column.tokens.length;
  const pitch = (INNER - SIDE + 6) / data.weights[full].length;
  /** @type {(rows: any[][], head: number, x: number, y: number) => any} */
  const map = (rows, head, x, y) => [
    say(x, y + 10, head ? String(head + 1) : "head 1", "quiet"),
    heat(rows, { x, y: y + 14, width: pitch - 6, height }),
  ];
  const heads = {
    height: height + 18,
    draw: (/** @type {number} */ x, /** @type {number} */ y) => [
      column.tokens.map((token, i) => {
        const look = column.stack === "decoder" && i === data.step ? "word-here" : "small";
        return say(x + SIDE - 5, y + 23 + CELL * i, token, look, "end");
      }),
      data.weights[full].map((/** @type {any} */ rows, /** @type {number} */ head) =>
        map(rows, head, x + SIDE + pitch * head, y),
      ),
    ],
  };
  const read = query === key ? `Q, K, V: ${query}` : `Q: ${query} · K, V: ${key}`;
  return box(column, name, shapeOf(`${full}.output`), "query", [
    ...pieces,
    heads,
    remark(`${read} · weights: ${scores}`),
  ]);
}

/** @type {(column: Column) => Box} */
function feedForward(column) {
  const full = `${column.stack}.layers.${data.layer}.feed_forward`;
  const [hidden, { d_model: wide, d_ff: inner }] = [`${full}.activation`, data.config];
  return box(column, "Feed-forward", shapeOf(full), "value", [
    tex(String.raw`\mathrm{FFN}(x)=\max(0,\,xW_1+b_1)\,W_2+b_2`),
    vectors(hidden),
    remark(`inside: ${shapeOf(hidden)} · W₁: ${shapeWords([wide, inner])} · W₂: ${shapeWords([inner, wide])}`),
  ]);
}

// Add & Norm, and the way past the box before it.
/** @type {(column: Column, number: number, past: Box) => void} */
function addNorm(column, number, past) {
  const name = `${column.stack}.layers.${data.layer}.add_norm_${number}`;
  const { x, y } = box(column, "Add & Norm", shapeOf(name), "muted", [
    aside(String.raw`\mathrm{LayerNorm}(x+\mathrm{Sublayer}(x))`, 96),
    vectors(name),
  ]);
  const [right, low, high] = [x + BOX, past.y + past.height + GAP / 2, y + 12];
  const past_ = `q6 0 6 -6V${high + 6}q0 -6 -6 -6H${right + 1}m5 -4l-5 4l5 4`;
  column.items.push(path(`M${x + BOX / 2} ${low}H${right + LANE - 14}${past_}`));
}

// From the encoder's last vectors to the box that reads them.
/** @type {(encoder: Column, reader: Box) => Element[]} */
function bridge(encoder, reader) {
  const [from, top, x] = [encoder.x + PAD + BOX / 2, encoder.y - GAP, encoder.x + PANEL + GUTTER / 2];
  const y = reader.y + reader.height / 2;
  const d = `M${from} ${encoder.y}V${top + 8}q0 -8 8 -8H${x - 8}q8 0 8 8V${y - 8}q0 8 8 8H${reader.x - 3}m-7 -6l7 6l-7 6`;
  return [path(d, "reads")];
}

// The likeliest next tokens, and all that are written.
/** @type {(column: Column) => void} */
function candidates(column) {
  const rows = data.top.map((/** @type {any} */ { token, logit, probability }, /** @type {number} */ i) => ({
    height: LINE,
    draw: (/** @type {number} */ x, /** @type {number} */ y) => {
      const track = { x: x + 126, y: y + 3, width: 150, height: 10 };
      return [
        say(x + 62, y + 12, plain(token, 1), i ? "text" : "word-here", "end"),
        say(x + 112, y + 12, number(logit, 3), "quiet", "end"),
        rect(track, { class: "at-x-track", rx: 2 }),
        rect({ ...track, width: track.width * probability }, { class: "at-x-probability", rx: 2 }),
        say(x + INNER, y + 12, exactPercent(probability), "quiet", "end"),
      ];
    },
  }));
  const after = plain(data.read.tokens[data.step], data.step);
  box(column, "Linear and softmax", shapeOf("logits"), "output", [
    {
      height: HEAD,
      draw: (x, y) => [
        math(x, y + 14, String.raw`\mathrm{softmax}(xE^\top)`),
        say(x + 126, y + 14, `after “${after}”: logit, probability`),
      ],
    },
    ...rows,
  ]);
  column.y -= GAP;
  tokens(column, { written: data.target.tokens.map(plain), share: data.chosen.map(percent) }, data.step);
}

// What is written is read again.
/** @type {(decoder: Column) => Element} */
function loop(decoder) {
  const [right, edge, low] = [decoder.x + PANEL - PAD, WIDTH - 8, HEIGHT - MARGIN - LINE - 26];
  const y = decoder.y + 18;
  return path(`M${right} ${y}H${edge - 8}q8 0 8 8V${low - 8}q0 8 -8 8H${right + 1}m5 -4l-5 4l5 4`);
}

// Above the encoder: what the sheet shows, one head in full, and what the letters stand for.
/** @type {(foot: number) => any[]} */
function words(foot) {
  const [x, y] = [MARGIN, foot - 84];
  const columns = Object.entries(data.sizes);
  columns.forEach(([name], i) => math(x + 92 + 50 * i, y, name));
  return [
    say(x, 54, "The Transformer", "big"),
    say(x, 80, data.sentence, "lead"),
    say(x, 101, data.text, "lead"),
    closer(x, 128),
    ["this model", "paper, base"].map((name, line) => [
      say(x, y + 17 * (line + 1), name),
      columns.map(([, sizes], i) =>
        say(x + 92 + 50 * i, y + 17 * (line + 1), sizes[line].toLocaleString("en"), "size"),
      ),
    ]),
    say(x, y + 53, "violet: positive, amber: negative, full color: ±2 or more"),
    say(x, HEIGHT - MARGIN + 4, data.note),
  ];
}

// One query of one head, in numbers.
/** @type {(x: number, top: number) => any[]} */
function closer(x, top) {
  const { key, value } = data.closer;
  const kinds = ["query", "scores", "weights", "heads"];
  const [query, scores, weights, mixed] = kinds.map((kind) => data.closer[kind][data.step]);
  const [asks, writes] = [data.read.tokens, data.target.tokens].map((one) => plain(one[data.step], 1));
  const [keys, score, bar, share, values] = [66, 196, 208, 276, 290].map((by) => x + by);
  /** @type {(values: number[], x: number, y: number) => any} */
  const small = (values, x, y) => [
    strip(values, { x, y: y - 9, width: 84, height: 9 }, { name: "", row: 0 }),
    frame({ x, y: y - 9, width: 84, height: 9 }),
  ];
  const [first, foot] = [top + 56, top + 56 + 14 * key.length];
  math(keys - 16, top + 22, "q");
  for (const [at, name] of [
    [keys, "k_j"],
    [score - 54, String.raw`q\cdot k_j/\!\sqrt{d_k}`],
    [bar + 20, String.raw`\alpha_j`],
    [values, "v_j"],
  ])
    math(Number(at), top + 40, String(name));
  math(values - 68, foot + 6, String.raw`\textstyle\sum_j\alpha_jv_j`);
  return [
    say(x, top, `Head ${data.head + 1} of cross-attention: “${asks}” → “${writes}”`, "name"),
    small(query, keys, top + 22),
    data.source.tokens.map((/** @type {string} */ token, /** @type {number} */ i) => [
      say(x, first + 14 * i, plain(token, i)),
      small(key[i], keys, first + 14 * i),
      say(score, first + 14 * i, number(Number(scores[i].toFixed(2))), "quiet", "end"),
      rect({ x: bar, y: first + 14 * i - 9, width: 40 * weights[i], height: 9 }, { class: "at-x-weight" }),
      say(share, first + 14 * i, percent(weights[i]), "quiet", "end"),
      small(value[i], values, first + 14 * i),
    ]),
    small(mixed, values, foot + 6),
  ];
}

// The drawing with its formulas, which share the outlines of their letters.
/** @type {(drawing: string) => string} */
function withFormulas(drawing) {
  const { input, output, adaptors, handlers, mathjax } = MathJax._;
  const adaptor = adaptors.liteAdaptor.liteAdaptor();
  handlers.html_ts.RegisterHTMLHandler(adaptor);
  const letters = new output.svg_ts.SVG({ font: new output.svg.fonts.tex_ts.TeXFont(), fontCache: "global" });
  const page = mathjax.mathjax.document("", {
    InputJax: new input.tex_ts.TeX({ packages: ["base", "ams"] }),
    OutputJax: letters,
  });
  const set = formulas.map(([x, y, tex, size]) => {
    const html = adaptor.innerHTML(page.convert(tex, { display: true, em: 16, ex: 8, containerWidth: 1e6 }));
    const shapes = html.replace(/^<svg[^>]*>|<\/svg>$/g, "").replace(/ data-[\w-]+="[^"]*"/g, "");
    return `<g transform="translate(${x} ${y}) scale(${size / 100}) scale(0.1)" color="#1d2430">${shapes}</g>`;
  });
  const outlines = adaptor.outerHTML(letters.fontCache.getCache());
  return drawing.replace("</svg>", `${outlines}${set.join("\n")}</svg>`);
}

Object.assign(window, { drawStill });
