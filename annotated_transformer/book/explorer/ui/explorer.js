// The explorer: its state, its parts, and what happens when something is chosen.

const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const PACE = 45; // milliseconds between two tokens, so that one can see them arrive
let session = null; // one engine for a page

class Explorer {
  constructor(host) {
    const { view, direction, text } = JSON.parse(host.dataset.explorer);
    const frame = JSON.parse(host.querySelector("script.at-x-frame").textContent);
    session ??= new Session(FOLDER);
    this.session = session;
    this.host = host;
    this.whole = view === "all"; // the page of the explorer, not a part of it in a chapter
    this.frameState = { ...START, direction, text, view: this.whole ? "cross" : view, step: frame.step };
    this.linked = this.whole ? fromFragment(location.hash) : null;
    this.state = this.frameState;
    this.result = { ...frame, frame: true };
    this.live = h("p", { class: "at-hidden", role: "status" });
    this.parts = [(this.stage = new Stage(this)), (this.why = new Why(this))];
    this.sentence = new Sentence(this);
    if (this.linked) this.sentence.show(this.linked);
    this.compose();
    this.render();
    if (this.whole) addEventListener("hashchange", () => this.follow());
  }

  compose() {
    this.translation = h("p", { class: "at-x-translation" });
    this.main = h("div", { class: "at-x-main" }, h("div", {}, this.translation, this.stage.element), this.why.element);
    fill(this.host, this.sentence.element, this.main, this.live);
  }

  render() {
    const { result } = this;
    const language = languages(result.direction)[1];
    fill(this.translation, h("q", { lang: language }, result.text), h("span", {}, ` log-probability ${number(result.logProb, 3)}`));
    for (const part of this.parts) part.render();
    this.sentence.render();
  }

  // What the token in focus reads, in words.
  readWords() {
    const { keys, rows, active } = Stage.parts(this);
    return reads(keys.tokens, rows[active]) || "all words a little";
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
    this.render();
    this.keepAddress();
    if (aloud) this.say(`${spoken(this.result.target.tokens[this.state.step])} reads ${this.readWords()}`);
  }

  // The button of the sentence: a new sentence, or the state of the link that led here.
  open(direction, text) {
    const linked = this.linked;
    this.linked = null;
    if (linked && linked.text === text && linked.direction === direction) return this.compute(linked);
    const { view, layer, head, ablated } = this.state;
    return this.compute({ ...START, view, layer, head, ablated, direction, text });
  }

  // Forces a token at a step, or frees the step again.
  force(step, id) {
    const before = this.result.target.ids.slice(0, step);
    return this.compute({ ...this.state, step, prefix: id === null ? before : [...before, id] });
  }

  // Translates what a state asks for, and shows it.
  async compute(state) {
    this.busy = true;
    this.sentence.render();
    const { direction, text, prefix, ablated } = state;
    try {
      await this.session.load(direction);
      this.sentence.render();
      const result = await this.watch({ direction, text, prefix, ablated }, prefix.length);
      this.result = { ...result, direction };
      this.state = { ...state, step: Math.min(state.step, result.target.ids.length - 1), word: Math.min(state.word, result.source.ids.length - 1) };
      this.sentence.refuse("");
      this.say(`Translated: ${result.text} ${result.target.ids.length} tokens, log-probability ${number(result.logProb, 3)}.`);
    } catch (error) {
      this.sentence.refuse(sentenceOf(error.message));
    }
    this.busy = false;
    this.render();
    this.keepAddress();
  }

  // Shows tokens as they are computed, one at a time.
  async watch(options, known) {
    let latest = [];
    let done = false;
    let drawn = known;
    const answer = this.session.translate(options, ({ tokens }) => (latest = tokens));
    const finished = answer.finally(() => (done = true));
    finished.catch(() => {});
    if (STILL.matches) return answer;
    while (!done || drawn < latest.length) {
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
    history.replaceState(null, "", toFragment(this.state));
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

const FOLDER = document.currentScript.src.replace(/\/[^/]*$/, "");
const start = () => document.querySelectorAll("[data-explorer]").forEach((host) => new Explorer(host));
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
