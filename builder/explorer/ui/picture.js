// The model as a picture that runs: a token's way through it, beside its explanation, and beside what a box holds.
import { parsed } from "../engine/names.js";
import { Drawing, namesShown } from "./drawing.js";
import { choices, fill, find, focusOn, h, show, STILL, tabTo } from "./dom.js";
import { Guide, sentenceAt } from "./guide.js";
import { layout } from "./layout.js";
import { move } from "./motion.js";
import { capital, tensorTitle } from "./names.js";
import { sceneOf } from "./scene.js";
import { sameSentence } from "./state.js";
import { SOFTMAX } from "./stops.js";
import { readStrips } from "./strips.js";
import { languages, shapeWords, tokenElement } from "./words.js";

const HEADER = 48; // pixels of the page's own, which stays in view

export class Picture {
  /** @param {Explorer} explorer */
  constructor(explorer) {
    this.explorer = explorer;
    this.guide = new Guide(this);
    this.svg = h("svg", { role: "group", onkeydown: (event) => this.arrow(event) });
    this.choose = h("div", { class: "at-x-picture-choose" });
    this.siblings = h("div", { class: "at-x-siblings" });
    this.back = h("p", { class: "at-x-back at-x-action" });
    const open = [this.back, this.siblings, explorer.heat.element, explorer.number.element];
    this.panel = h("div", { class: "at-x-tensor" }, open);
    const drawn = h("div", { class: "at-x-drawn" }, this.svg);
    new ResizeObserver(() => this.draw()).observe(drawn);
    this.element = h(
      "section",
      { class: "at-x-picture", "aria-label": "The model as a picture" },
      drawn,
      h("div", { class: "at-x-told" }, this.guide.element, this.choose, this.panel),
    );
    const seen = new IntersectionObserver(([{ isIntersecting }]) => isIntersecting || this.guide.pause());
    seen.observe(this.element); // what is below must not change while it is read
    /** @type {Typed | null} */
    this.sentence = null; // that is drawn
    /** @type {number | null} */
    this.from = null; // the stop that was drawn last
    /** @type {Scene | null} */
    this.scene = null;
  }

  // The layer that is shown: the mean of all layers has no picture, so it is the last.
  get layer() {
    return this.explorer.store.state.layer ?? BOOK.shape.layers - 1;
  }

  async render() {
    const { store } = this.explorer;
    const { result, state } = store;
    const { layer } = this;
    if (this.sentence && !sameSentence(this.sentence, state)) this.guide.pause();
    this.guide.drawControls();
    this.drawChoices();
    this.drawSiblings();
    fill(this.back, state.tensor && this.explorer.wayBack());
    this.element.classList.toggle("at-x-open", Boolean(state.tensor) && !result.frame);
    const names = namesShown(layer);
    if (result.frame && !names.every((name) => name in BOOK.frame.strips)) return; // a model will be loaded
    const strips = await readStrips(store.session, result, names).catch(
      (/** @type {Error} */ error) => error,
    );
    if (store.result !== result || store.state !== state) return; // superseded
    if (strips instanceof Error) return this.guide.refuse(strips);
    this.sentence = state;
    this.scene = sceneOf(store, layer, strips);
    this.guide.tell(this.scene);
    this.draw();
  }

