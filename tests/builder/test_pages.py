"""Every page, checked in a browser: offline use, formulas, sliders, accessibility, phone, dark mode."""

import contextlib
import functools
import io
import re

import pytest
from PIL import Image
from playwright.sync_api import Page, Route
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.axe import violations
from tests.explorer_pages import DOCUMENTS, HTML, IDLE, PHONE, ROOT, WIDE, eventually
from tests.serving import serving

LAYOUT = (ROOT / "tests" / "layout.js").read_text("utf-8")
THEME = "document.documentElement.dataset.theme"
GENERATED = ("search", "genindex", "py-modindex")

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
    """Report equations and tables of words that are cut off, and columns that are one word wide."""
    return page.evaluate(
        """() => {
          const shown = (part) => part.checkVisibility();
          const cut = [...document.querySelectorAll("div.math mjx-container")].filter(shown)
            .filter((set) => set.scrollWidth > set.clientWidth + 1)
            .map((set) => "equation is cut off: " + set.closest("div.math").id);
          const words = ".pst-scrollable-table-container:has(td:nth-child(3)):not(:has(.text-right))";
          const scrolls = [...document.querySelectorAll(words)].filter(shown)
            .filter((box) => box.scrollWidth > box.clientWidth)
            .map((box) => "table of words is cut off: " + box.textContent.trim().slice(0, 40));
          const cells = document.querySelectorAll(".pst-scrollable-table-container td");
          const narrow = [...cells].filter(shown)
            .filter((cell) => cell.textContent.trim().split(/\\s+/).length >= 6 && cell.clientWidth < 90)
            .map((cell) => "column of single words: " + cell.textContent.trim().slice(0, 40));
          return [...cut, ...scrolls, ...narrow];
        }"""
    )


def overflow_faults(page: Page) -> list[str]:
    """Report the page's width if the page itself, not a box in it, is wider than the screen."""
    wide, screen = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    return [f"page is {wide} px wide on a screen of {screen} px"] if wide > screen else []


def layout_faults(page: Page, width: int) -> list[str]:
    """Report what overlaps or leaves its column on a screen of this width, and buttons that open nothing."""
    page.resize(width, WIDE["height"])
    dead = page.evaluate(
        """() => ["primary", "secondary"].filter((side) => !document.querySelector(`.bd-sidebar-${side}`))
          .filter((side) => document.querySelector(`.${side}-toggle`)?.checkVisibility())
          .map((side) => `button opens nothing: ${side}`)"""
    )
    return [f"{width} px: {fault}" for fault in page.evaluate(LAYOUT) + dead]


def code_faults(page: Page) -> list[str]:
    """Report code that is too small, or overflows its box with at most 88 columns; outputs may scroll."""
    return page.evaluate(
        """() => {
          const blocks = document.querySelectorAll("article .highlight pre");
          const shown = [...blocks].filter(pre => pre.clientWidth);
          const small = shown.filter(pre => parseFloat(getComputedStyle(pre).fontSize) < 13.5);
          const columns = (pre) => Math.max(...pre.textContent.split("\\n").map(line => [...line].length));
          const cut = shown.filter(pre => !pre.closest(".cell_output"))
            .filter(pre => pre.scrollWidth > pre.clientWidth + 1 && columns(pre) <= 88);
          const named = (fault, all) => all.map(pre => `code is ${fault}: ${pre.textContent.slice(0, 60)}`);
          return [...named("smaller than 13.5 px", small), ...named("cut off", cut)];
        }"""
    )


def picture_faults(page: Page) -> list[str]:
    """Report alt texts of fewer than 8 words, and how many drawings were not replaced by inline SVG."""
    drawn = page.evaluate(
        "[...document.querySelectorAll('article :is(img:not(.toggler), svg[role=img]:not([data-icon]))')]"
        ".map(p => [p.tagName.toLowerCase(), p.alt ?? p.getAttribute('aria-label') ?? ''])"
    )
    faults = [f"{tag} described in too few words: {alt!r}" for tag, alt in drawn if len(alt.split()) < 8]
    stayed = page.evaluate("document.querySelectorAll('img.at-svg').length")
    faults += [f"{stayed} drawings stayed images, so they do not follow the theme"] * bool(stayed)
    return faults + page.evaluate(OVERPRINTED)


