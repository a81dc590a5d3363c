// Which stop of the picture is shown, and when the next one is: plays, pauses, steps, and goes slower.

const STAY = 5000; // milliseconds at each stop: time to read its sentence

export class Player {
  /** @param {{ stops: number, place: () => Place, last: () => number, go: (to: Place) => void, bring: () => void, changed: () => void }} view */
  constructor(view) {
    this.view = view;
    this.playing = false;
    this.slow = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  // How much slower than usual.
  get factor() {
    return this.slow ? 2 : 1;
  }

  // The next place: after the last stop, the next token begins; after the last token, there is none.
  /** @type {() => Place | null} */
  next() {
    const { step, stop } = this.view.place();
    if (stop === null) return { step, stop: 0 };
    if (stop + 1 < this.view.stops) return { step, stop: stop + 1 };
    return step < this.view.last() ? { step: step + 1, stop: 0 } : null;
  }

  /** @type {() => Place | null} */
  before() {
    const { step, stop } = this.view.place();
    if (stop === null) return null;
    if (stop > 0) return { step, stop: stop - 1 };
    return step > 0 ? { step: step - 1, stop: this.view.stops - 1 } : { step, stop: null };
  }

  // Goes to a stop, which ends playing.
  /** @type {(to: Place | null) => void} */
  jump(to) {
    this.pause();
    if (!to) return;
    this.view.go(to);
    this.view.bring();
  }

  toggle() {
    if (this.playing) return this.pause();
    this.playing = true;
    const first = this.next() ?? { step: 0, stop: 0 };
    this.view.go(first);
    this.view.bring();
    this.wait();
  }

  pause() {
    clearTimeout(this.timer);
    if (!this.playing) return;
    this.playing = false;
    this.view.changed();
  }

  slower() {
    this.slow = !this.slow;
    if (this.playing) this.wait();
    this.view.changed();
  }

  wait() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const to = this.next();
      if (!to) return this.pause();
      this.view.go(to);
      this.wait();
    }, STAY * this.factor);
  }
}
