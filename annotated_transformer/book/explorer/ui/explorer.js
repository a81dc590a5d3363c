// The explorer: its state, its parts, and what happens when something is chosen.

const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const PACE = 45; // milliseconds between two tokens, so that one can see them arrive
let session = null; // one engine for a page

class Explorer {
  // `whole` is the page of the explorer, not a part of it in a chapter.
  constructor(host, { state, result, whole }) {
    this.session = session;
    this.host = host;
    this.whole = whole;
    this.state = state;
    this.result = result;
    this.linked = whole ? fromFragment(location.hash) : null;
    this.live = h("p", { class: "at-hidden", role: "status" });
    this.stage = new Stage(this);
    this.parts = [this.stage, new Why(this), new Choose(this)];
    if (this.whole) this.addInstruments();
    this.sentence = new Sentence(this);
    if (this.linked) this.sentence.show(this.linked);
    this.compose();
    this.render();
    if (this.whole) addEventListener("hashchange", () => this.follow());
  }

  // What only the page of the explorer has, not its parts in chapters.
  addInstruments() {
    this.heat = new Heat(this);
    this.number = new NumberPanel(this);
    this.map = new ModelMap(this);
    this.tour = new Tour(this);
    const [heads, searches] = [new HeadsOff(this), new Searches(this)];
    this.parts.push(heads, searches, this.map, this.heat, this.number, this.tour);
    this.sections = {
      heads: section("Switch heads off", heads.element),
      searches: section("Compare greedy search, beam search and sampling", searches.element),
      tensors: section("Open any tensor, and any number in it", this.map.element, this.heat.element, this.number.element),
    };
  }

  compose() {
    const [stage, why, choose] = this.parts;
    this.translation = h("p", { class: "at-x-translation" });
    this.main = h("div", { class: "at-x-main" }, h("div", {}, this.translation, stage.element, choose.element), why.element);
    this.more = h("p", { class: "at-x-label" });
    fill(this.host, this.sentence.element, this.tour?.opener, this.main, Object.values(this.sections ?? {}), this.tour?.element, this.whole ? null : this.more, this.live);
  }

  render() {
    const { result } = this;
    const language = languages(result.direction)[1];
    fill(this.translation, h("q", { lang: language }, result.text), h("span", {}, ` log-probability ${number(result.logProb, 3)}`));
    for (const part of Object.values(this.sections ?? {})) part.hidden = Boolean(result.frame);
    fill(this.more, h("a", { href: `${ROOT}explorer.html${toFragment(this.state)}` }, "Open this in the explorer"), ", with every tensor and number.");
    for (const part of this.parts) part.drawn = part.render();
    this.sentence.render();
  }

  // Opens a tensor at one of its numbers.
  openTensor(name, index = this.firstIndex(name), part = "heat") {
    this.sections.tensors.open = true;
    this.change({ tensor: name, at: index });
    this.reveal(part);
    this.say(`${tensorTitle(name)}, ${shapeWords(this.shapeOf(name))}.`);
  }

  shapeOf(name) {
    return this.result.tensors.find((tensor) => tensor.name === name)?.shape;
  }

  // The number to begin with: that of the token in focus.
  firstIndex(name) {
    const { state, result } = this;
    const { stack } = parsed(name);
    const row = stack === "encoder" ? state.word : state.step;
    return this.fitting(name, [state.head ?? 0, row, stack === "output" ? result.target.ids[state.step] : 0]);
  }

  // An index that the tensor has.
  fitting(name, index) {
    const shape = this.shapeOf(name);
    return shape.map((count, axis) => Math.min(index.at(axis - shape.length) ?? 0, count - 1));
  }

  // Brings a part of the page into sight, once it is drawn.
  async reveal(part, wanted = () => true) {
    const places = { stage: this.main, heat: this.heat?.element, number: this.number?.element, ...this.sections };
    if (this.sections && part in this.sections) this.sections[part].open = true;
    if (["heat", "number"].includes(part)) {
      this.sections.tensors.open = true;
      await Promise.all([this.heat.drawn, this.number.drawn]);
    }
    if (wanted()) show(places[part]);
  }

  // What the token in focus reads, in words.
  readWords() {
    const { keys, rows, active } = Stage.parts(this);
    return reads(keys.tokens, rows[active]) || "all words a little";
  }

  // Whose attention is meant: "layer 4, mean of its heads".
  placeWords() {
    const { layer, head } = this.state;
    const which = head === null ? "mean of its heads" : `head ${head + 1}`;
    return layer === null ? `mean of all layers, ${head === null ? "all heads" : which}` : `layer ${layer + 1}, ${which}`;
  }

  isForced(step) {
    const { result, state } = this;
    return step < state.prefix.length && result.top[step][0].id !== result.target.ids[step];
  }

  say(words) {
    this.live.textContent = words;
  }

  // Shows another part of the same translation.
  change(patch, aloud = false) {
    this.state = { ...this.state, ...patch };
    if (this.asked) this.asked = { ...this.asked, ...patch };
    this.render();
    this.keepAddress();
    if (!aloud) return;
    const { queries, active } = Stage.parts(this);
    this.say(`${spoken(queries.tokens[active])} reads ${this.readWords()}`);
  }

  // The button of the sentence: a new sentence, or the state of the link that led here.
  open(direction, text) {
    const { linked } = this;
    if (linked && linked.text === text && linked.direction === direction) return this.compute(linked);
    const state = this.asked ?? this.state;
    const { view, layer, head, ablated, step } = state;
    const same = text === state.text && direction === state.direction;
    return this.compute({ ...START, view, layer, head, ablated, direction, text, step: same ? step : 0 });
  }

