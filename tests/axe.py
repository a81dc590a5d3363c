"""Run axe on a page of the book and list the serious and critical violations."""

from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")

# Axe spends most of its time on contrast, which depends on the colors and the size of a text and on what is
# behind it, so it judges only the first and the last visible text of each such look. Violations of
# `region` are never serious.
RUN = """async ([place, all, known]) => {
  const boxes = new Map();
  const boxed = (box) => { // what is drawn behind a text of this box, and whether the box hides it
    if (!box) return ["", false];
    if (!boxes.has(box)) {
      const [behind, clipped] = boxed(box.parentElement);
      const style = getComputedStyle(box);
      const { width, height } = box.getBoundingClientRect();
      const { clip, clipPath, overflow } = style;
      const empty = overflow !== "visible" && Math.min(width, height) <= 1;
      const cut = clip !== "auto" || clipPath !== "none" || empty;
      const drawn = [style.backgroundColor, style.backgroundImage, style.opacity, style.position].join();
      const plain = drawn === "rgba(0, 0, 0, 0),none,1,static";
      boxes.set(box, [plain ? behind : `${behind} ${drawn}`, clipped || cut]);
    }
    return boxes.get(box);
  };
  const looks = {};
  for (const part of document.querySelectorAll(`${place}, ${place} *`)) {
    const text = [...part.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!text && !part.matches("input, select, textarea")) continue;
    if (!part.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const { color, fontSize, fontWeight } = getComputedStyle(part);
    const large = parseFloat(fontSize) >= (fontWeight >= 700 ? 18.66 : 24); // which needs less contrast
    const [behind, clipped] = boxed(part);
    const look = `${color} ${large}${behind}`;
    if (!clipped && !known.includes(look)) looks[look] = [looks[look]?.[0] ?? part, part];
  }
  const judged = Object.values(looks).flat();
  if (!all && !judged.length) return [[], []];
  judged.forEach((part) => part.setAttribute("data-judged", ""));
  axe.configure({ rules: [{ id: "color-contrast", selector: "[data-judged]" }] });
  const rules = { region: { enabled: false }, "label-content-name-mismatch": { enabled: true } };
  const which = all ? { rules } : { runOnly: ["color-contrast"] };
  const found = await axe.run(place, { preload: false, resultTypes: ["violations"], ...which });
  judged.forEach((part) => part.removeAttribute("data-judged"));
  const serious = found.violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  return [serious, Object.keys(looks)];
}"""


def violations(
    page: Page, place: str = "html", *, contrast_only: bool = False, known: set[str] | None = None
) -> list[str]:
    """Return the rule, target, and HTML of each violation in a place.

    Looks whose contrast is `known` to be sufficient are not judged again; those found so are added.
    """
    page.evaluate(f"typeof axe === 'object' || (() => {{ {AXE} }})()")  # no request, safe with module loaders
    serious, looks = page.evaluate(RUN, [place, not contrast_only, sorted(known or ())])
    if known is not None and not serious:
        known.update(looks)
    return [
        f"{rule['id']} at {node['target']}: {node['html'][:200]}"
        for rule in serious
        for node in rule["nodes"]
    ]