# Lines of one label touch, so of each text only the middle two thirds of its height count. Formulas are left
# out: they consist of pieces (tspan), and their boxes are larger than what is drawn.
OVERPRINTED = """() => [...document.querySelectorAll("article svg[role=img]")].flatMap((svg) => {
  const texts = [...svg.querySelectorAll("text")]
    .filter((text) => text.textContent.trim() && !text.querySelector("tspan")).map((text) => {
    const { left, right, top, height } = text.getBoundingClientRect();
    const name = text.textContent.trim();
    return { name, left, right, top: top + height / 6, bottom: top + (5 * height) / 6 };
  });
  return texts.flatMap((one, place) => texts.slice(place + 1)
    .filter((two) => Math.min(one.right, two.right) - Math.max(one.left, two.left) > 2)
    .filter((two) => Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top) > 0)
    .map((two) => `labels overprint each other: ${one.name} | ${two.name}`));
})"""


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
    with contextlib.suppress(PlaywrightTimeout):  # figures are inserted when the browser is idle
        page.wait_for_function("!document.querySelector('article img.at-svg')", timeout=patience)
    page.evaluate("document.querySelectorAll('article details').forEach((fold) => (fold.open = true))")
    page.evaluate(IDLE)
    faults += overflow_faults(page) + cut_faults(page) + slider_faults(page) + tex_faults(page)
    faults += drag_faults(page) + layout_faults(page, PHONE["width"])
    page.resize(**WIDE)
    faults += formula_faults(page) + picture_faults(page) + overflow_faults(page) + code_faults(page)
    faults += cut_faults(page) + layout_faults(page, WIDE["width"])
    page.evaluate(THIN)
    return faults + axe_faults(page, "light", known) + axe_faults(page, "dark", known)


@pytest.fixture(scope="module")
def known() -> set[str]:
    """Return the looks whose contrast is known to be sufficient, to which each page adds its own."""
    return set()


@pytest.mark.parametrize("name", [*DOCUMENTS, *GENERATED])
def test_law_a_page_is_whole_offline_accessible_and_fits_a_phone(open_page, known, name):
    assert inspect(open_page, f"{name}.html", known) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [*DOCUMENTS, *GENERATED])
def test_law_no_block_of_a_page_overlaps_another_or_leaves_its_column(open_page, name):
    page = open_page(f"{name}.html", reduced_motion="reduce")
    page.wait_for_function("!document.querySelector('article img.at-svg')")
    assert [fault for width in (768, 1100, 1440, 1920) for fault in layout_faults(page, width)] == []


def test_law_fonts_are_preloaded_from_a_server_and_not_from_a_file(open_page, book):
    fonts = (
        "performance.getEntriesByType('resource')"
        ".filter(file => file.initiatorType === 'link' && file.name.includes('.woff')).length"
    )
    for address, count in ((book, 4), (f"{HTML.as_uri()}/", 0)):
        page, said = open_page(), []
        page.on("console", lambda message, said=said: message.type == "log" or said.append(message.text))
        page.goto(f"{address}explorer.html", wait_until="networkidle")
        eventually(lambda page=page: page.evaluate(fonts), count)
        assert said == []


def test_law_labels_change_their_face_and_hardly_their_size_when_it_arrives(open_page):
    held: list[Route] = []
    page = open_page()
    page.route("**/source-sans*", lambda route: held.append(route))
    page.goto("chapters/notation.html", wait_until="domcontentloaded")
    similar = page.evaluate("document.fonts.load('16px \"At Arial\"').then(all => all.length, () => 0)")
    page.wait_for_timeout(500)  # long after a browser has given up waiting for an optional face
    before = page.evaluate(LABELS)
    for route in held:
        route.continue_()
    eventually(lambda: page.evaluate(LABELS) == before, False)
    near = 0.02 if similar else 0.25  # on a machine without any face that is adjusted
    assert page.evaluate(LABELS) == pytest.approx(before, rel=near)


