// Two columns of tokens, joined by curves as wide as the attention weights. The right one holds the queries.
import { cellAfter, fill, focusOn, h, p } from "./dom.js";
import { curve } from "./marks.js";
import { KINDS_OF_ATTENTION } from "./names.js";
import { holdsHead } from "./state.js";
import { languages, LANGUAGES, percent, reads, spoken, tokenElement } from "./words.js";

export class Stage {
  /** @param {Explorer} explorer */
  constructor(explorer) {
    this.explorer = explorer;
    this.element = h("div", { class: "at-x-stage" });
    this.lightActive = () => {};
    this.element.addEventListener("pointerleave", () => this.lightActive());
  }

  render() {
    const { explorer } = this;
    const { keys, queries, place, rows, active } = attentionOf(explorer.store);
    const { meant, on } = headsMeant(explorer.store.state);
    const silent = !on.length; // nothing that a switched-off head reads has an effect
    this.element.classList.toggle("at-x-silent", silent);
    const off = meant.length > 1 ? "these heads are off" : "this head is off";
    const keyItems = this.items(keys.tokens, keys.language);
    const queryItems = queries.tokens.map((token, i) => {
      const mark = spoken(token) === token.trim() ? "" : `(${spoken(token)}) `;
      const effect = silent ? `receives nothing: ${off}` : `attends to ${reads(keys.tokens, rows[i])}`;
      return h(
        "li",
        {
          class: place === "step" && i > active ? "at-x-later" : null,
          onpointermove: (event) => event.pointerType === "mouse" && light(i), // not if the page moves below it
        },
        h(
          "button",
          {
            type: "button",
            class: "at-x-word",
            tabindex: i === active ? 0 : -1,
            "aria-pressed": String(i === active),
            "data-key": `query ${i}`,
            onclick: () => this.go(place, i),
            onkeydown: (event) => this.arrow(event, place, i, queries.tokens.length),
          },
          tokenElement(token, i, queries.language),
          h("span", { class: "at-hidden" }, ` ${mark}${effect}`),
          place === "step" && explorer.store.state.forced.includes(i) && h("small", {}, "forced"),
        ),
      );
    });
    const curves = rows.flatMap((row, query) =>
      Array.from(row, (weight, key) => ({ weight, key, query }))
        .filter(({ weight }) => weight >= BOOK.least)
        .map(({ weight, key }) => ({
          query,
          path: curve([0, 10 * key + 5], [100, 10 * query + 5], weight),
        })),
    );
    this.draw(
      ["reads from ", h("span", { class: "at-key" }, `${keys.name} keys`)],
      keyItems,
      curves.map(({ path }) => path),
      [
        place === "step" ? "is writing " : "reads ",
        h("span", { class: "at-query" }, `${queries.name} queries`),
      ],
      queryItems,
      silent &&
        h(
          "div",
          { class: "at-x-legend" },
          `Dashed curves: what would be attended to, but ${off}, so nothing of it is used.`,
        ),
    );

    /** @type {(query: number) => void} */
    const light = (query) => {
      queryItems.forEach((item, i) => item.classList.toggle("at-active", i === query));
      curves.forEach((one) => one.path.classList.toggle("at-active", one.query === query));
      keyItems.forEach((item, key) => {
        const weight = rows[query][key] >= BOOK.least && !silent ? rows[query][key] : 0;
        item.style.setProperty("--weight", String(weight));
        item.classList.toggle("at-active", weight > 0);
        /** @type {Element} */ (item.firstChild).textContent = weight ? percent(weight) : "";
      });
    };
    this.lightActive = () => light(active);
    this.lightActive();
  }

  /** @type {(tokens: string[], language: string) => HTMLLIElement[]} */
  items(tokens, language) {
    return tokens.map((token, i) => h("li", {}, h("i"), h("b", {}, tokenElement(token, i, language))));
  }

  // Fills the two columns, with the curves between them and a note below.
  /** @type {(keys: Child, keyItems: Element[], curves: Element[], queries: Child, queryItems: Element[], note?: Child) => void} */
  draw(keys, keyItems, curves, queries, queryItems, note) {
    const lines = Math.max(keyItems.length, queryItems.length);
    const box = { viewBox: `0 0 100 ${10 * lines}`, preserveAspectRatio: "none", "aria-hidden": "true" };
    /** @type {(name: string, heading: Child, items: Element[]) => Element} */
    const column = (name, heading, items) =>
      h("div", { class: name }, p(heading), h("ul", { role: "list" }, items));
    this.element.style.setProperty("--rows", String(lines));
    fill(
      this.element,
      column("at-x-keys", keys, keyItems),
      h("svg", box, curves),
      column("at-x-queries", queries, queryItems),
      note,
    );
  }

