// What is shown, to be shared: its link, and its picture as SVG or PNG with title and license.
import { button, fill, h } from "./dom.js";
import { snapshot } from "./snapshot.js";
import { toFragment } from "./state.js";
/** @import { Explorer } from "./explorer.js" */

const LICENSE =
  "The Annotated Transformer, CC BY 4.0. The model was trained on sentences from Tatoeba (www.manythings.org/anki and tatoeba.org, CC BY 2.0).";
const SHARPNESS = 2; // pixels of a PNG for each pixel of the page

export class Share {
  /** @param {Explorer} explorer */
  constructor(explorer) {
    this.explorer = explorer;
    this.said = h("p", { role: "status" });
    this.element = h(
      "details",
      { class: "at-x-help at-x-share" },
      h("summary", {}, "Share"),
      button("Copy the link", () => this.copyLink(), { "data-key": "copy link" }),
      button("SVG", () => this.saveSvg(), { "data-key": "svg" }),
      button("PNG", () => this.savePng(), { "data-key": "png" }),
      this.said,
    );
  }

  // The address of this page with the sentence, the view of it, and what the reader changed.
  get link() {
    return location.href.split("#")[0] + toFragment(this.explorer.store.state);
  }

  async copyLink() {
    try {
      await navigator.clipboard.writeText(this.link);
      fill(this.said, "The link is copied.");
    } catch {
      fill(this.said, "Copy this link: ", h("a", { href: this.link }, this.link)); // the browser forbids it
    }
  }

  // The view as an SVG.
  get picture() {
    const { state, result } = this.explorer.store;
    return snapshot(this.explorer.stage.element, [
      `“${state.text.trim()}” becomes “${result.text}”`,
      LICENSE,
    ]);
  }

  saveSvg() {
    save(new Blob([this.picture], { type: "image/svg+xml" }), "svg");
  }

  async savePng() {
    const image = new Image();
    image.src = `data:image/svg+xml,${encodeURIComponent(this.picture)}`;
    await image.decode();
    const canvas = h("canvas", { width: SHARPNESS * image.width, height: SHARPNESS * image.height });
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => blob && save(blob, "png"));
  }
}

/** @type {(blob: Blob, ending: string) => void} */
function save(blob, ending) {
  const address = URL.createObjectURL(blob);
  h("a", { href: address, download: `transformer.${ending}` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000); // when it is saved
}