PROBE = """([face, letters]) => {
  const probe = document.createElement("p");
  Object.assign(probe, { className: "probe", innerHTML: letters });
  probe.style.fontFamily = `var(--pst-font-family-${face})`;
  document.querySelector("article").append(probe);
  return new Promise(requestAnimationFrame).then(() => document.fonts.ready).then(() => true);
}"""


@pytest.mark.parametrize(("face", "letters"), [("base", "a <em>x</em> α ő"), ("heading", "a <em>x</em> α")])
def test_law_letters_are_in_the_faces_that_the_book_brings_along(open_page, face, letters):
    page = open_page(SHORT)
    page.evaluate(PROBE, [face, letters])
    devtools = page.context.new_cdp_session(page.page)
    for domain in ("DOM", "CSS"):
        devtools.send(f"{domain}.enable")
    root = devtools.send("DOM.getDocument")["root"]["nodeId"]
    faces = {}
    for selector in (".probe", ".probe em"):
        node = devtools.send("DOM.querySelector", {"nodeId": root, "selector": selector})["nodeId"]
        faces[selector] = devtools.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
    assert all(used["isCustomFont"] for used in faces[".probe"]), faces
    assert [used["postScriptName"] for used in faces[".probe em"]] == ["SourceSerif4-Italic"]


# Letters so large that rounding to pixels counts little.
LABELS = """[...document.querySelectorAll(".bd-sidenav a")].map((link) => {
  Object.assign(link.style, { display: "inline-block", whiteSpace: "nowrap", fontSize: "100px" });
  return link.offsetWidth;
}).reduce((sum, width) => sum + width)"""


CHAPTER = "chapters/03_scaled_dot_product_attention.html"  # with queries, keys, and values
SHORT = "chapters/07_embeddings.html"  # which loads faster
ROLES = """() => {
  const probe = document.body.appendChild(document.createElement("i"));
  const color = (role) => {
    probe.style.color = `var(--at-${role}-text)`;
    return getComputedStyle(probe).color;
  };
  const glyph = (code) => getComputedStyle(document.querySelector(`mjx-c.mjx-c${code}`)).color;
  return [["query", "key", "value"].map(color), ["1D444", "1D43E", "1D449"].map(glyph)];
}"""


COLORS = """[...document.querySelectorAll("html, body, body :not(mjx-container *), mjx-c")].map(x => {
  if (!x.checkVisibility()) return "";
  const look = getComputedStyle(x);
  return [look.color, look.backgroundColor, look.borderTopColor, look.fill, look.stroke].join();
}).join("\\n")"""


def test_law_each_theme_has_its_colors_and_print_is_light_and_without_controls(open_page):
    page = open_page(CHAPTER, color_scheme="dark")
    scroll_bar = "getComputedStyle(document.querySelector('article pre')).scrollbarColor"
    for theme, thumb in (("light", "auto"), ("dark", "rgb(169, 180, 194) rgba(0, 0, 0, 0)")):
        page.emulate_media(color_scheme=theme)
        page.wait_for_function(f"{THEME} === '{theme}'")
        eventually(lambda: page.evaluate(scroll_bar), thumb)
        wanted, worn = page.evaluate(ROLES)
        assert worn == wanted
        assert len(set(worn)) == 3
    page.wait_for_function("!document.querySelector('article img.at-svg')")  # inserted when it is idle
    page.emulate_media(media="print", color_scheme="light")
    page.wait_for_function(f"{THEME} === 'light'")
    page.evaluate("Promise.allSettled(document.getAnimations().map((change) => change.finished))")
    printed = page.evaluate(COLORS)
    page.emulate_media(media="screen", color_scheme="dark")
    page.wait_for_function(f"{THEME} === 'dark'")
    assert page.evaluate(COLORS) != printed
    page.emulate_media(media="print")
    page.wait_for_function(f"{THEME} === 'light'")
    eventually(lambda: page.evaluate(COLORS), printed)
    hidden = ".bd-sidebar-primary, .bd-sidebar-secondary, .copybtn, details.hide > summary, .at-controls"
    visible = "all => all.filter(x => x.checkVisibility()).length"
    eventually(lambda: page.eval_on_selector_all(hidden, visible), 0)
    assert page.query_selector(hidden)
    page.emulate_media(media="screen")
    page.wait_for_function(f"{THEME} === 'dark'")
    # Not all browsers change media.
    for event, theme in (("beforeprint", "light"), ("afterprint", "dark")):
        page.evaluate(f"dispatchEvent(new Event('{event}'))")
        assert page.evaluate(THEME) == theme


