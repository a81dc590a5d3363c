"""Every page once, in a browser: offline, formulas, controls, accessibility, a phone, and dark mode."""

import re

import lxml.html
import pytest
from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from builder.claim_values import checks_in
from builder.source import divided, notebook_of
from tests.axe import violations
from tests.explorer_pages import DOCUMENTS, HTML, PHONE, WIDE
from tests.serving import serving
from tests.targets import NOTEBOOKS, SOURCES

THEME = "document.documentElement.dataset.theme"
GENERATED = ("search", "genindex", "py-modindex", "404")

OPENING = 1600  # pixels, at 1280 by 900: a question, a cell that makes its picture, and the picture
MARGIN = {"width": 1440, "height": 900}  # the narrowest screen that has notes in its margin
NOTES = "article p > small:first-child"
BLOCKS = "p, pre, figure, h2, h3, li, summary, div.math, .at-task, .pst-scrollable-table-container"
INNER = ".at-x *, table *, .at-filter, .toggle-hidden *"  # what has a layout of its own, or is not shown

pytestmark = pytest.mark.page


def formula_faults(page: Page) -> list[str]:
    unset = page.evaluate(
        "[...document.querySelectorAll('.math')].filter(m => [...m.querySelectorAll('mjx-container')]"
        ".filter(set => getComputedStyle(set.parentElement).display !== 'none').length != 1)"
        ".map(m => 'formula not set: ' + m.textContent)"
    )
    broken = "[...document.querySelectorAll('mjx-merror')].map(m => 'formula in error: ' + m.textContent)"
    return unset + page.evaluate(broken)


def tex_faults(page: Page) -> list[str]:
    """Report dollars and TeX commands in a page's text, which readers see where Markdown found no formula."""
    text = page.evaluate(
        """() => {
          const text = document.querySelector("main").cloneNode(true);
          const left = "pre, code, script, style, svg, mjx-container";
          text.querySelectorAll(left).forEach((part) => part.remove());
          return text.textContent;
        }"""
    )
    return [f"raw TeX: {found}" for found in re.findall(r"\$.{0,30}|\\[a-zA-Z]{2,}.{0,30}", text)]


def cut_faults(page: Page) -> list[str]:
    """Report equations that are cut off."""
    return page.evaluate(
        """() => {
          const shown = (part) => part.checkVisibility();
          const cut = [...document.querySelectorAll("div.math mjx-container")].filter(shown)
            .filter((set) => set.scrollWidth > set.clientWidth + 1)
            .map((set) => "equation is cut off: " + set.closest("div.math").id);
          return cut;
        }"""
    )


def overflow_faults(page: Page) -> list[str]:
    """Report the page's width if the page itself, not a box in it, is wider than the screen."""
    wide, screen = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    return [f"page is {wide} px wide on a screen of {screen} px"] if wide > screen else []


def code_faults(page: Page) -> list[str]:
    """Report code of at most 88 columns that overflows its box; outputs may scroll."""
    return page.evaluate(
        """() => {
          const blocks = document.querySelectorAll("article .highlight pre");
          const shown = [...blocks].filter(pre => pre.clientWidth);
          const columns = (pre) => Math.max(...pre.textContent.split("\\n").map(line => [...line].length));
          const cut = shown.filter(pre => !pre.closest(".cell_output"))
            .filter(pre => pre.scrollWidth > pre.clientWidth + 1 && columns(pre) <= 88);
          return cut.map(pre => `code is cut off: ${pre.textContent.slice(0, 60)}`);
        }"""
    )


def opening_faults(page: Page) -> list[str]:
    """Report a chapter's opening, its title, question, and first picture, that is taller than a screen."""
    if not page.query_selector("p.at-question"):
        return []
    top = page.evaluate("document.querySelector('article h2').getBoundingClientRect().top + scrollY")
    return [f"the first section begins at {top:.0f} px"] * (top > OPENING)


def collision_faults(page: Page) -> list[str]:
    """Report blocks of the text that overlap others, that the header slices, or that the contents cover."""
    return page.evaluate(
        """([blocks, inner]) => {
          const [header, contents] = [".bd-header-article", ".bd-sidebar-secondary"].map((name) => {
            const box = document.querySelector(name)?.getBoundingClientRect();
            return box?.width ? box : { left: Infinity, right: Infinity };
          });
          const shown = [...document.querySelectorAll(`article :is(${blocks})`)]
            .filter((block) => block.checkVisibility() && !block.matches(inner))
            .map((block) => [block, block.getBoundingClientRect(), block.textContent.trim().slice(0, 40)])
            .sort(([, one], [, other]) => one.top - other.top);
          return shown.flatMap(([block, box, text], i) => {
            const faults = [];
            if (box.right > contents.left + 1) faults.push(`the contents cover: ${text}`);
            if (box.right > header.right + 1) faults.push(`the header slices: ${text}`);
            for (const [other, { left, right, top, bottom }, words] of shown.slice(i + 1)) {
              if (top > box.bottom - 2) break;
              const apart = Math.min(box.right, right) - Math.max(box.left, left) < 2 || bottom - top < 2;
              if (!apart && !block.contains(other)) faults.push(`${text} and ${words} overlap`);
            }
            return faults;
          });
        }""",
        [BLOCKS, INNER],
    )


