// The explorer's page: its parts, and what happens when something is chosen. The store holds what is shown.
import { Choose } from "./choose.js";
import { button, fill, find, focusOn, h, help, show, STILL } from "./dom.js";
import { HeadsOff } from "./heads_off.js";
import { Heat } from "./heat.js";
import { tensorTitle } from "./names.js";
import { Notices, warning } from "./notices.js";
import { NumberPanel } from "./number.js";
import { mayLoad, ROOT } from "./page.js";
import { Picture } from "./picture.js";
import { Sentence } from "./sentence.js";
import { sharing } from "./share.js";
import { headsMeant, placeWords, silenceWords, Stage } from "./attention_curves.js";
import { fromFragment, sameSentence, toFragment } from "./state.js";
import { Store } from "./store.js";
import { Why } from "./why.js";
import { HELP, languages, number, reads, sentenceOf, shapeWords } from "./words.js";
/** @import { Result, Session, Translated, Translation } from "./session.js" */
/** @import { State, Typed } from "./state.js" */
/** @import { Progress } from "./store.js" */

/** @type {(milliseconds: number) => Promise<unknown>} */
const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const PACE = 45; // milliseconds between two tokens, so that readers see them arrive

export class Explorer {
  // Made by addInstruments(), so only on the explorer's own page.
  /** @type {Heat} */
  heat;
  /** @type {NumberPanel} */
  number;
  /** @type {HeadsOff} */
  heads;
  /** @type {Picture} */
  picture;
  /** @type {HTMLDetailsElement} */
  section;

  // Made by compose().
  /** @type {HTMLElement} */
  translation;
  /** @type {HTMLElement} */
  main;
  /** @type {HTMLElement} */
  more;
  /** @type {HTMLElement} */
  stale;

  // `whole`: on the explorer's own page, not a part of it in a chapter.
  /** @param {Element} host @param {Session} session @param {{ state: State, result: Result, whole: boolean }} shown */
  constructor(host, session, { state, result, whole }) {
    this.host = host;
    this.whole = whole;
    const linked = whole ? fromFragment(location.hash) : null;
    this.store = new Store(session, { state, result, linked }, this);
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
    if (linked) this.enter(linked);
    this.render();
    if (this.whole && mayLoad()) this.open(this.sentence.direction, this.sentence.input.value);
    if (this.whole) addEventListener("hashchange", () => this.follow());
  }

  // Opens a link: another token or stop of the first frame is shown at once, everything else waits for the model.
  /** @type {(linked: State) => void} */
  enter(linked) {
    const { store } = this;
    const anywhere = { step: 0, stop: null };
    if (toFragment({ ...linked, ...anywhere }) !== toFragment({ ...store.state, ...anywhere }))
      return this.sentence.show(linked);
    store.state = store.fitted(linked);
    store.linked = null;
  }

  // Adds what only the explorer's own page has, not its parts in chapters.
  addInstruments() {
    this.heat = new Heat(this);
    this.number = new NumberPanel(this);
    this.picture = new Picture(this);
    this.heads = new HeadsOff(this);
    this.parts.push(this.picture, this.heads, this.heat, this.number);
    this.section = h(
      "details",
      { class: "at-x-section" },
      h("summary", { "data-key": "summary" }, h("h3", {}, "Switch heads off")),
      this.heads.element,
    );
  }

