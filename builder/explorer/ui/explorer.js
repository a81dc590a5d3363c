// The explorer: its state, its parts, and what happens when something is chosen.
import { Choose } from "./choose.js";
import { button, disable, fill, find, focusOn, h, help, show, STILL } from "./dom.js";
import { HeadsOff } from "./heads_off.js";
import { Heat } from "./heat.js";
import { ModelMap } from "./model_map.js";
import { capital, parsed, tensorTitle } from "./names.js";
import { Notices, warnings } from "./notices.js";
import { NumberPanel } from "./number.js";
import { Searches } from "./searches.js";
import { Sentence } from "./sentence.js";
import { Session } from "./session.js";
import { headsMeant, placeWords, silenceWords, Stage } from "./stage.js";
import { forcing, fromFragment, sameSentence, START, toFragment } from "./state.js";
import { Tour } from "./tour.js";
import { probabilityOf, Why } from "./why.js";
import { exactPercent, HELP, languages, number, quoted, reads, shapeWords } from "./words.js";
/** @import { Kind } from "../engine/transformer.js" */
/** @import { Options, Result, Translated, Translation } from "./session.js" */
/** @import { State, Typed } from "./state.js" */

/** @type {(milliseconds: number) => Promise<unknown>} */
const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const PACE = 45; // milliseconds between two tokens, so that readers see them arrive
const LONG = 250; // characters; for a longer sentence, the page says at once that it may take a while
const PATIENCE = 1500; // milliseconds after which it says so for any other sentence
/** @type {Session} */
let session; // one engine per page

export class Explorer {
  // Made by addInstruments(), so only on the explorer's own page.
  /** @type {Heat} */
  heat;
  /** @type {NumberPanel} */
  number;
  /** @type {HeadsOff} */
  heads;
  /** @type {Record<string, HTMLDetailsElement>} */
  sections;

  // Made by compose().
  /** @type {HTMLElement} */
  translation;
  /** @type {HTMLElement} */
  share;
  /** @type {HTMLElement} */
  modes;
  /** @type {HTMLElement} */
  main;
  /** @type {HTMLElement} */
  more;
  /** @type {HTMLElement} */
  stale;

  // `whole`: on the explorer's own page, not a part of it in a chapter.
  /** @param {Element} host @param {{ state: State, result: Result, whole: boolean }} shown */
  constructor(host, { state, result, whole }) {
    this.session = session;
    this.host = host;
    this.whole = whole;
    this.state = state;
    this.result = result;
    this.linked = whole ? fromFragment(location.hash) : null;
    this.turn = 0; // counts requests: only the result of the last one is shown
    this.live = h("p", { class: "at-hidden", role: "status" });
    this.stage = new Stage(this);
    this.notices = new Notices(this);
    this.why = new Why(this);
    this.choose = new Choose(this);
    /** @type {{ render(): unknown, drawn?: unknown }[]} */
    this.parts = [this.stage, this.why, this.choose, this.notices];
    if (this.whole) this.addInstruments();
    this.sentence = new Sentence(this);
    this.compose();
    if (this.linked) this.begin(this.linked);
    this.render();
    if (this.whole && agreed(this.sentence.direction))
      this.open(this.sentence.direction, this.sentence.input.value);
    if (this.whole) addEventListener("hashchange", () => this.follow());
  }

  // Opens a link: another token of the first frame is shown at once, everything else waits for the model.
  /** @type {(linked: State) => void} */
  begin(linked) {
    if (toFragment({ ...linked, step: 0 }) !== toFragment({ ...this.state, step: 0 }))
      return this.sentence.show(linked);
    this.state = this.fitted(linked);
    this.linked = null;
  }

  // Adds what only the explorer's own page has, not its parts in chapters.
  addInstruments() {
    this.heat = new Heat(this);
    this.number = new NumberPanel(this);
    this.map = new ModelMap(this);
    this.tour = new Tour(this);
    this.heads = new HeadsOff(this);
    this.searches = new Searches(this);
    this.parts.push(this.heads, this.searches, this.map, this.heat, this.number, this.tour);
    this.sections = {
      heads: section("Switch heads off", this.heads.element),
      searches: section("Compare greedy search, beam search and sampling", this.searches.element),
      tensors: section(
        "Open any tensor, and any number in it",
        this.map.element,
        this.heat.element,
        this.number.element,
      ),
    };
  }