def slider_faults(page: Page) -> list[str]:
    """Report sliders that cannot be moved, with their drawing, from end to end by keyboard."""
    faults = []
    for number, figure in enumerate(page.query_selector_all("figure.at-slider"), start=1):
        slider, output = figure.query_selector("label input[type=range]"), figure.query_selector("output")
        if slider is None or output is None:
            faults.append(f"slider {number} was never built")
            continue

        def state(figure=figure, output=output) -> tuple[str, str]:
            return output.text_content(), figure.query_selector("svg").evaluate("s => s.outerHTML")

        slider.focus()
        slider.press("Home")
        first = state()
        slider.press("ArrowRight")
        second = state()
        if first[0] == second[0] or first[1] == second[1]:
            faults.append(f"slider {number}: ArrowRight does not change value and drawing")
        slider.press("End")
        if slider.evaluate("s => s.value != s.max"):
            faults.append(f"slider {number}: End does not reach the last value")
        slider.press("Home")
        if state() != first:
            faults.append(f"slider {number}: Home does not lead back")
    return faults


def drag_faults(page: Page) -> list[str]:
    """Report drawings to drag whose handles do not move them by keyboard."""
    faults = []
    for number, figure in enumerate(page.query_selector_all("figure.at-drag"), start=1):
        drawing, handles = figure.query_selector("svg"), figure.query_selector_all("[role=slider]")
        if drawing is None or not handles:
            faults.append(f"drawing {number} to drag was never built")
        for handle in handles:
            before = drawing.evaluate("s => s.textContent")
            handle.press("ArrowUp")
            if drawing.evaluate("s => s.textContent") == before:
                faults.append(f"drawing {number} to drag: ArrowUp does not change its numbers")
    return faults


# Thousands of colored words in code and signatures make axe slow. Leave one word of each color in each kind
# of block. Axe learns nothing from parts of drawings, which are fills, or of formulas, whose glyphs are not
# text; of their MathML, it needs the text.
THIN = """() => {
  const mute = "svg[role=img] > :not(title), mjx-container > mjx-math > *";
  document.querySelectorAll(mute).forEach((part) => part.remove());
  document.querySelectorAll("mjx-container math").forEach((part) => part.replaceChildren(part.textContent));
  const seen = new Set();
  document.querySelectorAll(":is(.highlight pre, dt.sig) span").forEach((word) => {
    const box = word.closest(".cell_input, .cell_output, .highlight, .sig");
    const kind = word.className + " in " + box.className;
    if (seen.has(kind)) word.replaceWith(...word.childNodes);
    else seen.add(kind);
  });
}"""


def axe_faults(page: Page, theme: str, known: set[str]) -> list[str]:
    """Report serious and critical axe violations: all rules in light mode, only contrast in dark mode."""
    page.emulate_media(color_scheme=theme)
    page.wait_for_function(f"['{theme}', undefined].includes({THEME})")
    page.wait_for_function("theme => matchMedia(`(prefers-color-scheme: ${theme})`).matches", arg=theme)
    return [
        f"axe, {theme}: {fault}" for fault in violations(page, contrast_only=theme == "dark", known=known)
    ]


def inspect(open_page, address: str, known: set[str], patience: float = 30_000) -> list[str]:
    """Report all faults of a page, narrow and wide, in light and dark mode.

    Looks whose contrast is `known` to be sufficient are not judged again. `patience` is how many milliseconds
    drawings may stay images.
    """
    faults: list[str] = []
    page = open_page(viewport=PHONE, color_scheme="light", reduced_motion="reduce")
    page.watched(faults, fonts=True).goto(address)
    page.wait_for_load_state("load")
    try:  # figures are inserted when the browser is idle
        page.wait_for_function("!document.querySelector('article img.at-svg')", timeout=patience)
    except PlaywrightTimeout:
        faults.append("drawings stayed images")
    page.evaluate("document.querySelectorAll('article details').forEach((fold) => (fold.open = true))")
    page.idle()
    faults += overflow_faults(page) + cut_faults(page) + slider_faults(page) + tex_faults(page)
    faults += drag_faults(page) + collision_faults(page)
    page.resize(**WIDE)
    faults += formula_faults(page) + overflow_faults(page) + code_faults(page) + cut_faults(page)
    faults += opening_faults(page)
    if page.query_selector(NOTES):
        page.resize(**MARGIN)
        faults += collision_faults(page)
    page.evaluate(THIN)
    return faults + axe_faults(page, "light", known) + axe_faults(page, "dark", known)


