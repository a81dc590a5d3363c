// Turns each figure that holds something to drag into a drawing that answers to mouse, finger, and arrow keys.
// It computes the numbers itself, so it needs no kernel. Runs once after each such figure.

/**
 * @param {number[]} numbers
 * @returns {number}
 */
function atSum(numbers) {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/**
 * @param {number[]} scores
 * @returns {number[]} weights, which sum to 1
 */
function atSoftmax(scores) {
  const largest = Math.max(...scores);
  const exponentials = scores.map((score) => Math.exp(score - largest));
  return exponentials.map((exponential) => exponential / atSum(exponentials));
}

/**
 * Scaled dot-product attention for one query.
 * @param {number[]} query
 * @param {number[][]} keys
 * @param {number[][]} values
 */
function atAttend(query, keys, values) {
  const products = keys.map((key) => atSum(key.map((feature, place) => feature * query[place])));
  const scores = products.map((product) => product / Math.sqrt(query.length));
  const weights = atSoftmax(scores);
  const output = values[0].map((_, place) => atSum(weights.map((weight, j) => weight * values[j][place])));
  return { scores, weights, output };
}

(() => {
  /**
   * @typedef {[number, number]} Point
   * @typedef {[tag: string, attributes: Record<string, string | number>, text?: string]} Shape
   * @typedef {{ names: string[], hint: string, alt: string, low: number, high: number, step: number,
   *   height: number }} Common
   * @typedef {Common & { kind: "scores", scores: number[] }} ScoreData
   * @typedef {Common & { kind: "query", query: number[], keys: number[][], values: number[][],
   *   axes: [number, number], features: string[], outputs: string[], span: Point }} QueryData
   * @typedef {{ start: Point[], draw: (at: Point[]) => Shape[], read: (x: number, y: number) => Point }} Scene
   */
  const WIDTH = 331.2; // points, as the drawing without scripts
  const INK = "var(--at-ink, #1d2430)";
  const MUTED = "var(--at-muted, #56606f)";
  const [QUERY, KEY, VALUE, OUTPUT] = ["#d55e00", "#0072b2", "#009e73", "#cc79a7"];
  const [BAR, THIN] = ["#7a68c4", "#9aa0a8"];

  /** @type {(number: number, digits?: number) => string} */
  const write = (number, digits = 2) => {
    const text = number.toFixed(digits);
    return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
  };
  /** @type {(x: number, y: number, text: string, look?: Record<string, string>) => Shape} */
  const label = (x, y, text, { anchor = "start", color = INK, weight = "normal" } = {}) => [
    "text",
    { x, y, "text-anchor": anchor, style: `fill: ${color}; font-size: 12px; font-weight: ${weight}` },
    text,
  ];
  /** @type {(from: Point, to: Point, color: string, width: number, alpha?: number) => Shape} */
  const line = ([x1, y1], [x2, y2], color, width, alpha = 1) => [
    "line",
    { x1, y1, x2, y2, style: `stroke: ${color}; stroke-width: ${width}px; stroke-opacity: ${alpha}` },
  ];
  /** @type {(x: number, y: number, width: number, height: number) => Shape} */
  const bar = (x, y, width, height) => ["rect", { x, y, width, height, style: `fill: ${BAR}` }];
  /** The tip of an arrow. @type {(from: Point, to: Point, color: string) => Shape} */
  const tip = ([x1, y1], [x2, y2], color) => {
    const length = Math.hypot(x2 - x1, y2 - y1);
    const [a, b] = length > 1 ? [(x2 - x1) / length, (y2 - y1) / length] : [0, 0];
    const points = [x2, y2, x2 - 9 * a - 4 * b, y2 - 9 * b + 4 * a, x2 - 9 * a + 4 * b, y2 - 9 * b - 4 * a];
    return ["polygon", { points: points.join(" "), style: `fill: ${color}` }];
  };
  /** What is dragged. The wide transparent edge is for fingers. @type {(at: Point, color: string, said: Record<string, string | number>) => Shape} */
  const handle = ([cx, cy], color, said) => [
    "circle",
    {
      ...said,
      cx,
      cy,
      r: 8,
      tabindex: 0,
      "data-lm-suppress-shortcuts": "", // JupyterLab's, which would move to another cell
      role: "slider",
      "stroke-width": 26,
      stroke: "transparent",
      style: `fill: ${color}; touch-action: none; cursor: grab; pointer-events: all`,
    },
  ];

  /** @type {(data: ScoreData) => Scene} */
  const scoreScene = ({ names, scores, low, high }) => {
    const [top, bottom, slot] = [44, 184, 148 / names.length];
    /** @type {(score: number) => number} */
    const up = (score) => bottom - ((score - low) / (high - low)) * (bottom - top);
    return {
      start: scores.map((score) => [0, score]),
      read: (_, y) => [0, low + ((bottom - y) / (bottom - top)) * (high - low)],
      draw: (at) => {
        const weights = atSoftmax(at.map(([, score]) => score));
        const columns = names.flatMap((name, place) => {
          const [x, score, weight] = [8 + slot * (place + 0.5), at[place][1], weights[place]];
          const [y, full] = [up(score), weight * (bottom - top)];
          return [
            bar(x - slot / 4, Math.min(y, up(0)), slot / 2, Math.abs(y - up(0))),
            label(x, y + (score < 0 ? 24 : -14), write(score), { anchor: "middle" }),
            label(x, 220, name, { anchor: "middle" }),
            bar(x + 168 - slot / 4, bottom - full, slot / 2, full),
            label(x + 168, bottom - full - 6, write(weight), { anchor: "middle" }),
            label(x + 168, 220, name, { anchor: "middle" }),
          ];
        });
        return [
          label(8, 14, "scores", { weight: "bold" }),
          label(176, 14, "weights", { weight: "bold" }),
          line([8, up(0)], [156, up(0)], THIN, 1),
          line([176, bottom], [324, bottom], THIN, 1),
          ...columns,
          ...names.map((name, place) =>
            handle([8 + slot * (place + 0.5), up(at[place][1])], INK, {
              "aria-label": `score of ${name}`,
              "aria-orientation": "vertical",
              "aria-valuenow": at[place][1],
              "aria-valuetext": `${write(at[place][1])}; weight ${write(weights[place])}`,
            }),
          ),
        ];
      },
    };
  };

  /** @type {(data: QueryData) => Scene} */
  const queryScene = ({ names, query, keys, values, axes, features, outputs, low, high, span }) => {
    const [left, right, top, side] = [6, 172, 40, 152];
    /** A point of the plane that begins at x and shows the numbers of a span. @type {(vector: number[], x: number, span: Point) => Point} */
    const spot = ([a, b], x, [least, most]) => [
      x + (side * (a - least)) / (most - least),
      top + side - (side * (b - least)) / (most - least),
    ];
    /** @type {(vector: number[]) => Point} */
    const inPlane = (vector) => spot([vector[axes[0]], vector[axes[1]]], left, [low, high]);
    /** The two lines through zero. @type {(x: number, span: Point) => Shape[]} */
    const cross = (x, limits) => {
      const [a, b] = spot([0, 0], x, limits);
      return [line([x, b], [x + side, b], THIN, 1), line([a, top], [a, top + side], THIN, 1)];
    };
    /** A name beside a point of the plane that begins at `from`, where no axis is. @type {(at: Point, vector: number[], name: string, from: number) => Shape} */
    const beside = ([x, y], [a, b], name, from) => {
      const far = x > from + 0.7 * side;
      if (a && b) return label(x + (far ? -7 : 3), y - 6, name, { anchor: far ? "end" : "start" });
      return label(x - 5, y + (b ? 4 : 16), name, { anchor: "end" });
    };
    return {
      start: [[query[axes[0]], query[axes[1]]]],
      read: (x, y) => [
        low + ((x - left) / side) * (high - low),
        low + ((top + side - y) / side) * (high - low),
      ],
      draw: ([moved]) => {
        const whole = query.map((feature, place) =>
          axes.includes(place) ? moved[axes.indexOf(place)] : feature,
        );
        const { scores, weights, output } = atAttend(whole, keys, values);
        const [origin, end] = [spot([0, 0], left, [low, high]), inPlane(whole)];
        const mean = spot(output, right, span);
        const best = weights.indexOf(Math.max(...weights));
        const said = outputs.map((name, place) => `${name} ${write(output[place], 1)}`).join(", ");
        return [
          label(left, 14, "keys and query", { weight: "bold" }),
          label(right, 14, "values and output", { weight: "bold" }),
          ...[features, outputs].flatMap(([across, upward], place) => [
            label([left, right][place], 32, `↑ ${upward}`, { color: MUTED }),
            label([left, right][place] + side, 208, `${across} →`, { anchor: "end", color: MUTED }),
          ]),
          ...cross(left, [low, high]),
          ...cross(right, span),
          ...keys.flatMap((key, place) => {
            const at = inPlane(key);
            const name = beside(at, [key[axes[0]], key[axes[1]]], names[place], left);
            return [line(origin, at, KEY, 2), tip(origin, at, KEY), name];
          }),
          ...values.flatMap((value, place) => {
            const [x, y] = spot(value, right, span);
            return [
              line([x, y], mean, VALUE, Math.max(0.6, 9 * weights[place]), 0.75),
              /** @type {Shape} */ (["circle", { cx: x, cy: y, r: 4, style: `fill: ${VALUE}` }]),
              beside([x, y], value, names[place], right),
            ];
          }),
          [
            "rect",
            {
              x: mean[0] - 5,
              y: mean[1] - 5,
              width: 10,
              height: 10,
              transform: `rotate(45 ${mean.join(" ")})`,
              style: `fill: ${OUTPUT}; stroke: ${INK}`,
            },
          ],
          label(112, 232, "score", { anchor: "end", color: MUTED }),
          label(122, 232, "weight", { color: MUTED }),
          ...names.flatMap((name, place) => {
            const y = 252 + 20 * place;
            return [
              label(66, y, name, { anchor: "end" }),
              label(112, y, write(scores[place]), { anchor: "end" }),
              bar(122, y - 11, 150 * weights[place], 13),
              label(127 + 150 * weights[place], y, write(weights[place])),
            ];
          }),
          label(30, 256 + 20 * names.length, `output: ${said}`, { weight: "bold" }),
          line(origin, end, QUERY, 3.5),
          label(end[0] + 12, end[1] - 8, "query", { weight: "bold" }),
          handle(end, QUERY, {
            "aria-label": "query",
            "aria-valuenow": moved[0],
            "aria-valuetext":
              `${features[0]} ${write(moved[0])}, ${features[1]} ${write(moved[1])}; ` +
              `most weight on ${names[best]}, ${write(weights[best])}; output ${said}`,
          }),
        ];
      },
    };
  };

  /** @type {Record<string, Point>} */
  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  /** @type {NodeListOf<HTMLElement>} */ (
    document.querySelectorAll("figure.at-drag:not([data-ready])")
  ).forEach((figure) => {
    const stage = figure.querySelector(".at-stage");
    const json = figure.querySelector("script.at-data");
    if (!stage || !json) return;
    figure.dataset.ready = "";
    /** @type {ScoreData | QueryData} */
    const data = JSON.parse(json.textContent);
    const { start, draw, read } = data.kind === "query" ? queryScene(data) : scoreScene(data);
    const { low, high, step } = data;
    /** @type {(tag: string) => SVGElement} */
    const make = (tag) =>
      /** @type {SVGElement} */ (document.createElementNS("http://www.w3.org/2000/svg", tag));
    const svg = /** @type {SVGSVGElement} */ (make("svg"));
    svg.setAttribute("viewBox", `0 0 ${WIDTH} ${data.height}`);
    svg.setAttribute("role", "group");
    svg.setAttribute("aria-label", data.alt);
    svg.style.cssText =
      "background: var(--at-paper, #fefefe); width: min(100%, 477px); height: auto; font-family: 'Source Sans 3', 'DejaVu Sans', Verdana, sans-serif; user-select: none";
    stage.replaceChildren(svg);
    let at = start;
    const show = () =>
      draw(at).forEach(([tag, attributes, text], place) => {
        const element = svg.children[place] ?? svg.appendChild(make(tag)); // one that is kept keeps the focus
        Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, String(value)));
        if (text !== undefined) element.textContent = text;
      });
    /** @type {(number: number) => number} */
    const kept = (number) => Math.round(Math.min(high, Math.max(low, number)) * 100) / 100;
    show();
    const handles = Array.from(svg.querySelectorAll("[role=slider]"));
    /** @type {(moved: number, point: Point) => void} */
    const move = (moved, [x, y]) => {
      at = at.map((point, place) => (place === moved ? [kept(x), kept(y)] : point));
      show();
    };
    handles.forEach((element, place) => {
      element.setAttribute("aria-valuemin", String(low));
      element.setAttribute("aria-valuemax", String(high));
      element.addEventListener("pointerdown", (event) => {
        element.setPointerCapture(/** @type {PointerEvent} */ (event).pointerId);
      });
      element.addEventListener("pointermove", (event) => {
        const { pointerId, clientX, clientY } = /** @type {PointerEvent} */ (event);
        const matrix = svg.getScreenCTM();
        if (!element.hasPointerCapture(pointerId) || !matrix) return;
        const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(matrix.inverse());
        move(place, read(x, y));
      });
      element.addEventListener("keydown", (event) => {
        const { key } = /** @type {KeyboardEvent} */ (event);
        const [x, y] = at[place];
        if (key in STEPS) move(place, [x + step * STEPS[key][0], y + step * STEPS[key][1]]);
        else if (key === "Home") move(place, start[place]);
        else return;
        event.preventDefault();
      });
    });
    const reset = Object.assign(document.createElement("button"), { type: "button", className: "at-play" });
    reset.textContent = "↺";
    reset.setAttribute("aria-label", "Back to the start");
    reset.dataset.lmSuppressShortcuts = "";
    reset.addEventListener("click", () => {
      at = start;
      show();
    });
    const hint = Object.assign(document.createElement("span"), { textContent: data.hint });
    const controls = Object.assign(document.createElement("div"), { className: "at-controls" });
    controls.append(reset, " ", hint);
    stage.after(controls);
  });
})();