  compose() {
    const { stage, why, choose } = this;
    this.translation = h("p", { class: "at-x-translation" });
    this.share = h("p", { class: "at-x-share at-x-action" });
    this.modes = h("div", { class: "at-x-modes at-x-action" });
    this.main = h(
      "div",
      { class: "at-x-main" },
      h(
        "div",
        {},
        this.translation,
        this.notices.element,
        stage.element,
        this.whole && help("How to read this", HELP.token, HELP.logProb),
        this.modes,
        this.share,
      ),
      why.element,
      choose.element,
    );
    this.more = h("p", { class: "at-x-label" });
    this.stale = h("p", { class: "at-x-note" });
    fill(
      this.host,
      this.sentence.element,
      this.stale,
      this.main,
      Object.values(this.sections ?? {}),
      this.tour?.element,
      this.whole ? null : this.more,
      this.live,
    );
  }

  render() {
    const { result } = this;
    const language = languages(result.direction)[1];
    fill(this.translation, h("q", { lang: language }, result.text));
    fill(
      this.modes,
      this.whole &&
        !result.frame && [
          button("Break it: switch heads off", () => this.openHeads(), { "data-key": "break" }),
          button("Go on from here: choose another token", () => this.why.offer(), { "data-key": "go on" }),
        ],
    );
    for (const part of Object.values(this.sections ?? {})) part.hidden = Boolean(result.frame);
    fill(
      this.share,
      this.whole &&
        !result.frame &&
        button("Copy link to this view", () => this.copyLink(), { class: "at-x-link", "data-key": "share" }),
    );
    fill(
      this.more,
      h("a", { href: `${ROOT}explorer.html${toFragment(this.state)}` }, "Open this in the explorer"),
      ", with every tensor and number.",
    );
    for (const part of this.parts) part.drawn = part.render();
    this.main.classList.remove("at-x-growing");
    this.sentence.render();
    this.dim();
  }

  // Dims what is shown if it belongs to another sentence, direction or link than the field, until that is translated.
  // An empty field does not count.
  dim() {
    const { direction, input } = this.sentence;
    const text = input.value.trim();
    const stale =
      Boolean(this.linked) ||
      direction !== this.result.direction ||
      (text !== "" && text !== this.state.text.trim());
    const words = stale
      ? `The translation below belongs to the ${this.result.frame ? "example" : "previous"} sentence.`
      : "";
    if (words && !this.busy && words !== this.stale.textContent) this.say(words);
    fill(this.stale, words);
    for (const part of [this.main, ...Object.values(this.sections ?? {})]) {
      part.classList.toggle("at-x-stale", stale);
      part.inert = stale;
    }
  }

  // Remembers the focus: the returned function restores it if the focused element is gone.
  /** @type {() => () => void} */
  holdFocus() {
    const activeElement = /** @type {HTMLElement | null} */ (document.activeElement);
    if (!activeElement || !this.host.contains(activeElement)) return () => {};
    const { key } = activeElement.dataset;
    const home = this.sections?.heads.contains(activeElement) ? this.heads.element : this.stage.element;
    return () => {
      if (document.activeElement !== document.body) return; // the focus stayed, or the reader moved it
      if (key) focusOn(this.host, key);
      if (document.activeElement === document.body)
        find(home, "[data-key][tabindex='0']")?.focus({ preventScroll: true });
    };
  }

  // The requested state, or, if there is no request, the shown one.
  get wanted() {
    return this.asked ?? this.state;
  }

  // Opens a tensor at one of its numbers.
  /** @type {(name: string, index?: number[], part?: string) => void} */
  openTensor(name, index = this.firstIndex(name), part = "heat") {
    this.sections.tensors.open = true;
    if (`${name} ${index}` !== `${this.state.tensor} ${this.state.at}`) this.leaveTrace();
    this.change({ tensor: name, at: index });
    const wanted = () => this.state.tensor === name;
    this.reveal(part, wanted).then(
      () => wanted() && focusOn(this.host, part === "number" ? "number" : "tensor"),
    );
    this.say(`${tensorTitle(name)}, ${shapeWords(this.shapeOf(name) ?? [])}.`);
  }

  /** @type {(name: string) => number[] | undefined} */
  shapeOf(name) {
    return this.result.tensors?.find((tensor) => tensor.name === name)?.shape;
  }