  /** @type {(place: "word" | "step", to: number) => void} */
  go(place, to) {
    this.explorer.store.change({ [place]: to });
    focusOn(this.element, `query ${to}`);
  }

  /** @type {(event: KeyboardEvent, place: "word" | "step", now: number, count: number) => void} */
  arrow(event, place, now, count) {
    const to = cellAfter(event, [now, now], [count - 1, count - 1]);
    if (to) this.go(place, to[0] === now ? to[1] : to[0]); // down and right both lead to the next
  }

  // The translation so far, without curves, while it is computed.
  /** @type {(source: string[], tokens: string[], languages: string[]) => void} */
  grow(source, tokens, [from, to]) {
    this.draw(LANGUAGES[from], this.items(source, from), [], LANGUAGES[to], this.items(tokens, to));
  }
}

// What the chosen attention joins: keys, queries, and a row of weights for each query; `place`: where the state has the
// active one.
/** @param {Pick<Explorer["store"], "result" | "state">} store */
function attentionOf({ result, state }) {
  const [from, to] = languages(result.direction);
  const source = { name: LANGUAGES[from], language: from, tokens: result.source.tokens };
  const target = { name: LANGUAGES[to], language: to, tokens: result.target.tokens };
  const read = { ...target, tokens: ["<bos>", ...target.tokens.slice(0, -1)] };
  const pairs = { encoder: [source, source], decoder: [read, target], cross: [source, target] };
  const [keys, queries] = pairs[state.view];
  const place = /** @type {"word" | "step"} */ (state.view === "encoder" ? "word" : "step");
  const active = Math.min(state[place], queries.tokens.length - 1);
  return { keys, queries, place, rows: meanWeights(result, state), active };
}

// "it attended to “tomorrow” 88 % (layer 4, mean of its heads)"; if the heads are off, that nothing reached it.
/** @type {(store: Explorer["store"], who: string, verb?: string) => string} */
export function readSentence(store, who, verb = "attended to") {
  if (!headsMeant(store.state).on.length)
    return `nothing reached ${who} through ${silenceWords(store.state)}`;
  const { keys, rows, active } = attentionOf(store);
  const words = reads(keys.tokens, rows[active]) || "all words a little";
  return `${who} ${verb} ${words} (${placeWords(store.state)})`;
}

// The heads that the chosen kind, layer and head include, and those of them that are on.
/** @type {(state: State) => { meant: Head[], on: Head[] }} */
export function headsMeant({ view, layer, head, ablated }) {
  const { layers, heads } = BOOK.shape;
  /** @type {(chosen: number | null, count: number) => number[]} */
  const all = (chosen, count) => (chosen === null ? Array.from({ length: count }, (_, i) => i) : [chosen]);
  const meant = all(layer, layers).flatMap((l) =>
    all(head, heads).map((h) => /** @type {Head} */ ([view, l, h])),
  );
  return { meant, on: meant.filter((one) => !holdsHead(ablated, one)) };
}

// The words for the attention that is drawn: "layer 4, mean of its heads". Heads that are off do not count.
/** @type {(state: State) => string} */
function placeWords(state) {
  const { layer, head } = state;
  const { meant, on } = headsMeant(state);
  const some = on.length < meant.length;
  if (on.length === 1)
    return `layer ${on[0][1] + 1}, head ${on[0][2] + 1}${some ? ", the only one that is on" : ""}`;
  if (layer !== null)
    return `layer ${layer + 1}, mean of ${some ? `the ${on.length} heads that are on` : "its heads"}`;
  if (head !== null)
    return `head ${head + 1}, mean over ${some ? `the ${on.length} layers in which it is on` : "all layers"}`;
  return `mean over all layers ${some ? `of the ${on.length} heads that are on` : "and heads"}`;
}

// The words for heads that are all off, and for what that means.
/** @type {(state: State) => string} */
function silenceWords({ view, layer, head }) {
  const attention = `the ${KINDS_OF_ATTENTION[view]}${layer === null ? "" : ` in layer ${layer + 1}`}`;
  if (head === null) return `${attention}: all its heads are off, so their output is zero`;
  return `head ${head + 1} of ${attention}: that head is off${layer === null ? " in every layer" : ""}, so its output is zero`;
}

// The weights of the chosen layer and head, or their mean: a row for each query. Heads that are off do not count,
// unless all are: then these are weights without effect.
/** @type {(result: Result, state: State) => number[][]} */
export function meanWeights(result, state) {
  if (result.frame) return state.view === "decoder" ? result.selfAttention : result.attention;
  const { attention } = result;
  const { meant, on } = headsMeant(state);
  const maps = (on.length ? on : meant).map(([kind, layer, head]) => attention[kind][layer][head]);
  return maps[0].map((row, query) =>
    Array.from(row, (_, key) => maps.reduce((total, map) => total + map[query][key], 0) / maps.length),
  );
}
