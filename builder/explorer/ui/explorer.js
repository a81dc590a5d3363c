// The explorer's page: its parts, and what happens when something is chosen. The store holds what is shown.
import { chooseAttention } from "./choose.js";
import { button, fill, find, focusOn, h, help, show, STILL } from "./dom.js";
import { HeadsOff } from "./heads_off.js";
import { Heat } from "./heat.js";
import { tensorTitle } from "./names.js";
import { notices, warning } from "./notices.js";
import { NumberPanel } from "./number.js";
import { mayLoad, ROOT } from "./page.js";
import { Picture } from "./picture.js";
import { Sentence } from "./sentence.js";
import { sharing } from "./share.js";
import { Stage } from "./attention_curves.js";
import { fromFragment, sameSentence, toFragment } from "./state.js";
import { Store } from "./store.js";
import { why } from "./why.js";
import { HELP, languages, number, shapeWords } from "./words.js";

const PACE = 45; // milliseconds between two tokens, so that readers see them arrive
const PICTURE = "the picture";

export class Explorer {
  // What only the explorer's own page has, and some parts in chapters.
  /** @type {Heat} */
  heat;
  /** @type {NumberPanel} */
  number;
  /** @type {Picture} */
  picture;
  /** @type {HeadsOff} */
  heads;
  /** @type {HTMLDetailsElement} */
  section;

  // `whole`: on the explorer's own page; in a chapter, the `part` that its figure shows.
  /** @param {Element} host @param {Session} session @param {{ state: State, result: Result, whole: boolean, part?: "curves" | "heat" | "way" }} begin */
  constructor(host, session, { state, result, whole, part = "curves" }) {
    this.host = host;
    this.whole = whole;
    const linked = whole ? fromFragment(location.hash) : null;
    this.store = new Store(session, { state, result, linked }, this);
    this.stage = new Stage(this);
    if (whole || part !== "curves") {
      this.heat = new Heat(this);
      this.number = new NumberPanel(this);
      this.picture = new Picture(this);
    }
    if (whole) {
      this.heads = new HeadsOff(this);
      const title = h("summary", { "data-key": "summary" }, h("h3", {}, "Switch heads off"));
      this.section = h("details", { class: "at-x-section" }, title, this.heads.element);
    }
    this.sentence = new Sentence(this);
    this.live = h("p", { class: "at-hidden", role: "status" });
    this.stale = h("p", { class: "at-x-note" });
    this.translation = h("p", { class: "at-x-translation" });
    this.notices = h("div", { class: "at-x-notices" });
    this.why = h("div", { class: "at-x-why" });
    this.choose = h("div", { class: "at-x-choose" });
    this.more = h("p", { class: "at-x-label" });
    const keys = whole && [help("How to read this", HELP.token, HELP.logProb), sharing(this)];
    const drawn = h("div", {}, this.translation, this.notices, this.stage.element, keys);
    this.main = h("div", { class: "at-x-main" }, drawn, this.why, this.choose);
    const numbers =
      part === "heat" && h("div", { class: "at-x-tensor" }, this.heat.element, this.number.element);
    fill(
      host,
      this.sentence.element,
      numbers || this.picture?.element,
      this.stale,
      part === "curves" && this.main,
      whole ? this.section : this.more,
      this.live,
    );
    // A link to another token or stop of the first frame is shown at once; another link waits for the model.
    const anywhere = { step: 0, stop: null };
    if (linked && toFragment({ ...linked, ...anywhere }) === toFragment({ ...state, ...anywhere }))
      Object.assign(this.store, { state: this.store.fitted(linked), linked: null });
    else if (linked) this.sentence.show(linked);
    this.render();
    if (!whole) return;
    if (mayLoad()) this.open(this.sentence.typed);
    addEventListener("hashchange", () => this.follow());
  }

