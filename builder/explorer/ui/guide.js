// What is said of a stop of the picture, and what leads from one to the next: plays, pauses, steps, and goes slower.
import { button, fill, h, p } from "./dom.js";
import { chapterLink } from "./names.js";
import { overview, STOPS } from "./stops.js";
import { sentenceOf } from "./words.js";

const STAY = 5000; // milliseconds at each stop: time to read its sentence
const WHOLE = 14; // the chapter that puts all parts together
const PLAY = ` Press Play to follow it in ${STOPS.length} stops.`;

export class Guide {
  /** @param {import("./picture.js").Picture} picture */
  constructor(picture) {
    this.picture = picture;
    this.playing = false;
    this.factor = 1; // how much slower than usual
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.words = h("div", { class: "at-x-stop" });
    this.controls = h("div", { class: "at-x-player", onkeydown: (event) => this.turn(event) });
    this.element = h("div", { class: "at-x-guide" }, this.words, this.controls);
  }

  /** @type {(scene: Scene) => void} */
  tell(scene) {
    const { stop } = scene;
    const at = stop === null ? null : STOPS[stop];
    const printed = STOPS.map(({ title, words }) => h("li", {}, h("b", {}, title), `: ${words(scene)}`));
    fill(
      this.words,
      h("h3", {}, at ? [h("span", {}, `${Number(stop) + 1} `), at.title] : "How the next word is made"),
      p(at ? at.words(scene) : [overview(scene), h("span", { class: "at-x-action" }, PLAY)]),
      h("p", { class: "at-x-chapter" }, chapterLink(at ? at.chapter : WHOLE)),
      !at && h("ol", { class: "at-x-printed" }, printed),
    );
  }

  // The engine's error message instead.
  /** @type {(error: Error) => void} */
  refuse({ message }) {
    fill(this.words, h("p", { class: "at-x-error", role: "alert" }, sentenceOf(message)));
  }

  drawControls() {
    const { step, stop } = this.picture.explorer.store.state;
    const [before, next] = [this.before(), this.next()];
    const playing = { class: "at-x-play", "data-key": "play" };
    const slower = { "data-key": "slower", "aria-pressed": String(this.factor > 1) };
    fill(
      this.controls,
      h(
        "div",
        { class: "at-x-moves" },
        button("Back", () => this.jump(before), { "data-key": "before", disabled: !before }),
        button(this.playing ? "❚❚ Pause" : "▶\ufe0e Play", () => this.toggle(), playing),
        button("Step", () => this.jump(next), { "data-key": "step", disabled: !next }),
        button("Slower", () => this.slower(), slower),
      ),
      h(
        "div",
        { class: "at-x-stops" },
        STOPS.map(({ title }, i) =>
          button(String(i + 1), () => this.jump({ step, stop: i }), {
            "data-key": `stop ${i}`,
            "aria-label": `${i + 1}: ${title}`,
            title,
            "aria-pressed": String(i === stop),
            class: stop !== null && i < stop ? "at-past" : null,
          }),
        ),
      ),
    );
  }

  // The arrow keys step as well, wherever the focus is among the controls.
  /** @type {(event: KeyboardEvent) => void} */
  turn(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "ArrowRight") this.jump(this.next());
    else if (event.key === "ArrowLeft") this.jump(this.before());
    else return;
    event.preventDefault();
  }

  // The next place: after the last stop, the next token begins; after the last token, there is none.
  /** @type {() => Place | null} */
  next() {
    const { state, result } = this.picture.explorer.store;
    const { step, stop } = state;
    if (stop === null || stop + 1 < STOPS.length) return { step, stop: stop === null ? 0 : stop + 1 };
    return step + 1 < result.target.tokens.length ? { step: step + 1, stop: 0 } : null;
  }

  /** @type {() => Place | null} */
  before() {
    const { step, stop } = this.picture.explorer.store.state;
    if (stop === null) return null;
    if (stop > 0) return { step, stop: stop - 1 };
    return step > 0 ? { step: step - 1, stop: STOPS.length - 1 } : { step, stop: null };
  }

  // Goes to a stop, which ends playing.
  /** @type {(to: Place | null) => void} */
  jump(to) {
    this.pause();
    if (!to) return;
    this.picture.go(to);
    this.picture.bring();
  }

  toggle() {
    if (this.playing) return this.pause();
    this.playing = true;
    this.picture.go(this.next() ?? { step: 0, stop: 0 });
    this.picture.bring();
    this.wait();
  }

  pause() {
    clearTimeout(this.timer);
    if (!this.playing) return;
    this.playing = false;
    this.drawControls();
  }

  slower() {
    this.factor = this.factor > 1 ? 1 : 2;
    if (this.playing) this.wait();
    this.drawControls();
  }

  wait() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const to = this.next();
      if (!to) return this.pause();
      this.picture.go(to);
      this.wait();
    }, STAY * this.factor);
  }
}

// The words of a scene, as they are read out.
/** @type {(scene: Scene) => string} */
export function sentenceAt(scene) {
  const { stop } = scene;
  if (stop === null) return overview(scene);
  return `Stop ${stop + 1} of ${STOPS.length}: ${STOPS[stop].title}. ${STOPS[stop].words(scene)}`;
}
