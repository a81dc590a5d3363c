// How much of a model has arrived, while it is loaded.
import { h } from "./dom.js";
/** @import { Session } from "./session.js" */

export class LoadingBar {
  /** @param {Session} session @param {() => string} direction  of the model */
  constructor(session, direction) {
    this.session = session;
    this.direction = direction;
    this.bar = h("progress", { "aria-label": "Loading the model" });
    this.words = h("span");
    this.element = h("p", { class: "at-x-loading" }, this.bar, this.words);
    session.addEventListener("arriving", () => this.render());
    this.render();
  }

  // Nothing is known of a model that is loaded from a file until all of it is there.
  render() {
    const bytes = this.session.arriving.get(this.direction());
    const { size } = BOOK.models[this.direction()];
    const megabytes = (bytes ?? 0) / 1e6;
    this.element.hidden = bytes === undefined;
    this.bar.max = Number.parseFloat(size);
    if (bytes) this.bar.value = megabytes;
    else this.bar.removeAttribute("value");
    this.words.textContent = `Loading the model: ${bytes ? `${megabytes.toFixed(1)} of ` : ""}${size}`;
  }
}