  // The number to show first: that of the token in focus, and of the key that it attends to most.
  /** @type {(name: string) => number[]} */
  firstIndex(name) {
    const { state } = this;
    const result = /** @type {Translated} */ (this.result);
    const { stack, kind, layer, module } = parsed(name);
    const row = stack === "encoder" ? state.word : state.step;
    const head = state.head ?? 0;
    if (stack === "output") return this.fitting(name, [head, row, result.target.ids[state.step]]);
    if (!["scores", "weights"].includes(kind)) return this.fitting(name, [head, row, 0]);
    const own = /** @type {Kind} */ (module === "cross_attention" ? "cross" : stack);
    const weights = result.attention[own][Number(layer)][head][row];
    return [head, row, weights.indexOf(Math.max(...weights))];
  }

  // The index, limited to the shape of the tensor.
  /** @type {(name: string, index: number[]) => number[]} */
  fitting(name, index) {
    const shape = this.shapeOf(name) ?? [];
    return shape.map((count, axis) => Math.min(index.at(axis - shape.length) ?? 0, count - 1));
  }

  // Scrolls a part of the page into view once it is drawn.
  /** @type {(part: string, wanted?: () => boolean, bring?: (element: Element) => void) => Promise<void>} */
  async reveal(part, wanted = () => true, bring = show) {
    /** @type {Record<string, HTMLElement>} */
    const places = {
      stage: this.main,
      choose: this.choose.element,
      why: this.why.element,
      heat: this.heat?.element,
      number: this.number?.element,
      ...this.sections,
    };
    if (this.sections && part in this.sections) this.sections[part].open = true;
    if (["heat", "number"].includes(part)) {
      this.sections.tensors.open = true;
      await Promise.all([this.heat.drawn, this.number.drawn]);
    }
    if (wanted()) bring(places[part]);
  }

  // What the token in focus reads, in words.
  readWords() {
    const { keys, rows, active } = Stage.parts(this);
    return reads(keys.tokens, rows[active]) || "all words a little";
  }

  // "it attended to “tomorrow” 88 % (layer 4, mean of its heads)"; if the heads are off, that nothing reached it.
  /** @type {(who: string, verb?: string) => string} */
  readSentence(who, verb = "attended to") {
    if (this.isSilent()) return `nothing reached ${who} through ${silenceWords(this.state)}`;
    return `${who} ${verb} ${this.readWords()} (${placeWords(this.state)})`;
  }

  // Whether all heads of the chosen attention are off: then nothing that they read has an effect.
  isSilent() {
    return headsMeant(this.state).on.length === 0;
  }

  /** @type {(words: string) => void} */
  say(words) {
    this.live.textContent = words;
  }

  // Shows another part of the same translation.
  /** @type {(patch: Partial<State>, aloud?: boolean) => void} */
  change(patch, aloud = false) {
    this.state = this.fitted({ ...this.state, ...patch }); // the pressed control may belong to an earlier translation
    if (this.asked) this.asked = { ...this.asked, ...patch };
    this.render();
    this.keepAddress();
    if (!aloud) return;
    const { queries, place, active } = Stage.parts(this);
    const name = quoted(queries.tokens[active], active);
    const who =
      place === "step" ? `${name}, probability ${exactPercent(probabilityOf(this.result, active))},` : name;
    this.say(
      `${capital(this.isSilent() ? `${who} received nothing: ${this.readSentence("it")}` : this.readSentence(who, "attends to"))}.`,
    );
  }

  // Scrolls to a new translation that is out of view, as on a phone.
  bringTranslation() {
    const { top } = this.translation.getBoundingClientRect();
    const { bottom } = this.stage.element.getBoundingClientRect();
    if (top < 0 || bottom > innerHeight) show(this.main);
  }

  // The button of the sentence: a new sentence, or the state of the link that led here.
  /** @type {(direction: string, text: string) => Promise<boolean>} */
  open(direction, text) {
    const { linked } = this;
    if (linked && sameSentence(linked, { direction, text })) return this.openLink(linked);
    const { wanted } = this;
    const { view, layer, head, ablated, step } = wanted;
    return this.compute({
      ...START,
      view,
      layer,
      head,
      ablated,
      direction,
      text,
      step: sameSentence(wanted, { direction, text }) ? step : 0,
    });
  }