  compose() {
    const { stage, why, choose } = this;
    this.translation = h("p", { class: "at-x-translation" });
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
        this.whole && sharing(this),
      ),
      why.element,
      choose.element,
    );
    this.more = h("p", { class: "at-x-label" });
    this.stale = h("p", { class: "at-x-note" });
    fill(
      this.host,
      this.sentence.element,
      this.picture?.element,
      this.stale,
      this.main,
      this.whole ? this.section : this.more,
      this.live,
    );
  }

  render() {
    const { result, state } = this.store;
    const language = languages(result.direction)[1];
    fill(this.translation, h("q", { lang: language }, result.text));
    if (this.whole) this.section.hidden = Boolean(result.frame);
    fill(
      this.more,
      h("a", { href: `${ROOT}explorer.html${toFragment(state)}` }, "Open this in the explorer"),
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
    const { state, result, linked, busy } = this.store;
    const text = input.value.trim();
    const stale =
      Boolean(linked) || direction !== result.direction || (text !== "" && text !== state.text.trim());
    const words = stale
      ? `Below is still the translation of “${state.text.trim()}”. Press Translate to update it.`
      : "";
    if (words && !busy && words !== this.stale.textContent) this.say(words);
    fill(this.stale, words);
    for (const part of [this.main, this.section]) {
      part?.classList.toggle("at-x-stale", stale);
      part?.toggleAttribute("inert", stale);
    }
  }

  // Remembers the focus: the returned function restores it if the focused element is gone.
  /** @type {() => () => void} */
  holdFocus() {
    const activeElement = /** @type {HTMLElement | null} */ (document.activeElement);
    if (!activeElement || !this.host.contains(activeElement)) return () => {};
    const { key } = activeElement.dataset;
    const home = this.section?.contains(activeElement) ? this.heads.element : this.stage.element;
    return () => {
      if (document.activeElement !== document.body) return; // the focus stayed, or the reader moved it
      if (key) focusOn(this.host, key);
      if (document.activeElement === document.body)
        find(home, "[data-key][tabindex='0']")?.focus({ preventScroll: true });
    };
  }

  // Opens a tensor at one of its numbers.
  /** @type {(name: string, index?: number[], part?: "tensor" | "number") => void} */
  openTensor(name, index = this.store.firstIndex(name), part = "tensor") {
    const { store } = this;
    if (`${name} ${index}` !== `${store.state.tensor} ${store.state.at}`) this.leaveTrace();
    this.change({ tensor: name, at: index });
    this.reveal(part);
    this.say(`${tensorTitle(name)}, ${shapeWords(store.shapeOf(name) ?? [])}.`);
  }

  // Scrolls to the numbers that are open, or to the calculation of one, once they are drawn.
  /** @type {(part: "tensor" | "number") => Promise<void>} */
  async reveal(part) {
    const { tensor } = this.store.state;
    await Promise.all([this.heat.drawn, this.number.drawn]);
    if (this.store.state.tensor !== tensor) return;
    this.picture.bringPart((part === "number" ? this.number : this.heat).element);
    focusOn(this.host, part);
  }

  // What the token in focus reads, in words.
  readWords() {
    const { keys, rows, active } = Stage.parts(this.store);
    return reads(keys.tokens, rows[active]) || "all words a little";
  }

  // "it attended to “tomorrow” 88 % (layer 4, mean of its heads)"; if the heads are off, that nothing reached it.
  /** @type {(who: string, verb?: string) => string} */
  readSentence(who, verb = "attended to") {
    if (this.isSilent()) return `nothing reached ${who} through ${silenceWords(this.store.state)}`;
    return `${who} ${verb} ${this.readWords()} (${placeWords(this.store.state)})`;
  }

  // Whether all heads of the chosen attention are off: then nothing that they read has an effect.
  isSilent() {
    return headsMeant(this.store.state).on.length === 0;
  }

  /** @type {(words: string) => void} */
  say(words) {
    this.live.textContent = words;
  }

  // Shows another part of the same translation.
  /** @type {(patch: Partial<State>) => void} */
  change(patch) {
    this.store.change(patch);
  }

  // Scrolls to a new translation that is out of view, as on a phone.
  bringTranslation() {
    const place = this.picture?.element ?? this.main;
    const { top } = place.getBoundingClientRect();
    const { bottom } = (this.picture?.svg ?? this.stage.element).getBoundingClientRect();
    if (top < 0 || bottom > innerHeight) show(place);
  }

  // The button of the sentence: a new sentence, or the state of the link that led here.
  /** @type {(direction: string, text: string) => Promise<boolean>} */
  open(direction, text) {
    const { linked } = this.store;
    const typed = { direction, text };
    return linked && sameSentence(linked, typed) ? this.store.compute(linked) : this.store.translate(typed);
  }

  // What the store calls: see `View`.

  begin() {
    this.bringFocus = this.holdFocus();
  }

  waiting() {
    this.sentence.render();
  }

  arriving() {
    this.sentence.renderLoading();
  }

  /** @type {(message: string, invalid?: boolean) => void} */
  refuse(message, invalid) {
    this.sentence.refuse(sentenceOf(message), invalid);
  }

  /** @type {(result: Translated) => void} */
  translated(result) {
    const words = `Translated: ${result.text} ${result.target.ids.length} tokens, log-probability ${number(result.logProb, 3)}.`;
    this.say(`${words} ${warning(result)}`.trim());
  }

  /** @type {(same: boolean) => void} */
  ended(same) {
    if (same) this.holdPlace(() => this.render());
    else this.render();
    this.bringFocus?.();
    this.keepAddress();
  }

  changed() {
    this.render();
    this.keepAddress();
  }

  // Shows tokens as they are computed, one at a time.
  /** @type {(answer: Promise<Translation | null>, progress: Progress) => Promise<Translation | null>} */
  async watch(answer, progress) {
    const { options, known, wanted } = progress;
    let done = false;
    let drawn = known;
    answer.finally(() => (done = true)).catch(() => {});
    const stored = this.store.result.frame && sameSentence(this.store.state, options);
    if (STILL.matches || stored) return answer; // what is there already does not arrive again
    while (wanted() && (!done || drawn < progress.tokens.length)) {
      if (drawn < progress.tokens.length) {
        this.main.classList.add("at-x-growing");
        const grown = progress.tokens.slice(0, (drawn += 1));
        this.stage.grow(this.sourceShown(options), grown, languages(options.direction));
      }
      await sleep(PACE);
    }
    return answer;
  }

  // Keeps what is beside and below the translation in place when the same sentence changes; the top stays the top.
  /** @type {(render: () => void) => void} */
  holdPlace(render) {
    if (!scrollY) return render();
    const place = () => this.why.element.getBoundingClientRect().top;
    const before = place();
    render();
    scrollBy({ top: place() - before, behavior: "instant" });
  }

  /** @type {(typed: { text: string }) => string[]} */
  sourceShown({ text }) {
    const { state, result } = this.store;
    return text === state.text ? result.source.tokens : text.split(/(?= )/);
  }

  keepAddress() {
    if (!this.whole || this.store.result.frame) return;
    try {
      history.replaceState(history.state, "", toFragment(this.store.state));
    } catch {
      // Safari allows 100 changes in 30 seconds; beyond that, the address lags behind.
    }
  }

  // Opening a tensor adds an entry to the browser's history, so that the reader can go back.
  leaveTrace() {
    const { state } = this.store;
    const { tensor, at } = state;
    const from = tensor ? `${tensorTitle(tensor)}, ${this.heat.placeWords(tensor, at)}` : PICTURE;
    try {
      history.pushState({ from }, "", toFragment(state));
    } catch {
      // as above; then the reader cannot go back
    }
  }

  // The button that leads back to where a tensor was opened from; a link has opened it from nowhere.
  wayBack() {
    const from = history.state?.from;
    const back = () => (from ? history.back() : this.closeTensor());
    return button(`← Back to ${from ?? PICTURE}`, back, { class: "at-x-link", "data-key": "back" });
  }

  // Closes the tensor that is open.
  closeTensor() {
    const { tensor } = this.store.state;
    this.change({ tensor: "", at: [] });
    this.picture.focusBox(tensor);
  }

  follow() {
    const { store } = this;
    const linked = fromFragment(location.hash);
    if (!linked) return;
    const same = store.shows(linked);
    store.linked = same ? null : linked;
    this.sentence.show(linked);
    if (same) return this.goBack(linked);
    if (store.session.loaded.has(linked.direction)) this.open(linked.direction, linked.text);
  }

  // Goes to another place in the same translation.
  /** @type {(linked: State) => void} */
  goBack(linked) {
    const { store } = this;
    const opened = store.state.tensor;
    this.sentence.refuse("");
    store.state = store.fitted(linked);
    this.changed();
    if (store.state.tensor) this.reveal("number");
    else if (opened) this.picture.focusBox(opened);
  }
}

const PICTURE = "the picture";