@pytest.fixture(scope="module")
def known() -> set[str]:
    """Return the looks whose contrast is known to be sufficient, to which each page adds its own."""
    return set()


@pytest.mark.parametrize("name", [*DOCUMENTS, *GENERATED])
def test_law_a_page_is_whole_offline_accessible_and_fits_a_phone(open_page, known, name):
    assert inspect(open_page, f"{name}.html", known) == []


# Faults of each kind on one page, to show that the checks above can fail.
FAULTY = {
    "request leaves the machine: https://example.org/x.png": "<img src='https://example.org/x.png' alt='x'>",
    "missing: ": "<link rel='stylesheet' href='nowhere.css'>",
    "script error: ": "<script>undefined_name()</script>",
    "console error: x": "<script>console.error('x')</script>",
    "formula not set: ": "<span class='math'>\\(x\\)</span>",
    "formula in error: ": "<i class='math'><mjx-container><mjx-merror>x</mjx-merror></mjx-container></i>",
    "px wide on a screen of 348 px": "<div style='width: 2000px'>x</div>",
    "px wide on a screen of 1280 px": "",
    "the first section begins at ": "<p class='at-question' style='height: 1601px'>Why?</p><h2>First</h2>",
    "code is cut off: x x": "<div class='highlight' style='width: 9em'><pre>" + "x " * 44 + "</pre></div>",
    r"raw TeX: \frac": r"<p>It is \frac12 and more than thirty letters.</p>",
    "equation is cut off: eq": "<div class='math' id='eq'><mjx-container style='display: block; width: 3em;"
    " overflow: auto'><i style='display: block; width: 9em'>x</i></mjx-container></div>",
    "the contents cover: A note": "<p style='position: absolute; left: 1100px'><small>A note</small></p>"
    "<div class='bd-sidebar-secondary' style='position: absolute; left: 1110px'>Contents</div>",
    "the header slices: A note": "<i class='bd-header-article' style='position: absolute; width: 99px'>x</i>",
    "A first one and A second overlap": "<p>A first one</p><pre style='margin-top: -2em'>A second</pre>",
    "drawings stayed images": "<img class='at-svg' alt='x' src='data:,'>",
    "slider 1 was never built": "<figure class='at-slider'></figure>",
    "slider 2: ArrowRight does not change value and drawing": "<figure class='at-slider'><svg></svg>"
    "<label>x <input type='range' max='3'><output>0</output></label></figure>",
    "drawing 1 to drag: ArrowUp does not change its numbers": "<figure class='at-drag'><svg>"
    "<circle r='9' role='slider' tabindex='0' aria-label='s' aria-valuenow='1'></circle></svg></figure>",
    "axe, light: color-contrast at ['#pale']": "<p id='pale' style='color: #999'>pale</p>",
    "axe, dark: color-contrast at ['#dim']": "<style>#dim {color: #000; background: #fff}"
    "@media (prefers-color-scheme: dark) {#dim {color: #444; background: #222}}</style><p id='dim'>dim</p>",
    "axe, light: label-content-name-mismatch": "<button aria-label='Find'>Search</button>",
}
CONTROL = (
    "<!DOCTYPE html><html lang='en'><head><title>Control</title><link rel='icon' href='data:,'></head>"
    "<body><main><article><h1>Control</h1>{}</article></main></body></html>"
)


def test_law_each_fault_of_a_page_is_detected(open_page, tmp_path):
    (tmp_path / "faulty.html").write_text(CONTROL.format("".join(FAULTY.values())), encoding="utf-8")
    with serving(tmp_path) as address:
        found = inspect(open_page, f"{address}faulty.html", set(), patience=500)
    assert [fault for fault in FAULTY if not any(fault in one for one in found)] == []