  // Returns false if a tensor is shown instead of the translation.
  /** @type {(linked: State) => Promise<boolean>} */
  async openLink(linked) {
    const { tensor } = linked;
    const shown = await this.compute(linked);
    if (shown && tensor) await this.reveal("heat", () => this.state.tensor === tensor);
    return shown && !tensor;
  }

  // Forces a token at a step, unless the model would choose it itself.
  /** @type {(step: number, id: number) => void} */
  force(step, id) {
    const { result, state, wanted } = this;
    if (!sameSentence(wanted, state)) return; // another sentence is being translated
    const own = result.top[step][0].id === id;
    const forced = [...state.forced.filter((other) => other < step), ...(own ? [] : [step])];
    this.compute({ ...wanted, step, ...forcing([...result.target.ids.slice(0, step), id], forced) });
  }

  // Shows again what was shown before the tour.
  /** @type {(saved: { state: State, result: Result, linked: State | null, field: Typed }) => void} */
  restore({ state, result, linked, field }) {
    Object.assign(this, { state, result, linked });
    this.sentence.show(field);
    this.render();
    this.keepAddress();
  }

  // Lets the model choose again from a step on.
  /** @type {(step?: number) => Promise<boolean>} */
  free(step = 0) {
    const { prefix, forced } = this.wanted;
    return this.compute({
      ...this.wanted,
      ...forcing(
        prefix,
        forced.filter((other) => other < step),
      ),
    });
  }

  allOn() {
    return this.compute({ ...this.wanted, ablated: [] });
  }

  openHeads() {
    this.reveal("heads");
    focusOn(this.sections.heads, "summary");
  }

  // Translates the sentence of a state, and shows the result; returns false if it could not or was superseded.
  /** @type {(state: State) => Promise<boolean>} */
  async compute(state) {
    const { linked } = this;
    const turn = (this.turn += 1);
    if (!this.busy) this.bringFocus = this.holdFocus();
    this.busy = true;
    /** @type {State | null} */
    this.asked = state;
    this.sentence.render();
    const { direction, text, prefix, ablated } = state;
    const same = sameSentence(state, this.state);
    let shown = false;
    this.slow = text.length > LONG;
    let patience;
    try {
      await this.session.load(direction);
      agree(direction);
      this.sentence.render();
      patience = setTimeout(() => {
        if (turn !== this.turn) return;
        this.slow = true;
        this.sentence.render();
      }, PATIENCE);
      const result = await this.watch({ direction, text, prefix, ablated }, prefix.length, turn);
      if (turn !== this.turn || !result) return false; // superseded by another request
      this.result = { ...result, direction };
      this.state = this.fitted(this.asked); // with what the reader chose meanwhile
      if (this.linked === linked) this.linked = null;
      this.sentence.refuse("");
      this.say(
        [
          `Translated: ${result.text} ${result.target.ids.length} tokens, log-probability ${number(result.logProb, 3)}.`,
          ...warnings(result),
        ].join(" "),
      );
      shown = true;
    } catch (error) {
      if (turn !== this.turn) return false;
      this.sentence.refuse(
        sentenceOf(/** @type {Error} */ (error).message),
        this.session.loaded.has(direction),
      );
    } finally {
      clearTimeout(patience);
    }
    this.busy = false;
    this.asked = null;
    if (this.state.tensor) this.sections.tensors.open = true;
    if (same) this.holdPlace(() => this.render());
    else this.render();
    this.bringFocus?.();
    this.keepAddress();
    return shown;
  }

  // Keeps what is beside and below the translation in place when the same sentence changes.
  /** @type {(render: () => void) => void} */
  holdPlace(render) {
    const place = () => this.why.element.getBoundingClientRect().top;
    const before = place();
    render();
    scrollBy({ top: place() - before, behavior: "instant" });
  }

  // Drops the pending request: its result will not be shown, even if the engine still computes it.
  abandon() {
    this.turn += 1;
    this.busy = false;
    this.asked = null;
  }

  // Stops a slow translation. The engine cannot be interrupted, so a new one is started.
  async cancel() {
    this.abandon();
    const { direction } = this.sentence;
    this.session.stop();
    this.render();
    this.sentence.submit.focus();
    this.say("Canceled.");
    await this.session.load(direction).catch(() => {});
    this.render();
  }

