// The guided tour: each step sets the state and says in two sentences what to see.
class Tour {
  constructor(explorer) {
    this.explorer = explorer;
    this.now = null;
    this.opener = h("p", { class: "at-x-opener" });
    this.element = h("section", { class: "at-x-tour", "aria-label": "Guided tour" });
  }

  render() {
    const { session, busy } = this.explorer;
    const { direction, steps } = BOOK.tour;
    const size = session.loaded.has(direction) ? "" : `, loads the model: ${BOOK.models[direction].size}`;
    fill(this.opener, this.now === null && button(`Take the tour (${steps.length} steps${size})`, () => this.go(0), { "data-key": "tour", disabled: Boolean(busy) }));
    this.element.hidden = this.now === null;
    if (this.now === null) return;
    const step = steps[this.now];
    const move = (to, words) => button(words, () => this.go(to), { "data-key": words, disabled: to < 0 || to >= steps.length });
    fill(
      this.element,
      h("h3", {}, h("span", {}, `${this.now + 1} of ${steps.length} `), step.title),
      h("p", {}, step.words),
      h(
        "div",
        { class: "at-x-tour-moves" },
        move(this.now - 1, "Back"),
        move(this.now + 1, "Next"),
        button("End the tour", () => this.end(), { "data-key": "end" }),
        chapterLink(step.chapter),
      ),
    );
  }

  async go(to) {
    const { explorer } = this;
    const { direction, text, steps } = BOOK.tour;
    const step = steps[to];
    const { state, result, asked } = explorer;
    const wanted = { ...START, direction, text, ...step.state };
    const same = !result.frame && !asked && ["direction", "text"].every((name) => state[name] === wanted[name]) && !state.prefix.length && !state.ablated.length;
    this.now = to;
    explorer.sentence.show(wanted);
    const left = () => this.now !== to; // the reader has gone on, or ended the tour
    if (same) explorer.change(wanted);
    else if (!(await explorer.compute(wanted))) return left() || this.end(); // no model, or something else was asked for
    if (left()) return;
    this.render();
    await explorer.reveal(step.part, () => !left());
    if (left()) return;
    if (!this.element.contains(document.activeElement)) focusOn(this.element, to + 1 < steps.length ? "Next" : "end");
    explorer.say(`${to + 1} of ${steps.length}: ${step.title}. ${step.words}`);
  }

  end() {
    this.now = null;
    this.render();
    focusOn(this.opener, "tour");
  }
}