HEIGHTS = "[...document.querySelectorAll('article figure, .at-x-page .at-x')].map(part => part.offsetHeight)"


@pytest.mark.parametrize("name", [CHAPTER, "explorer.html"])
def test_law_figures_and_the_explorer_have_their_height_before_their_scripts_run(open_page, name):
    page = open_page()
    page.route("**/*.woff2", lambda route: route.abort())  # a font that arrives late may add a line
    page.add_init_script(
        "document.addEventListener('readystatechange', () => {"
        f"if (document.readyState === 'interactive') window.before = {HEIGHTS};" + "});"
    )
    page.goto(name)
    page.wait_for_selector(".at-slider[data-ready] .at-figure-tools, .at-x-form")
    page.wait_for_function("!document.querySelector('article img.at-svg')")
    page.evaluate(IDLE)
    before, after = page.evaluate(f"[window.before, {HEIGHTS}]")
    assert after == pytest.approx(before, abs=12)  # pixels: a row of controls has more than 40


def test_law_a_slider_is_printed_in_two_states(open_page):
    page = open_page("chapters/02_queries_keys_values.html")
    page.wait_for_selector(".at-slider input")
    values = page.locator(".at-slider output").all_inner_texts()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    pairs = [state.locator("p").all_inner_texts() for state in page.locator(".at-states").all()]
    assert len(pairs) == len(values) > 1
    for value, pair in zip(values, pairs, strict=True):
        assert len({*pair}) == 2
        assert any(words.endswith(f": {value}") for words in pair)
    assert page.locator(".at-states img").count() == page.locator(".at-states img:visible").count()
    assert page.locator(".at-slider .at-stage:visible").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".at-states").count() == 0


def test_law_a_wide_drawing_is_printed_as_wide_as_the_text_and_a_long_table_may_break(open_page):
    page = open_page("chapters/22_from_here_to_modern_models.html")
    page.wait_for_function("!document.querySelector('article img.at-svg')")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 670, "height": 980})  # the text of A4 paper
    wide = "article .at-figure:not(.at-slider, .at-machine) svg[style*='min-width']"
    text = page.locator("article p.at-question").evaluate("x => x.parentElement.clientWidth")
    widths = page.eval_on_selector_all(wide, "all => all.map(x => x.clientWidth)")
    assert len(widths) > 2
    assert widths == [pytest.approx(text, abs=5)] * len(widths)
    breaks = "x => getComputedStyle(x.closest('.cell_output') ?? x).breakInside"
    assert page.locator("article table").first.evaluate(breaks) == "auto"