  // The same places in another translation, which may be shorter.
  /** @type {(state: State) => State} */
  fitted(state) {
    const { source, target } = this.result;
    /** @type {(place: number, tokens: string[]) => number} */
    const within = (place, tokens) => Math.min(place, tokens.length - 1);
    const tensor = this.shapeOf(state.tensor) ? state.tensor : "";
    const at = tensor ? this.fitting(tensor, state.at) : [];
    const kept = forcing(
      state.prefix,
      state.forced.filter((step) => step < target.tokens.length),
    );
    return {
      ...state,
      ...kept,
      step: within(state.step, target.tokens),
      word: within(state.word, source.tokens),
      tensor,
      at,
    };
  }

  // Shows tokens as they are computed, one at a time.
  /** @type {(options: Options, known: number, turn: number) => Promise<Translation | null>} */
  async watch(options, known, turn) {
    /** @type {string[]} */
    let latest = [];
    let done = false;
    let drawn = known;
    const wanted = () => turn === this.turn;
    const answer = this.session.translate(options, ({ tokens }) => (latest = tokens), wanted);
    const finished = answer.finally(() => (done = true));
    finished.catch(() => {});
    if (STILL.matches) return answer;
    while (wanted() && (!done || drawn < latest.length)) {
      if (drawn < latest.length) this.main.classList.add("at-x-growing");
      if (drawn < latest.length)
        this.stage.grow(
          this.sourceShown(options),
          latest.slice(0, (drawn += 1)),
          languages(options.direction),
        );
      await sleep(PACE);
    }
    return answer;
  }

  /** @type {(typed: { text: string }) => string[]} */
  sourceShown({ text }) {
    return text === this.state.text ? this.result.source.tokens : text.split(/(?= )/);
  }

  keepAddress() {
    if (!this.whole || this.result.frame) return;
    try {
      history.replaceState(history.state, "", toFragment(this.state));
    } catch {
      // Safari allows 100 changes in 30 seconds; beyond that, the address lags behind.
    }
  }

  // The address holds the sentence, the view and what was changed.
  async copyLink() {
    const copied = await attempt(() =>
      navigator.clipboard.writeText(new URL(toFragment(this.state), location.href).href).then(
        () => true,
        () => false,
      ),
    );
    const words = copied
      ? "Link copied."
      : "Copy the address of this page: it holds your sentence and this view.";
    fill(this.share, this.share.firstChild, h("span", {}, ` ${words}`));
    this.say(words);
  }

  // Opening a tensor adds an entry to the browser's history, so that the reader can go back.
  leaveTrace() {
    const { tensor, at } = this.state;
    const from = tensor
      ? { words: `${tensorTitle(tensor)}, ${this.heat.placeWords(tensor, at)}` }
      : { words: TRANSLATION };
    try {
      history.pushState({ from }, "", toFragment(this.state));
    } catch {
      // as above; then the reader cannot go back
    }
  }

  // Buttons that lead back to where a tensor was opened from, and to the translation.
  /** @type {(key: string) => Element} */
  wayBack(key) {
    const from = history.state?.from;
    const back =
      from &&
      button(`← Back to ${from.words}`, () => history.back(), { class: "at-x-link", "data-key": key });
    const home =
      from?.words !== TRANSLATION &&
      button(`← Back to ${TRANSLATION}`, () => this.showTranslation(), {
        class: "at-x-link",
        "data-key": `${key} home`,
      });
    return h("p", { class: "at-x-action at-x-backs" }, back, home);
  }

  showTranslation() {
    this.reveal("stage");
    focusOn(this.host, `query ${this.stage.active}`);
  }

  follow() {
    const linked = fromFragment(location.hash);
    if (!linked) return;
    const { state, result, asked } = this;
    const same =
      !result.frame &&
      !asked &&
      /** @type {const} */ (["direction", "text", "prefix", "ablated"]).every(
        (name) => String(linked[name]) === String(state[name]),
      );
    this.linked = same ? null : linked;
    this.sentence.show(linked);
    if (same) return this.goBack(linked);
    this.tour?.forget();
    if (this.session.loaded.has(linked.direction)) this.open(linked.direction, linked.text);
  }

  // Goes to another place in the same translation.
  /** @type {(linked: State) => void} */
  goBack(linked) {
    const opened = this.state.tensor;
    this.sentence.refuse("");
    this.state = this.fitted(linked);
    this.render();
    this.keepAddress();
    const { tensor } = this.state;
    if (!tensor && !opened) return;
    const wanted = () => this.state.tensor === tensor;
    this.reveal(tensor ? "number" : "stage", wanted).then(
      () => wanted() && focusOn(this.host, tensor ? "number" : `query ${this.stage.active}`),
    );
  }
}

