/* Report blocks of a page that overlap, or that leave their column: what is painted of them counts, not their boxes. */
// oxlint-disable-next-line no-unused-expressions -- the page evaluates it
() => {
  const faults = new Set();
  const range = document.createRange();
  /** @typedef {{ left: number, right: number, top: number, bottom: number }} Box */
  /** @type {(text: Node) => DOMRect} */
  const lines = (text) => (range.selectNode(text), range.getBoundingClientRect());
  /** @type {(part: Element) => string} */
  const name = (part) => part.textContent.trim().replace(/\s+/g, " ").slice(0, 40) || part.localName;
  /** @type {(one: Box, two: Box) => Box} */
  const shared = (one, two) => ({
    left: Math.max(one.left, two.left),
    right: Math.min(one.right, two.right),
    top: Math.max(one.top, two.top),
    bottom: Math.min(one.bottom, two.bottom),
  });
  /** @type {(all: Box[]) => Box} */
  const around = (all) => ({
    left: Math.min(...all.map((it) => it.left)),
    right: Math.max(...all.map((it) => it.right)),
    top: Math.min(...all.map((it) => it.top)),
    bottom: Math.max(...all.map((it) => it.bottom)),
  });

  /** @type {(paint: Box, part: Element, column: Pick<Box, "left" | "right">) => Box} */
  function place(paint, part, column) {
    if (paint.left < column.left - 1 || paint.right > column.right + 1)
      faults.add(`leaves its column: ${name(part)}`);
    return paint;
  }

  // Return the rectangle around all that is painted of an element, and whether it is a block.
  /** @type {(part: Element, column: Pick<Box, "left" | "right">) => { paint: Box, block: boolean } | null} */
  function painted(part, column) {
    const look = getComputedStyle(part);
    if (["absolute", "fixed"].includes(look.position) || !part.checkVisibility()) return null;
    const own = part.getBoundingClientRect();
    const whole = part.matches("pre, svg, mjx-container, img, input, button, select");
    const ground = look.backgroundColor !== "rgba(0, 0, 0, 0)" || parseFloat(look.borderLeftWidth) > 0;
    /** @type {Box[]} */
    const all = (whole || ground) && own.width && own.height ? [place(own, part, column)] : [];
    const clips = look.overflowX !== "visible";
    const cells = look.display === "grid" || (look.display === "flex" && look.flexDirection === "row");
    /** @type {[Element, Box][]} */
    const blocks = [];
    for (const child of whole ? [] : part.childNodes) {
      if (child instanceof Text && child.data.trim()) {
        const paint = lines(child);
        all.push(clips ? paint : place(paint, part, column));
      }
      if (!(child instanceof Element)) continue;
      const within = cells ? child.getBoundingClientRect() : column;
      const found = painted(child, clips ? { left: -Infinity, right: Infinity } : within);
      if (!found) continue;
      all.push(found.paint);
      if (!found.block) continue;
      for (const [other, paint] of blocks) {
        const { left, right, top, bottom } = shared(paint, found.paint);
        if (right - left > 1 && bottom - top > 1) faults.add(`overlap: ${name(other)} | ${name(child)}`);
      }
      blocks.push([child, found.paint]);
    }
    if (!all.length) return null;
    const paint = clips ? shared(own, around(all)) : around(all);
    return { paint, block: !look.display.startsWith("inline") };
  }

  /** @type {HTMLDetailsElement[]} */
  const folded = Array.from(document.querySelectorAll("main details:not([open])"));
  folded.forEach((part) => (part.open = true));
  scrollTo(0, 0); // bars that stay at the top lie over what has been scrolled
  painted(document.body, { left: 0, right: document.documentElement.clientWidth });
  folded.forEach((part) => (part.open = false));
  return [...faults];
};