  // Forces a token at a step, or frees the step again.
  force(step, id) {
    const before = this.result.target.ids.slice(0, step);
    return this.compute({ ...(this.asked ?? this.state), step, prefix: id === null ? before : [...before, id] });
  }

  // Translates what a state asks for, and shows it; false where that did not happen.
  async compute(state) {
    const { linked } = this;
    const turn = (this.turn = (this.turn ?? 0) + 1);
    this.busy = true;
    this.asked = state;
    this.sentence.render();
    const { direction, text, prefix, ablated } = state;
    let shown = false;
    try {
      await this.session.load(direction);
      this.sentence.render();
      const result = await this.watch({ direction, text, prefix, ablated }, prefix.length, turn);
      if (turn !== this.turn) return false; // something else was asked for meanwhile
      this.result = { ...result, direction };
      this.state = this.fitted(this.asked); // with what was chosen meanwhile
      if (this.linked === linked) this.linked = null;
      this.sentence.refuse("");
      this.say(`Translated: ${result.text} ${result.target.ids.length} tokens, log-probability ${number(result.logProb, 3)}.`);
      shown = true;
    } catch (error) {
      if (turn !== this.turn) return false;
      this.sentence.refuse(sentenceOf(error.message));
    }
    this.busy = false;
    this.asked = null;
    if (this.state.tensor) this.sections.tensors.open = true;
    this.render();
    this.keepAddress();
    return shown;
  }

  // The same places in another translation, which may be shorter.
  fitted(state) {
    const { source, target } = this.result;
    const within = (place, tokens) => Math.min(place, tokens.length - 1);
    const tensor = this.shapeOf(state.tensor) ? state.tensor : "";
    const at = tensor ? this.fitting(tensor, state.at) : [];
    return { ...state, step: within(state.step, target.tokens), word: within(state.word, source.tokens), tensor, at };
  }

  // Shows tokens as they are computed, one at a time.
  async watch(options, known, turn) {
    let latest = [];
    let done = false;
    let drawn = known;
    const wanted = () => turn === this.turn;
    const answer = this.session.translate(options, ({ tokens }) => (latest = tokens), wanted);
    const finished = answer.finally(() => (done = true));
    finished.catch(() => {});
    if (STILL.matches) return answer;
    while (wanted() && (!done || drawn < latest.length)) {
      if (drawn < latest.length) this.stage.grow(this.sourceShown(options), latest.slice(0, (drawn += 1)), languages(options.direction));
      await sleep(PACE);
    }
    return answer;
  }

  sourceShown({ text }) {
    return text === this.state.text ? this.result.source.tokens : text.split(/(?= )/);
  }

  keepAddress() {
    if (!this.whole || this.result.frame) return;
    try {
      history.replaceState(null, "", toFragment(this.state));
    } catch {
      // Safari allows a hundred in half a minute; the address is then that of a moment ago.
    }
  }

  follow() {
    const linked = fromFragment(location.hash);
    if (!linked) return;
    this.linked = linked;
    this.sentence.show(linked);
    if (this.session.loaded.has(linked.direction)) this.open(linked.direction, linked.text);
  }
}

// The engine's sentence, for someone who typed one sentence.
const sentenceOf = (message) => message.replace(/^text 0 of 1/, "The sentence");

const section = (title, ...children) => h("details", { class: "at-x-section" }, h("summary", {}, h("h3", {}, title)), children);

const FOLDER = document.currentScript.src.replace(/\/[^/]*$/, "");
const ROOT = FOLDER.replace(/_static\/explorer$/, "");
// The page of the explorer begins with a frame that was computed when the book was built.
function beginWhole(host, { direction, text }) {
  const frame = JSON.parse(host.querySelector("script.at-x-frame").textContent);
  new Explorer(host, { state: { ...START, direction, text, step: frame.step }, result: { ...frame, frame: true }, whole: true });
}

// A figure of a chapter gets a button; the explorer takes the place of the drawing when the model has translated.
function beginFigure(figure, options) {
  const state = { ...START, ...options };
  const { direction, text } = state;
  const words = () => `Run this model in the page${session.loaded.has(direction) ? "" : ` (${BOOK.models[direction].size})`}`;
  const error = h("p", { class: "at-x-error", role: "alert" });
  const run = button(words(), async () => {
    run.disabled = true;
    run.textContent = "Loading the model…";
    try {
      await session.load(direction);
      const result = await session.translate({ direction, text, prefix: [], ablated: [] });
      figure.querySelectorAll(":scope > :is(svg, img, .at-figure-tools)").forEach((still) => still.remove());
      const live = h("div", { class: "at-x" });
      host.replaceWith(live);
      figure.querySelector("figcaption").remove(); // it describes the drawing
      new Explorer(live, { state, result: { ...result, direction }, whole: false });
      focusOn(live, `query ${state[state.view === "encoder" ? "word" : "step"]}`);
    } catch (problem) {
      fill(error, sentenceOf(problem.message));
      run.disabled = false;
      run.textContent = words();
    }
  });
  const host = h("div", { class: "at-x at-x-run" }, run, error);
  figure.querySelector("figcaption").before(host);
}

function start() {
  session = new Session(FOLDER);
  document.querySelectorAll("[data-explorer]").forEach((host) => {
    const { view, ...options } = JSON.parse(host.dataset.explorer);
    if (view === "all") beginWhole(host, options);
    else beginFigure(host, { view, ...options });
  });
}
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