const TRANSLATION = "the translation";

// Directions whose model the reader has loaded in this session: later pages load it without a button.
const AGREED = "at-x-loaded";
/** @type {(direction: string) => boolean} */
const agreed = (direction) => remembered().includes(direction);
/** @type {(direction: string) => unknown} */
const agree = (direction) =>
  agreed(direction) || attempt(() => sessionStorage.setItem(AGREED, [...remembered(), direction].join(" ")));
const remembered = () => (attempt(() => sessionStorage.getItem(AGREED)) ?? "").split(" ");
// Calls what a browser may forbid on a page from a file.
/** @type {<T>(call: () => T) => T | null} */
export const attempt = (call) => {
  try {
    return call();
  } catch {
    return null;
  }
};

// The engine's error message, reworded for someone who typed one sentence.
/** @type {(message: string) => string} */
export const sentenceOf = (message) =>
  message.startsWith("text 0 of 1 has nothing to translate")
    ? EMPTY
    : message.replace(/^text 0 of 1/, "The sentence");
export const EMPTY = "Type a sentence first.";

/** @type {(title: string, ...children: Element[]) => HTMLDetailsElement} */
const section = (title, ...children) =>
  h(
    "details",
    { class: "at-x-section" },
    h("summary", { "data-key": "summary" }, h("h3", {}, title)),
    children,
  );

const FOLDER = /** @type {HTMLScriptElement} */ (document.currentScript).src.replace(/\/[^/]*$/, "");
export const ROOT = FOLDER.replace(/_static\/explorer$/, "");
// The explorer's own page begins with a frame that was computed when the book was built.
/** @type {(host: Element, whole: boolean) => Explorer} */
function beginFrame(host, whole) {
  const { frame } = BOOK;
  const { direction, sentence: text, step, layer } = frame;
  return new Explorer(host, {
    state: { ...START, direction, text, step, layer },
    result: { ...frame, frame: true },
    whole,
  });
}

// The cover's button loads this script. The explorer replaces the picture, and computes the translation again.
/** @type {(figure: Element) => void} */
function beginCover(figure) {
  const live = h("div", { class: "at-x" });
  figure.replaceChildren(live);
  const explorer = beginFrame(live, false);
  explorer.sentence.submit.focus();
  explorer.compute(explorer.state);
}

// A figure of a chapter gets a button; the explorer replaces the drawing once the model has translated.
/** @type {(figure: Element, options: Partial<State>) => void} */
function beginFigure(figure, options) {
  const state = { ...START, ...options };
  const { direction, text } = state;
  const caption = /** @type {Element} */ (figure.querySelector("figcaption"));
  const words = () =>
    `Run this model in the page${session.loaded.has(direction) ? "" : ` (${BOOK.models[direction].size})`}`;
  const error = h("p", { class: "at-x-error", role: "alert" });
  const run = button(words(), async () => {
    disable(run, true);
    run.textContent = "Loading the model…";
    try {
      await session.load(direction);
      const result = /** @type {Translation} */ (
        await session.translate({ direction, text, prefix: [], ablated: [] })
      );
      figure.querySelectorAll(":scope > :is(svg, img, .at-figure-tools)").forEach((still) => still.remove());
      const live = h("div", { class: "at-x" });
      host.replaceWith(live);
      caption.remove(); // it describes the drawing
      new Explorer(live, { state, result: { ...result, direction }, whole: false });
      focusOn(live, `query ${state[state.view === "encoder" ? "word" : "step"]}`);
    } catch (problem) {
      fill(error, sentenceOf(/** @type {Error} */ (problem).message));
      disable(run, false);
      run.textContent = words();
    }
  });
  const host = h("div", { class: "at-x at-x-run" }, run, error);
  caption.before(host);
}

function start() {
  session = new Session(FOLDER);
  const hosts = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-explorer]"));
  hosts.forEach((host) => {
    const options = JSON.parse(host.dataset.explorer ?? "");
    if (options.view === "all") beginFrame(host, true);
    else if (options.view === "cover") beginCover(host);
    else beginFigure(host, options);
  });
}
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
