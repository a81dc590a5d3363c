// What the explorer shows and what readers have asked for: how the state changes, and its results.
import { parsed } from "../engine/names.js";
import { forcing, sameSentence, START } from "./state.js";

export class Store {
  // `linked`: the state of the link that led here, until it is shown.
  /** @param {Session} session @param {{ state: State, result: Result, linked: State | null }} begin @param {Explorer} view */
  constructor(session, { state, result, linked }, view) {
    this.session = session;
    this.state = state;
    this.result = result;
    this.linked = linked;
    this.view = view;
    this.busy = false;
    this.arrived = 0; // bytes of the model that is being loaded
    this.turn = 0; // counts requests: only the result of the last one is shown
    /** @type {State | null} */
    this.asked = null;
  }

  // The requested state, or, if there is no request, the shown one.
  get latest() {
    return this.asked ?? this.state;
  }

  // Shows another part of the same translation.
  /** @type {(patch: Partial<State>) => void} */
  change(patch) {
    this.state = this.fitted({ ...this.state, ...patch }); // the pressed control may belong to an earlier translation
    if (this.asked) this.asked = { ...this.asked, ...patch };
    this.view.changed();
  }

  // Translates a sentence that was typed or chosen; what the reader looks at stays chosen.
  /** @type {(typed: Typed) => Promise<boolean>} */
  translate({ direction, text }) {
    const { view, layer, head, ablated } = this.latest;
    const { step, stop } = sameSentence(this.latest, { direction, text }) ? this.latest : START;
    return this.compute({ ...START, view, layer, head, ablated, direction, text, step, stop });
  }

  // Forces a token at a step, unless the model would choose it itself.
  /** @type {(step: number, id: number) => void} */
  force(step, id) {
    const { result, state, latest } = this;
    if (!sameSentence(latest, state)) return; // another sentence is being translated
    const isBest = result.top[step][0].id === id;
    const forced = [...state.forced.filter((other) => other < step), ...(isBest ? [] : [step])];
    this.compute({ ...latest, step, ...forcing([...result.target.ids.slice(0, step), id], forced) });
  }

  // Translates the sentence of a state, and shows the result; returns false if it could not or was superseded.
  /** @type {(state: State) => Promise<boolean>} */
  async compute(state) {
    const { linked, session, view } = this;
    const turn = (this.turn += 1);
    const isLatest = () => turn === this.turn;
    if (!this.busy) view.begin();
    Object.assign(this, { busy: true, asked: state });
    view.sentence.render();
    const { direction, text, prefix, ablated } = state;
    const options = { direction, text, prefix, ablated };
    const same = sameSentence(state, this.state);
    let done = false;
    try {
      await session.load(direction, (bytes) => {
        this.arrived = bytes;
        view.sentence.renderLoading();
      });
      view.sentence.render();
      const result = await view.watch(options, isLatest);
      if (!isLatest() || !result) return false; // superseded by another request
      this.result = result;
      this.state = this.fitted(/** @type {State} */ (this.asked)); // with what the reader chose meanwhile
      if (this.linked === linked) this.linked = null;
      view.translated(result);
      done = true;
    } catch (error) {
      if (!isLatest()) return false;
      view.sentence.refuse(/** @type {Error} */ (error).message, session.loaded.has(direction));
    } finally {
      this.arrived = 0;
    }
    this.busy = false;
    this.asked = null;
    view.ended(same);
    return done;
  }

  // Whether a link leads to another place in the translation that is shown.
  /** @type {(linked: State) => boolean} */
  shows(linked) {
    const { state, result, asked } = this;
    const names = /** @type {const} */ (["direction", "text", "prefix", "ablated"]);
    return !result.frame && !asked && names.every((name) => String(linked[name]) === String(state[name]));
  }

  /** @type {(name: string) => number[] | undefined} */
  shapeOf(name) {
    return this.result.tensors?.find((tensor) => tensor.name === name)?.shape;
  }

  // The number to show first: that of the token in focus, and of the key that it attends to most.
  /** @type {(name: string) => number[]} */
  firstIndex(name) {
    const { state } = this;
    const result = /** @type {Translation} */ (this.result);
    const { stack, kind, layer, module } = parsed(name);
    const row = stack === "encoder" ? state.word : state.step;
    const head = state.head ?? 0;
    if (stack === "output") return this.fitting(name, [head, row, result.target.ids[state.step]]);
    if (!["scores", "weights"].includes(kind)) return this.fitting(name, [head, row, 0]);
    const attention = /** @type {Kind} */ (module === "cross_attention" ? "cross" : stack);
    const weights = result.attention[attention][Number(layer)][head][row];
    return [head, row, weights.indexOf(Math.max(...weights))];
  }

  // The index, limited to the shape of the tensor.
  /** @type {(name: string, index: number[]) => number[]} */
  fitting(name, index) {
    const shape = this.shapeOf(name) ?? [];
    return shape.map((count, axis) => Math.min(index.at(axis - shape.length) ?? 0, count - 1));
  }

  // The same places in another translation, which may be shorter.
  /** @type {(state: State) => State} */
  fitted(state) {
    const { source, target } = this.result;
    const tensor = this.shapeOf(state.tensor) ? state.tensor : "";
    return {
      ...state,
      ...forcing(
        state.prefix,
        state.forced.filter((step) => step < target.tokens.length),
      ),
      step: Math.min(state.step, target.tokens.length - 1),
      word: Math.min(state.word, source.tokens.length - 1),
      tensor,
      at: tensor ? this.fitting(tensor, state.at) : [],
    };
  }
}