def test_law_a_drawing_wider_than_a_phone_scrolls_by_keyboard_with_a_shadow_where_more_is_hidden(open_page):
    page = open_page("chapters/22_from_here_to_modern_models.html", viewport=PHONE, reduced_motion="reduce")
    page.wait_for_selector(".at-stage[tabindex='0'] svg")
    stage = page.locator(".at-stage[tabindex='0']").first
    stage.evaluate("x => [...x.querySelector('svg').children].forEach(part => part.remove())")
    stage.focus()

    def shadows() -> list[bool]:
        shot = Image.open(io.BytesIO(stage.screenshot())).convert("L")
        left, middle, right = (
            shot.getpixel((x, shot.height // 2)) for x in (5, shot.width // 2, shot.width - 6)
        )
        return [left < middle - 20, right < middle - 20]  # beside the outline of the focus

    eventually(shadows, [False, True])
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    eventually(shadows, [True, False])


def test_law_formulas_and_theme_need_no_script(open_page):
    faults: list[str] = []
    page = open_page(java_script_enabled=False, color_scheme="dark").watched(faults, fonts=True)
    page.goto("chapters/notation.html")
    assert formula_faults(page) == []
    shown = "all => all.filter(m => m.checkVisibility()).map(m => m.getBoundingClientRect().width)"
    assert min(page.eval_on_selector_all("mjx-math", shown)) > 0
    paper = "getComputedStyle(document.documentElement).getPropertyValue('--at-paper')"
    for scheme, color in (("dark", "#14181e"), ("light", "#ffffff")):
        page.emulate_media(color_scheme=scheme)
        eventually(lambda: page.evaluate(paper), color)
    assert faults == []


@pytest.mark.parametrize(("chosen", "system", "shown"), [(None, "dark", "dark"), ("light", "dark", "light")])
def test_law_the_theme_is_known_before_the_first_paint(open_page, chosen, system, shown):
    page = open_page(color_scheme=system)
    page.route("**/*.js*", lambda route: route.abort())  # so that later scripts have no effect
    if chosen:
        page.add_init_script(f"localStorage.setItem('mode', '{chosen}')")
    page.goto("chapters/notation.html")
    assert page.evaluate(THEME) == shown


DENIED = """for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(
  window, name, { configurable: true, get() { throw new DOMException("denied", "SecurityError"); } });"""


def test_law_theme_and_search_work_for_the_visit_where_storage_is_denied(open_page):
    faults: list[str] = []
    page = open_page(color_scheme="dark").watched(faults)
    page.add_init_script(DENIED)
    page.goto("chapters/notation.html")
    page.locator(".theme-switch-button:visible").first.click()
    chosen = page.evaluate(THEME)
    page.goto("explorer.html")
    assert page.evaluate(f"[{THEME}, document.documentElement.dataset.mode]") == [chosen, "light"]
    page.locator(".search-button-field:visible").first.click()
    page.keyboard.type("causal mask")
    page.keyboard.press("Enter")
    page.locator("ul.search li").first.wait_for()
    assert faults == []


SEEN = "all => all.filter(x => x.checkVisibility({contentVisibilityAuto: true})).length"


def test_law_questions_stay_folded_until_opened_linked_or_printed(open_page):
    page = open_page(f"{SHORT}#questions-readers-ask")  # which opens the section
    answers, questions = "details.at-asked > p:nth-of-type(1)", page.locator("details.at-asked").count()
    shown = functools.partial(page.eval_on_selector_all, answers, SEEN)
    assert questions > 10
    eventually(shown, 0)
    page.locator("details.at-asked > summary").first.click()
    eventually(shown, 1)
    page.get_by_role("button", name="Open all").click()
    eventually(shown, questions)
    page.get_by_role("button", name="Close all").click()
    eventually(shown, 0)
    page.emulate_media(media="print")
    eventually(shown, questions)
    page.emulate_media(media="screen")
    eventually(shown, 0)


def test_law_folds_stay_closed_until_linked_and_only_sections_for_reference_are_printed(open_page):
    page = open_page(SHORT)
    later = page.locator("details.at-later").count()
    assert later == 5

    def opened(folds: str = ".at-later, .at-evidence, .at-page-code") -> int:
        return page.locator(f"details:is({folds})[open]").count()

    eventually(opened, 0)
    claim = page.locator("details.at-later .at-claim").first.get_attribute("id")
    for anchor, count in ((claim, 2), ("common-mistakes", 1)):  # the first is in a fold within a fold
        page.goto("about:blank")
        page.goto(f"{SHORT}#{anchor}")
        eventually(opened, count)
    page.emulate_media(media="print")
    printed = "details.at-later > :nth-child(2):not(button)"  # one has a button there, which is not printed
    eventually(lambda: page.eval_on_selector_all(printed, SEEN), later - 1)
    assert page.eval_on_selector_all(":is(.at-evidence, .at-page-code) li", SEEN) == 0
    page.emulate_media(media="screen")
    page.locator(".at-figure-tools a").first.click()
    eventually(lambda: opened(".at-page-code"), 1)


def test_law_the_focused_element_has_a_visible_outline(open_page):
    page = open_page(SHORT, reduced_motion="reduce")
    page.wait_for_load_state("load")
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        name, width, style = page.evaluate(
            """() => {
              const it = document.activeElement, look = getComputedStyle(it);
              return [it.outerHTML.slice(0, 80), parseFloat(look.outlineWidth), look.outlineStyle];
            }"""
        )
        assert (width >= 2, style) == (True, "solid"), name
        seen.add(name)
    assert len(seen) > 30


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
    "code is cut off: x x": "<div class='highlight' style='width: 9em'><pre>" + "x " * 44 + "</pre></div>",
    "code is smaller than 13.5 px: small": "<div class='highlight'><pre style='font-size: 13px'>small</pre>"
    "</div>",
    r"raw TeX: \frac": r"<p>It is \frac12 and more than thirty letters.</p>",
    "raw TeX: $x^2$": "<p>It is $x^2$.</p>",
    "equation is cut off: eq": "<div class='math' id='eq'><mjx-container style='display: block; width: 3em;"
    " overflow: auto'><i style='display: block; width: 9em'>x</i></mjx-container></div>",
    "table of words is cut off: wide": "<div class='pst-scrollable-table-container' style='overflow: auto'>"
    "<table><tr><td style='min-width: 99em'>wide<td>2<td>3</table></div>",
    "column of single words: one two": "<div class='pst-scrollable-table-container'><table><tr>"
    "<td style='width: 5em; max-width: 5em'>one two three four five six</table></div>",
    "labels overprint each other: one | two": "<svg role='img' aria-label='1 2 3 4 5 6 7 8'>"
    "<text y='20'>one</text><text y='22'>two</text></svg>",
    "img described in too few words: 'too short'": "<img alt='too short' src='data:,'>",
    "px: overlap: above | below": "<div><p>above</p><p style='margin-top: -3em'>below</p></div>",
    "px: overlap: left | right": "<div style='display: grid; grid-template-columns: 4em 4em'>"
    "<div><p style='margin-right: -2em; background: #eee'>left</p></div><p>right</p></div>",
    "348 px: leaves its column: wide": "<div style='display: flex'><div><pre style='margin-right: -2em'>wide"
    "</pre></div></div>",
    "1280 px: button opens nothing: secondary": "<button class='secondary-toggle'>Contents</button>",
    "drawings stayed images": "<img class='at-svg' alt='1 2 3 4 5 6 7 8' src='data:,'>",
    "slider 1 was never built": "<figure class='at-slider'></figure>",
    "slider 2: ArrowRight does not change value and drawing": "<figure class='at-slider'><svg></svg>"
    "<label>x <input type='range' max='3'><output>0</output></label></figure>",
    "drawing 1 to drag was never built": "<figure class='at-drag'><svg></svg></figure>",
    "drawing 2 to drag: ArrowUp does not change its numbers": "<figure class='at-drag'><svg>"
    "<circle r='9' role='slider' tabindex='0' aria-label='s' aria-valuenow='1'></circle></svg></figure>",
    "axe, light: color-contrast at ['#pale']": "<p id='pale' style='color: #999'>pale</p>",
    "axe, dark: color-contrast at ['#dim']": "<style>#dim {color: #000; background: #fff}"
    "@media (prefers-color-scheme: dark) {#dim {color: #444; background: #222}}</style><p id='dim'>dim</p>",
    "axe, light: label-content-name-mismatch": "<button aria-label='Find'>Search</button>",
}
HEALTHY = "<p>Nothing is wrong here.</p>"
CONTROL = (
    "<!DOCTYPE html><html lang='en'><head><title>Control</title><link rel='icon' href='data:,'></head>"
    "<body><main><article><h1>Control</h1>{}</article></main></body></html>"
)


def test_law_each_fault_of_a_page_is_detected_and_a_correct_page_has_none(open_page, tmp_path):
    known: set[str] = set()
    for name, content in (("healthy", HEALTHY), ("faulty", HEALTHY + "".join(FAULTY.values()))):
        (tmp_path / f"{name}.html").write_text(CONTROL.format(content), encoding="utf-8")
    with serving(tmp_path) as address:
        assert inspect(open_page, f"{address}healthy.html", known) == []
        assert known
        found = inspect(open_page, f"{address}faulty.html", known, patience=500)
    assert [fault for fault in FAULTY if not any(fault in one for one in found)] == []