  // Draws the scene as wide as there is room, and moves what has appeared since the last stop.
  draw() {
    const { scene } = this;
    const width = /** @type {Element} */ (this.svg.parentElement).clientWidth;
    if (!scene || !width) return;
    const place = layout(width, scene.layer);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${place.height}`);
    this.svg.setAttribute("height", String(place.height));
    fill(this.svg, ...new Drawing(scene, place, (name) => this.open(name)).all());
    this.svg.setAttribute("aria-label", sentenceAt(scene));
    const boxes = this.boxes();
    tabTo(boxes, boxes.find((box) => box === document.activeElement) ?? boxes[0]);
    const { stop } = scene;
    if (stop !== null && stop !== this.from && !STILL.matches) {
      const begins = stop === 0 && (this.from === null || scene.step === 0); // the encoder runs once, before all words
      if (begins) move(this.svg, "encoder", this.guide.factor);
      move(this.svg, stop, this.guide.factor, begins ? 4 : 0);
    }
    this.from = stop;
  }

  // The boxes, from the bottom up: the encoder's, then the decoder's.
  boxes() {
    return /** @type {SVGElement[]} */ ([...this.svg.querySelectorAll("[data-key]")]);
  }

  // One Tab stop for all boxes; the arrow keys lead up and down.
  /** @type {(event: KeyboardEvent) => void} */
  arrow(event) {
    const boxes = this.boxes();
    const now = boxes.indexOf(/** @type {SVGElement} */ (document.activeElement));
    const by = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 }[event.key];
    if (now < 0 || !by) return;
    event.preventDefault();
    const to = boxes[Math.min(Math.max(now + by, 0), boxes.length - 1)];
    tabTo(boxes, to);
    to.focus({ preventScroll: true });
  }

  // The word that is made, and the layer that is shown.
  drawChoices() {
    const { layers } = BOOK.shape;
    const { result, state } = this.explorer.store;
    const language = languages(result.direction)[1];
    const { step, stop } = state;
    const written = stop === null ? Infinity : step + Number(stop >= SOFTMAX.stop); // tokens
    fill(
      this.choose,
      choices({
        key: "made",
        legend: "Word",
        options: result.target.tokens.map((token, i) => [
          i,
          h("span", { class: i < written ? null : "at-x-unknown" }, tokenElement(token, i, language)),
        ]),
        value: Math.min(step, result.target.tokens.length - 1),
        pick: (step) => this.explorer.store.change({ step: Number(step) }),
      }),
      choices({
        key: "shown layer",
        legend: "Layer",
        options: Array.from({ length: layers }, (_, i) => [i, String(i + 1)]),
        value: this.layer,
        // Another layer is not stored with the first frame, so the model computes it.
        pick: async (layer) => (await this.live()) && this.explorer.store.change({ layer: Number(layer) }),
      }),
      h("p", { class: "at-x-scale" }, `−${BOOK.full}`, h("i"), `${BOOK.full} and more`),
    );
  }

  // Whether the engine holds what is shown; if it is the first frame, that is translated once more.
  async live() {
    const { store } = this.explorer;
    if (!store.result.frame) return true;
    this.element.setAttribute("aria-busy", "true");
    const translated = await store.compute(store.state);
    this.element.removeAttribute("aria-busy");
    return translated;
  }

  /** @type {(name: string) => Promise<void>} */
  async open(name) {
    this.guide.pause();
    if (!(await this.live())) return;
    if (this.explorer.store.state.tensor === name) this.explorer.closeTensor();
    else this.explorer.openTensor(name);
  }

  // The tensors of the box whose tensor is open, to choose from.
  drawSiblings() {
    const { store } = this.explorer;
    const { tensor } = store.state;
    /** @type {(name: string) => string} */
    const family = (name) => {
      const { stack, layer, module } = parsed(name);
      return [stack, layer, module].join();
    };
    const siblings = (store.result.tensors ?? []).filter(
      ({ name }) => tensor && family(name) === family(tensor),
    );
    const menu = h(
      "select",
      {
        "data-key": "sibling",
        onchange: () => store.change({ tensor: menu.value, at: store.firstIndex(menu.value) }),
      },
      siblings.map(({ name, shape }) =>
        h(
          "option",
          { value: name },
          `${capital(tensorTitle(name).split(": ").at(-1) ?? "")} (${shapeWords(shape)})`,
        ),
      ),
    );
    menu.value = tensor;
    fill(this.siblings, siblings.length > 1 && h("label", {}, "In this box: ", menu));
  }

  // Scrolls to the picture if it is not all in view: when the reader steps or plays, not while it plays.
  bring() {
    const { top, bottom } = this.svg.getBoundingClientRect();
    if (top < HEADER || bottom > innerHeight) show(this.element);
  }

  // Shows a stop, and says it.
  /** @type {(to: Place) => void} */
  go(to) {
    this.explorer.store.change(to);
    this.explorer.drawn?.then(() => this.explorer.say(sentenceAt(/** @type {Scene} */ (this.scene))));
  }

  // The box whose tensor was open; if it has none, the first button.
  /** @type {(name: string) => void} */
  focusBox(name) {
    focusOn(this.element, "play");
    focusOn(this.svg, `box ${name}`);
  }

  // Scrolls to a part of the panel. A narrow screen shows the panel in front of the picture, and it scrolls by itself; the
  // page does so only if the panel hides the box that is open.
  /** @type {(part: Element) => void} */
  bringPart(part) {
    const { panel, svg } = this;
    if (panel.scrollHeight <= panel.clientHeight) return show(part, "nearest");
    const { top } = panel.getBoundingClientRect();
    const down = part.getBoundingClientRect().top - top - this.back.offsetHeight;
    panel.scrollTop = part === this.explorer.heat.element ? 0 : panel.scrollTop + down;
    const hidden = Number(find(svg, "[aria-expanded='true']")?.getBoundingClientRect().bottom) - top;
    if (hidden > 0) scrollBy({ top: hidden + 8 });
  }
}
