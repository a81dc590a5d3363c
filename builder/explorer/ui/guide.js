// What is said of a stop, and the controls that lead from one to the next.
import { button, fill, h } from "./dom.js";
import { chapterLink } from "./names.js";
import { overview, STOPS } from "./stops.js";
import { sentenceOf } from "./words.js";

const WHOLE = 14; // the chapter that puts all parts together
const PLAY = ` Press Play to follow it in ${STOPS.length} stops.`;

export class Guide {
  /** @param {import("./player.js").Player} player */
  constructor(player) {
    this.player = player;
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
      h("p", {}, at ? at.words(scene) : [overview(scene), h("span", { class: "at-x-action" }, PLAY)]),
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
    const { player } = this;
    const { step, stop } = player.view.place();
    fill(
      this.controls,
      h(
        "div",
        { class: "at-x-moves" },
        button("Back", () => player.jump(player.before()), {
          "data-key": "before",
          disabled: !player.before(),
        }),
        button(player.playing ? "❚❚ Pause" : "▶\ufe0e Play", () => player.toggle(), {
          class: "at-x-play",
          "data-key": "play",
        }),
        button("Step", () => player.jump(player.next()), { "data-key": "step", disabled: !player.next() }),
        button("Slower", () => player.slower(), {
          "data-key": "slower",
          "aria-pressed": String(player.slow),
        }),
      ),
      h(
        "div",
        { class: "at-x-stops" },
        STOPS.map(({ title }, i) =>
          button(String(i + 1), () => player.jump({ step, stop: i }), {
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
    if (event.key === "ArrowRight") this.player.jump(this.player.next());
    else if (event.key === "ArrowLeft") this.player.jump(this.player.before());
    else return;
    event.preventDefault();
  }
}

// The words of a scene, as they are read out.
/** @type {(scene: Scene) => string} */
export function sentenceAt(scene) {
  const { stop } = scene;
  if (stop === null) return overview(scene);
  return `Stop ${stop + 1} of ${STOPS.length}: ${STOPS[stop].title}. ${STOPS[stop].words(scene)}`;
}