TRACEBACK = """Traceback (most recent call last):
  File "train.py", line 61, in main
    logits = model(src, tgt)
  File "torch/nn/modules/linear.py", line 125, in forward
    return F.linear(input, self.weight, self.bias)
RuntimeError: mat1 and mat2 shapes cannot be multiplied (31x512 and 64x512)
"""
PLAIN = {  # what people say, and a title that answers it, among the first three
    "my loss isn't going down": r"stuck|falls",
    "why is my loss nan": r"NaN",
    "the translation never stops": r"never|not end",
    "loss jumps after resuming training": r"resumes",
    TRACEBACK: r"^RuntimeError: mat1 and mat2 shapes",
    "mat1 and mat2 shapes cannot": r"^RuntimeError: mat1 and mat2 shapes",
}


def test_law_the_page_of_all_symptoms_finds_plain_words_and_messages(open_page):
    page = open_page()
    page.goto("chapters/symptoms.html")
    first, lists = page.locator("article li").first.bounding_box(), page.locator("#a-number")
    assert page.locator(".at-filter").bounding_box()["y"] < first["y"]

    def found(typed: str) -> list[str]:
        page.fill(".at-filter input", typed)
        page.wait_for_function("typeof SEARCH == 'object'")
        return page.locator("ul.at-entries > li > a").all_text_contents()

    for typed, title in PLAIN.items():
        assert any(re.search(title, each) for each in found(typed)[:3]), typed
        assert not lists.is_visible()
    assert found("zebra crossing") or lists.is_visible()
    assert found("") == []
    page.get_by_role("link", name="A number", exact=True).click()
    bar, heading = (page.locator(name).bounding_box() for name in (".at-filter", "#a-number h2"))
    assert 0 <= heading["y"] - (bar["y"] + bar["height"]) < heading["height"]
    masks = found("mask")
    assert "?q=mask" in page.url
    page.locator("ul.at-entries > li > a").first.click()
    page.wait_for_url("**/handbook/**")
    page.go_back()
    assert found("mask") == masks
    assert page.locator("ul.at-entries > li > a").count() == len(masks)


def test_law_a_handbook_shows_all_titles_and_finds_its_entries(open_page):
    page = open_page()
    page.goto("handbook/16_training.html")
    entries = page.locator("details.at-asked")
    seen = "all => all.filter(one => one.checkVisibility()).map(one => one.textContent)"
    assert len(entries.evaluate_all(seen)) == entries.count()
    page.fill(".at-filter input", "bfloat16")
    page.wait_for_function("typeof SEARCH == 'object'")
    found = entries.evaluate_all(seen)
    assert 0 < len(found) < entries.count()
    assert any("bfloat16" in entry for entry in found)
    page.fill(".at-filter input", "")
    assert len(entries.evaluate_all(seen)) == entries.count()
    name = entries.last.get_attribute("id")
    page.goto(f"handbook/16_training.html#{name}")
    page.reload()
    assert page.locator(f"#{name} > p, #{name} > ul").first.is_visible()
    page.goto("chapters/train_and_translate.html")  # it has questions, among sections that are read
    assert page.locator(".at-filter").count() == 0


def test_law_the_book_can_be_read_without_scripts(open_page):
    page = open_page(java_script_enabled=False)
    page.goto("chapters/notation.html")
    assert formula_faults(page) == []
    shown = "all => all.filter(m => m.checkVisibility()).map(m => m.getBoundingClientRect().width)"
    assert min(page.eval_on_selector_all("mjx-math", shown)) > 0


# What the pages of a chapter and of its handbook show of their proof: one line, which counts it.
UNFOLDED = ".//text()[not(ancestor::details or ancestor::script or ancestor::style)]"


@pytest.mark.parametrize("number", NOTEBOOKS, ids=lambda number: SOURCES[number].stem)
@pytest.mark.parametrize("folder", ["chapters", "handbook"])
def test_law_a_page_shows_each_result_below_one_line_and_nothing_else_of_its_proof(number, folder):
    (article,) = lxml.html.parse(HTML / folder / f"{SOURCES[number].stem}.html").iter("article")
    cells = divided(notebook_of(SOURCES[number]).cells)[folder == "handbook"]
    answers = {"exercise", "solution"}
    own = [
        cell
        for cell in cells
        if cell.cell_type == "code" and not answers & set(cell.metadata.get("tags", []))
    ]
    claims = [name for cell in own for name in cell.metadata.get("claims", [])]
    checks = sum(len(checks_in(cell.source)) for cell in own)
    boxes = article.find_class("at-evidence")
    counts = [int(box.find("summary").text_content().split()[1]) for box in boxes]
    assert counts == [len(claims) + checks]
    shown = [claim.get("id") for box in boxes for claim in box.find_class("at-claim")]
    assert shown == [f"claim-{name}" for name in claims]
    assert len(article.find_class("at-claim")) == len(claims)
    words = "".join(article.xpath(UNFOLDED))
    assert "✗ Not yet" not in words
    assert "checks.check_" not in words