  render() {
    const { result, state } = this.store;
    fill(this.translation, h("q", { lang: languages(result.direction)[1] }, result.text));
    this.stage.render();
    fill(this.notices, notices(this));
    fill(this.why, why(this));
    fill(this.choose, chooseAttention(this));
    this.notices.hidden = this.choose.hidden = Boolean(result.frame);
    const address = `${ROOT}explorer.html${toFragment(state)}`;
    fill(
      this.more,
      h("a", { href: address }, "Open this in the explorer"),
      ", with every tensor and number.",
    );
    if (this.whole) {
      this.section.hidden = Boolean(result.frame);
      this.heads.render();
    }
    if (this.picture) {
      this.drawn = Promise.all([this.picture.render(), this.heat.render(), this.number.render()]);
    }
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

  /** @type {(name: string, index?: number[], part?: "tensor" | "number") => void} */
  openTensor(name, index = this.store.firstIndex(name), part = "tensor") {
    const { store } = this;
    const { tensor, at } = store.state;
    const from = tensor ? `${tensorTitle(tensor)}, ${this.heat.placeWords(tensor, at)}` : PICTURE;
    // With an entry in the browser's history, the reader can go back.
    if (`${name} ${index}` !== `${tensor} ${at}`) this.keepAddress("pushState", { from });
    store.change({ tensor: name, at: index });
    this.reveal(part);
    this.say(`${tensorTitle(name)}, ${shapeWords(store.shapeOf(name) ?? [])}.`);
  }

  // Scrolls to the numbers that are open, or to the calculation of one, once they are drawn.
  /** @type {(part: "tensor" | "number") => Promise<void>} */
  async reveal(part) {
    const { tensor } = this.store.state;
    await this.drawn;
    if (this.store.state.tensor !== tensor) return;
    this.picture.bringPart((part === "number" ? this.number : this.heat).element);
    focusOn(this.host, part);
  }

  /** @type {(words: string) => void} */
  say(words) {
    this.live.textContent = words;
  }

  // Scrolls to a new translation that is out of view, as on a phone.
  bringTranslation() {
    const place = this.picture?.element ?? this.main;
    const { top } = place.getBoundingClientRect();
    const { bottom } = (this.picture?.svg ?? this.stage.element).getBoundingClientRect();
    if (top < 0 || bottom > innerHeight) show(place);
  }

  // The button of the sentence: a new sentence, or the state of the link that led here.
  /** @type {(typed: Typed) => Promise<boolean>} */
  open(typed) {
    const { linked } = this.store;
    return linked && sameSentence(linked, typed) ? this.store.compute(linked) : this.store.translate(typed);
  }

  // What the store calls.

  // A translation begins, and none was running. If it removes the element in focus, another gets the focus at its end.
  begin() {
    const focused = /** @type {HTMLElement} */ (document.activeElement);
    const inside = this.host.contains(focused);
    const home = this.section?.contains(focused) ? this.heads.element : this.stage.element;
    this.bringFocus = () => {
      if (!inside || document.activeElement !== document.body) return; // it stayed, or the reader moved it
      if (focused.dataset.key) focusOn(this.host, focused.dataset.key);
      if (document.activeElement === document.body)
        find(home, "[data-key][tabindex='0']")?.focus({ preventScroll: true });
    };
  }

  /** @type {(result: Translation) => void} */
  translated(result) {
    this.sentence.refuse("");
    const words = `Translated: ${result.text} ${result.target.ids.length} tokens, log-probability ${number(result.logProb, 3)}.`;
    this.say(`${words} ${warning(result)}`.trim());
  }

  // No translation is running any more; `same`: the sentence did not change. Then what is beside and below the
  // translation keeps its place, unless the page is at its top, which stays the top.
  /** @type {(same: boolean) => void} */
  ended(same) {
    const place = () => this.why.getBoundingClientRect().top;
    const before = place();
    const scrolled = same && scrollY > 0;
    this.render();
    if (scrolled) scrollBy({ top: place() - before, behavior: "instant" });
    this.bringFocus?.();
    this.keepAddress();
  }

  changed() {
    this.render();
    this.keepAddress();
  }

  // Translates, and shows the tokens as they are computed, one at a time.
  /** @type {(options: Options, isLatest: () => boolean) => Promise<Translation | null>} */
  async watch(options, isLatest) {
    const { state, result, session } = this.store;
    /** @type {string[]} */
    let tokens = [];
    const answer = session.translate(options, (partial) => ({ tokens } = partial), isLatest);
    if (STILL.matches || (result.frame && sameSentence(state, options))) return answer; // it is there already
    let done = false;
    answer.finally(() => (done = true)).catch(() => {});
    const source = options.text === state.text ? result.source.tokens : options.text.split(/(?= )/);
    for (let drawn = options.prefix.length; isLatest() && (!done || drawn < tokens.length);) {
      if (drawn < tokens.length) {
        this.main.classList.add("at-x-growing");
        this.stage.grow(source, tokens.slice(0, (drawn += 1)), languages(options.direction));
      }
      await new Promise((wake) => setTimeout(wake, PACE));
    }
    return answer;
  }

  // Writes the state into the address, of which Safari allows 100 changes in 30 seconds.
  /** @type {(change?: "replaceState" | "pushState", data?: unknown) => void} */
  keepAddress(change = "replaceState", data = history.state) {
    if (!this.whole || this.store.result.frame) return;
    try {
      history[change](data, "", toFragment(this.store.state));
    } catch {
      // the address lags behind
    }
  }

  // The button that leads back to where a tensor was opened from; a link has opened it from nowhere.
  wayBack() {
    const from = history.state?.from;
    const back = () => (from ? history.back() : this.closeTensor());
    return button(`← Back to ${from ?? PICTURE}`, back, { class: "at-x-link", "data-key": "back" });
  }

  closeTensor() {
    const { tensor } = this.store.state;
    this.store.change({ tensor: "", at: [] });
    this.picture.focusBox(tensor);
  }

  // Follows a link on this page; to another place in the same translation, it leads at once.
  follow() {
    const { store } = this;
    const linked = fromFragment(location.hash);
    if (!linked) return;
    const same = store.shows(linked);
    store.linked = same ? null : linked;
    this.sentence.show(linked);
    if (same) {
      const opened = store.state.tensor;
      this.sentence.refuse("");
      store.state = store.fitted(linked);
      this.changed();
      if (store.state.tensor) this.reveal("number");
      else if (opened) this.picture.focusBox(opened);
    } else if (store.session.loaded.has(linked.direction)) this.open(linked);
  }
}
