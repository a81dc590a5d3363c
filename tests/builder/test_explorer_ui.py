"""The explorer's script on its own, bundled from source, with a stub engine that answers immediately."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from builder.chapters import read_chapters
from builder.explorer import bundle
from builder.explorer.frame_page import explorer_page
from tests.explorer_pages import EXPLAINED, FOLLOW, PRESS, ROOT, TOUR, BookPage, eventually, loaded_page

STUB = ROOT / "tests" / "explorer_stub.js"
PAGE = """<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8"><title>Explorer</title>
<link rel="stylesheet" href="_static/explorer/explorer.css"><body>{frame}
<script src="_static/explorer/explorer.js"></script>"""
LINK = "#direction=en-de&text=one+two+three"
NOTICES = ".at-x-notices"
PATIENCE = 10_000  # milliseconds; only a wrong script waits this long
PREVIOUS = "Below is still the translation of “one two three”. Press Translate to update it."


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write the page and its scripts, and return the page's address."""
    folder = tmp_path_factory.mktemp("explorer")
    files = {
        "explorer.js": bundle.explorer_script(dict.fromkeys(bundle.EXAMPLES, "9.6 MB"), read_chapters(ROOT)),
        "engine.js": STUB.read_text(encoding="utf-8"),
        "explorer.css": (bundle.HERE / "ui" / "explorer.css").read_text(encoding="utf-8"),
    }
    (folder / "_static" / "explorer").mkdir(parents=True)
    for name, text in files.items():
        (folder / "_static" / "explorer" / name).write_text(text, encoding="utf-8")
    (folder / "explorer.html").write_text(PAGE.format(frame=explorer_page()), encoding="utf-8")
    return (folder / "explorer.html").as_uri()


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    with contextlib.closing(browser.new_context(reduced_motion="reduce", has_touch=True)) as context:
        context.set_default_timeout(PATIENCE)
        yield context


@pytest.fixture
def first(context: BrowserContext, address: str, faults: list[str]) -> Iterator[BookPage]:
    """Yield the page before the model is loaded."""
    with contextlib.closing(BookPage(context.new_page()).watched(faults)) as page:
        page.goto(address)
        yield page
    assert faults == []


@pytest.fixture(scope="module")
def loaded(context: BrowserContext, address: str, faults: list[str]) -> BookPage:
    return loaded_page(context, address, faults)


@pytest.fixture
def page(loaded: BookPage, faults: list[str]) -> Iterator[BookPage]:
    """Yield the loaded page with three words translated, nothing selected, and all sections open."""
    loaded.keyboard.press("Escape")  # ends a tour
    loaded.go("#direction=en-de&text=x")
    loaded.go(LINK)
    loaded.open_sections(".at-x-section, .at-x-all")
    loaded.evaluate("() => { asked.length = 0; }")
    yield loaded
    assert faults == []


def texts(page: Page, place: str) -> list[str]:
    return page.eval_on_selector_all(place, "all => all.map(x => x.textContent.trim())")


def press(page: BookPage, *keys: str) -> None:
    """Press the buttons with these keys, and let each resulting translation appear before the next press."""
    for key in keys:
        page.press(key)


def translated(page: Page) -> list[dict[str, Any]]:
    return page.evaluate("asked.filter(([call]) => call === 'translate').map(([, x]) => x)")


def answer(page: Page, **options: object) -> dict[str, Any]:
    """Return the engine's answer for a sentence of three words."""
    wanted = {"direction": "en-de", "text": "one two three", **options}
    return page.evaluate("options => answer(options)", wanted)


def as_number(text: str) -> float:
    return float(text.replace("−", "-"))


# Before the model is loaded.


DRAWN = """root => {
  const all = (place, show) => [...root.querySelectorAll(place)].map(show);
  const lit = (x) => x.classList.contains("at-active");
  const words = (x) => x.textContent.replace(/\\s+/g, " ").trim();
  return {
    curves: all(".at-x-stage path", x => [x.getAttribute("d"), x.getAttribute("stroke-width"), lit(x)]),
    keys: all(".at-x-keys li", x => [words(x), lit(x), x.style.getPropertyValue("--weight")]),
    queries: all(".at-x-queries li", x => [words(x), lit(x), x.classList.contains("at-x-later")]),
    languages: all(".at-x-main [lang]", x => [x.lang, words(x)]),
    bars: all(".at-x-top li", words),
    shares: all(".at-x-bar", x => Number(x.style.getPropertyValue("--share"))),
    why: all(".at-x-why > p, .at-x-why h3", words),
  };
}"""


def test_oracle_a_browser_draws_the_first_frame_as_the_builder_does(first):
    drawn = first.evaluate(f"({DRAWN})(document)")
    frame = explorer_page()
    built = first.evaluate(f"frame => ({DRAWN})(new DOMParser().parseFromString(frame, 'text/html'))", frame)
    assert len(drawn["curves"]) > 20
    for part, expected in built.items():
        assert drawn[part] == expected, part


def test_law_nothing_is_loaded_before_the_reader_asks(first):
    assert first.locator("script").count() == 1
    assert first.evaluate("typeof EngineClient") == "undefined"
    assert first.inner_text(".at-x-go") == "Translate (9.6 MB)"
    first.translate()
    assert first.evaluate("asked[0]") == ["load", "en-de"]
    assert first.status().startswith(f"Translated: {first.translation()} 8 tokens, log-probability −")


# Attention that is drawn, highlighted, and announced.


NAMES = {"encoder": ["one", "two", "three", "end of sentence"]}
NAMES["cross"], NAMES["decoder"] = NAMES["encoder"], ["start of sentence", "w10", "w20", "w30"]


def said(name: str) -> str:
    """Return a label as it appears in a sentence: a word in quotes, the name of a special token without."""
    return name if " " in name else f"“{name}”"


def percent(weight: float) -> str:
    return f"{int(100 * weight + 0.5)}%"


@pytest.mark.parametrize(
    ("state", "kind", "heads", "words"),
    [
        ("&layer=2&head=4&step=1", "cross", [(2, 4)], "layer 3, head 5"),
        ("&view=encoder&layer=1&head=0&word=2", "encoder", [(1, 0)], "layer 2, head 1"),
        ("&view=decoder&layer=0&head=3&step=2", "decoder", [(0, 3)], "layer 1, head 4"),
        ("&layer=mean&head=1", "cross", [(layer, 1) for layer in range(4)], "head 2, mean over all layers"),
        ("&ablated=cross.3.0_cross.3.2", "cross", [(3, 1), (3, 3), (3, 4)], "of the 3 heads that are on"),
    ],
)
def test_law_curves_words_and_weights_are_those_of_the_chosen_heads(
    page, state: str, kind: str, heads: list[tuple[int, int]], words: str
):
    page.go(f"{LINK}{state}")
    rows = page.evaluate(
        """([kind, heads]) => [0, 1, 2, 3].map(query => [0, 1, 2, 3].map(key => {
          const weights = heads.map(([layer, head]) => Math.fround(weight(kind, layer, head, query, key)));
          return weights.reduce((sum, weight) => sum + weight, 0) / heads.length;
        }))""",
        [kind, heads],
    )
    active = int(state[-1]) if len(heads) == 1 else 0
    curves = page.evaluate(f"({DRAWN})(document)")["curves"]
    lines = [(10 * q + 5, 10 * k + 5, rows[q][k]) for q in range(4) for k in range(4) if rows[q][k] >= 0.03]
    assert [(path, float(width), lit) for path, width, lit in curves] == [
        (f"M0 {y}C50 {y} 50 {x} 100 {x}", pytest.approx(1 + 7 * weight, abs=0.06), x == 10 * active + 5)
        for x, y, weight in lines
    ]
    shares = [percent(weight) if weight >= 0.03 else "" for weight in rows[active]]
    assert texts(page, ".at-x-keys i") == shares
    assert page.locator(".at-x-keys li.at-active").count() == sum(map(bool, shares))
    for query, row in zip(texts(page, ".at-x-queries button"), rows, strict=True):
        order = sorted((key for key in range(4) if row[key] >= 0.03), key=lambda key: -row[key])
        read = ", ".join(f"{said(NAMES[kind][key])} {percent(row[key])}" for key in order)
        assert query.endswith(f" attends to {read}")
    assert f"{words})" in page.why()
    keys, queries = "German" if kind == "decoder" else "English", "English" if kind == "encoder" else "German"
    does = "reads" if kind == "encoder" else "is writing"
    assert texts(page, ".at-x-stage > div > p") == [f"reads from {keys} keys", f"{does} {queries} queries"]


def test_law_keys_and_buttons_step_through_the_translation_and_announce_what_is_read(page):
    page.focus("[data-key='query 0']")
    for key, step in zip(
        ("ArrowDown", "End", "ArrowDown", "ArrowUp", "Home", "ArrowUp"), (1, 3, 3, 2, 0, 0), strict=True
    ):
        page.keyboard.press(key)
        assert page.focused() == f"query {step}", key
        assert page.inner_text(".at-x-steps") == f"◀One token back\nToken {step + 1} of 4\n▶One token on"
    assert page.locator(".at-x-queries [tabindex='0']").count() == 1
    page.focus("[data-key='One token on']")
    page.keyboard.press("Enter")
    assert "Why w20?" in page.why()
    assert page.focused() == "One token on"
    weights = "“one” 55%, end of sentence 50%, “three” 45%, “two” 40%"
    shown = f"“w20”, probability 49.0%, attends to {weights} (layer 4, mean of its heads)."
    assert page.status() == shown
    page.keyboard.press("Shift+Tab")
    for _ in range(2):  # the second time, it is already at the first token
        page.keyboard.press("Enter")
        assert "Why w10?" in page.why()
    assert re.search("“w10”, probability .* attends to “three” 50%", page.status())
    assert page.is_disabled("[data-key='One token back']")


def test_law_hovering_highlights_what_a_token_reads_and_selects_nothing(page):
    def read() -> list[str]:
        return texts(page, ".at-x-keys i")

    page.tap("[data-key='query 1']")
    chosen, hovered = ([f"{share}%" for share in row] for row in ((55, 40, 45, 50), (50, 55, 40, 45)))
    eventually(read, chosen)
    page.hover("[data-key='query 2']")
    eventually(read, hovered)
    page.evaluate("scrollBy({ top: 30, behavior: 'instant' })")  # below a resting pointer
    page.settle()
    assert texts(page, ".at-x-queries .at-active .at-x-word")[0].startswith("w30")
    assert "Why w20?" in page.why()
    page.mouse.move(1, 1)
    eventually(read, chosen)


def test_law_each_choice_changes_its_own_field_and_keeps_the_focus(page):
    for field, place in (("view", 1), ("layer", 3), ("head", 5)):
        radio = page.locator(f"[data-key^='{field} '][type=radio]").nth(place)
        radio.focus()
        page.keyboard.press("Space")
        key = radio.get_attribute("data-key")
        assert (page.focused(), page.locator(f"[data-key='{key}']").is_checked()) == (key, True)
    press(page, "layer 0", "head 2")
    assert page.url.endswith("&view=encoder&layer=0&head=2")
    assert "What does one attend to?" in page.why()
    press(page, "One token on")
    assert "What does two attend to?" in page.why()
    assert page.url.endswith("&word=1")


def test_law_a_preset_sets_all_three_and_a_linked_head_opens_the_choices(page):
    presets, choices = page.locator(".at-x-presets [aria-pressed=true]"), page.locator(".at-x-all[open]")
    page.locator(".at-x-all").evaluate("all => { all.open = false; }")
    press(page, "the sink")
    assert page.url.endswith("&view=decoder&layer=0&head=3")
    assert (presets.all_inner_texts(), choices.count()) == (["the sink"], 0)
    page.go(f"{LINK}&layer=2&head=4")
    assert (presets.count(), choices.count()) == (0, 1)


def test_law_two_buttons_lead_to_what_can_be_changed(page):
    press(page, "break")
    assert page.evaluate("document.activeElement.closest('.at-x-section') !== null")
    press(page, "go on")
    assert page.focused() == "option 10"


# Forced tokens.


def test_law_a_forced_token_is_written_named_and_released(page):
    press(page, "query 1", "option 21")
    assert translated(page)[-1]["prefix"] == [10, 21]
    assert page.translation() == "w10 w21 w130"
    assert page.url.endswith("&prefix=10.21&forced=1&step=1")
    assert page.inner_text(NOTICES) == "You forced w21 at token 2. Undo"
    assert "a probability of 24.5%; its own choice was “w20”." in page.why()
    assert texts(page, ".at-x-bar-number")[:2] == ["49.0%", "24.5%"]
    assert texts(page, "[aria-pressed=true] .at-x-bar-token") == ["w21 ✓ written"]
    second = ".at-x-queries li:nth-child(2) small"
    assert texts(page, second) == texts(page, ".at-x-queries small") == ["forced"]
    press(page, "query 2", "option 132")
    assert page.inner_text(NOTICES) == "You forced w21 at token 2 and w132 at token 3. Undo all"
    press(page, "free")
    assert translated(page)[-1]["prefix"] == [10, 21]
    press(page, "query 0", "option 10")  # its own choice
    assert "prefix" not in page.url
    assert page.translation() == "w10 w20 w30"
    press(page, "option 12")
    assert page.translation() == "w12 w120 w130"
    press(page, "query 2", "option 133")
    page.click("[data-key=undo]")
    page.ready()
    assert page.translation() == "w10 w20 w30"
    assert page.focused() == "query 2"
    assert "prefix=" not in page.url
    assert page.inner_text(NOTICES) == ""
    press(page, "layer cross 3")
    assert page.translation().split()[0] != "w10"  # the first words are no longer forced


def test_law_only_what_the_reader_forced_is_called_forced_and_released(page):
    press(page, "query 0", "option 12", "query 1", "option 120")  # the second is the model's own choice
    assert page.inner_text(NOTICES) == "You forced w12 at token 1. Undo"
    press(page, "query 2", "option 131")
    both = "You forced w12 at token 1 and w131 at token 3. Undo all"
    assert page.inner_text(NOTICES) == both
    assert page.inner_text("[data-key=free]") == "Let the model choose this one again"
    assert page.locator("[data-key='free all']").count() == 1
    press(page, "query 0")
    assert page.inner_text("[data-key=free]") == "Let the model choose again from here"
    assert page.locator("[data-key='free all']").count() == 0  # it would have the same effect
    press(page, "head cross 2 0")
    assert both in page.inner_text(NOTICES)
    press(page, "all on", "query 2")
    page.focus("[data-key=free]")
    page.keyboard.press("Enter")
    page.ready()
    assert page.inner_text(NOTICES) == "You forced w12 at token 1. Undo"
    assert page.focused() == "query 2"
    press(page, "option 131", "free all")
    assert page.translation() == "w10 w20 w30"


# Heads that are off.


def test_law_a_head_is_switched_off_and_on_and_the_difference_is_shown(page):
    press(page, "head cross 3 1")
    assert translated(page)[-1]["ablated"] == [["cross", 3, 1]]
    pressed = ".at-x-head[aria-pressed=true]"
    assert page.get_attribute(pressed, "data-key") == "head cross 3 1"
    said = "1 of 60 heads is off: cross-attention layer 4, head 2. Switch all on"
    assert page.inner_text(NOTICES) == said
    off = {"ablated": [["cross", 3, 1]]}
    whole, changed = answer(page), answer(page, **off)
    kept = answer(page, **off, prefix=whole["target"]["ids"])
    rows = [row.split("\t") for row in page.locator(".at-x-off tbody tr").all_inner_texts()]
    assert [row[:2] for row in rows] == [
        ["all on", whole["text"]],
        ["1 head off", changed["text"]],
        ["first translation, scored with 1 head off", whole["text"]],
    ]
    values = [whole["logProb"], changed["logProb"], kept["logProb"]]
    assert [as_number(row[2]) for row in rows] == pytest.approx(values, rel=1e-2)
    assert texts(page, ".at-x-off ins") == changed["text"].split(" ")
    shares = "50.0% → 1.2% with these heads off, after the same tokens."
    assert texts(page, ".at-x-effect") == [f"Token 1, w10, which the model writes with all heads: {shares}"]
    page.go("#direction=en-de&text=one+two&ablated=cross.3.1")
    assert "all on\tw10 w20\t" in page.inner_text(".at-x-off tbody")
    press(page, "layer cross 3")
    assert page.locator(pressed).count() == 5
    assert "cross-attention layer 4, all heads" in page.inner_text(NOTICES)
    press(page, "head cross 3 0")
    assert page.locator(pressed).count() == 4
    page.focus("[data-key='all on']")
    page.keyboard.press("Enter")
    page.locator("[data-key='all on']").wait_for(state="detached")
    page.ready()
    assert page.evaluate("document.activeElement.closest('.at-x-off') !== null")
    assert page.locator(pressed).count() == 0
    assert "ablated" not in page.url
    assert page.translation() == "w10 w20"


def off(*heads: tuple[int, int]) -> str:
    """Return the part of a link that lists cross-attention heads that are off: layer and head, from 0."""
    return f"&ablated={'_'.join(f'cross.{layer}.{head}' for layer, head in heads)}"


ALL = [(layer, head) for layer in range(4) for head in range(5)]
HEADS = {
    "": "(layer 4, mean of its heads)",
    "&head=2": "(layer 4, head 3)",
    off(*((3, head) for head in range(4))): "(layer 4, head 5, the only one that is on)",
    "&layer=mean": "(mean over all layers and heads)",
    f"{off((0, 0), (3, 1), (3, 2))}&layer=mean": "(mean over all layers of the 17 heads that are on)",
    f"{off(*ALL[:-1])}&layer=mean": "(layer 4, head 5, the only one that is on)",
    "&layer=mean&head=1": "(head 2, mean over all layers)",
    f"{off((2, 1))}&layer=mean&head=1": "(head 2, mean over the 3 layers in which it is on)",
    f"{off((0, 1), (1, 1), (3, 1))}&layer=mean&head=1": "(layer 3, head 2, the only one that is on)",
    off(*ALL[15:]): "through the cross-attention in layer 4: all its heads are off, so their output is zero.",
    f"{off(*ALL)}&layer=mean": "through the cross-attention: all its heads are off, so their output is zero.",
    f"{off((3, 1))}&head=1": "through head 2 of the cross-attention in layer 4: that head is off, so its",
    f"{off(*((layer, 1) for layer in range(4)))}&layer=mean&head=1": "through head 2 of the cross-attention: "
    "that head is off in every layer, so its output is zero.",
}


def test_law_the_explanation_names_the_heads_that_it_refers_to(page):
    for state, sentence in HEADS.items():
        page.go(f"{LINK}{state}&step=1")
        assert sentence in page.why(), state
        if sentence.startswith("through"):
            assert f"nothing reached it {sentence}" in page.why(), state
            one = "that" in sentence and "every" not in sentence
            heads = "this head is off" if one else "these heads are off"
            assert f"receives nothing: {heads}" in str(page.text_content("[data-key='query 1']")), state


def test_law_heads_that_are_off_are_named_beside_the_translation(page):
    page.go(f"{LINK}&ablated=encoder.1.0_cross.3.0_cross.3.1_cross.3.2_cross.3.3_cross.3.4_encoder.1.2")
    said = "7 of 60 heads are off: cross-attention layer 4, all heads; encoder layer 2, heads 1 and 3. "
    assert page.inner_text(NOTICES) == f"{said}Switch all on"
    page.fill(".at-x-field input", "four")
    page.keyboard.press("Enter")
    page.ready()
    assert texts(page, ".at-x-keys b") == ["four", "end"]
    assert page.inner_text(NOTICES).startswith(said)
    page.click("[data-key='switch on']")
    page.ready()
    assert page.focused().startswith("query")
    assert page.inner_text(NOTICES) == ""


def test_law_each_group_of_heads_is_one_tab_stop(page):
    assert page.locator(".at-x-kind button[tabindex='0']").count() == 3
    page.focus("[data-key='layer encoder 0']")
    for keys, focused in (
        ("ArrowRight ArrowDown", "head encoder 1 0"),
        ("End ArrowRight", "head encoder 1 4"),
        ("Home", "layer encoder 1"),
        ("ArrowUp", "layer encoder 0"),
        ("End Tab", "layer decoder 0"),
        ("Shift+Tab", "head encoder 0 4"),
    ):
        for key in keys.split():
            page.keyboard.press(key)
        assert page.focused() == focused, keys
    for keys, count in (("Space", 1), ("Home Space", 5), ("Space", 0)):
        for key in keys.split():
            page.keyboard.press(key)
        page.ready()
        assert page.locator(".at-x-head[aria-pressed=true]").count() == count
        assert page.focused() == ("head encoder 0 4" if count == 1 else "layer encoder 0")


# Links.


def test_law_a_link_holds_what_is_shown(page):
    press(page, "query 1", "option 21", "head cross 3 1", "layer null", "head 3", "query 2")
    state = f"{LINK}&prefix=10.21&forced=1&ablated=cross.3.1&layer=mean&head=3&step=2"
    assert page.evaluate("location.hash") == state
    shown = page.inner_text(".at-x-main")
    page.evaluate(FOLLOW, "#direction=de-en&text=eins+zwei")
    page.translate()  # it loads the other model
    assert translated(page)[-1]["direction"] == "de-en"
    assert texts(page, ".at-x-stage > div > p") == ["reads from German keys", "is writing English queries"]
    assert page.evaluate("location.hash") == "#direction=de-en&text=eins+zwei"
    page.go(state)
    assert page.inner_text(".at-x-main") == shown
    assert page.evaluate("location.hash") == state
    page.go(state.replace("step=2", "step=1"))  # another place of the same translation
    assert "Why w21?" in page.why()
    assert "step=1" in page.url


def test_law_an_invalid_link_is_ignored(page):
    page.go("#direction=en-de&text=Hi.&layer=4")
    assert page.translation() == "w10 w20 w30"
    assert page.input_value(".at-x-field input") == "one two three"
    assert translated(page) == []


# Tensors and their numbers.


def opened(page: Page, name: str, index: str, more: str = "") -> None:
    page.go(f"{LINK}{more}&tensor={name}&at={index}")
    page.settle()
    assert page.locator(EXPLAINED).is_visible()


def cells(page: Page) -> list[list[str]]:
    return page.eval_on_selector_all(
        ".at-x-grid .at-x-row:not(.at-x-row-names)",
        "rows => rows.map(row => [...row.querySelectorAll('[role=gridcell]')].map(x => x.textContent))",
    )


def written(page: Page, name: str, *index: int) -> str:
    """Return a tensor element in the page's number format."""
    value: float = page.evaluate("([name, index]) => tensorValue(name, index)", [name, [*index]])
    return f"{float(f'{value:.3g}'):g}".replace("-", "−")


def test_law_a_heat_map_shows_each_number_at_its_row_and_column(page):
    name = "decoder.layers.3.cross_attention.scores"
    opened(page, name, "1.2.3", more="&ablated=cross.3.1")
    assert texts(page, ".at-x-heat h4") == ["Decoder layer 4, cross-attention: scores"]
    for head in (1, 2):
        expected = [[written(page, name, head, row, column) for column in range(4)] for row in range(4)]
        assert cells(page) == expected
        assert f"&at={head}.2.3" in page.url
        assert page.get_attribute(".at-x-grid [aria-selected=true]", "data-key") == "cell 2 3"
        assert (page.locator(".at-x-off-note").count() == 1) == (head == 1)
        press(page, "slice 2")
    assert texts(page, ".at-x-row-names .at-x-top-name") == ["one", "two", "three", "end"]
    shift = page.inner_text(".at-x-translation q").split()
    pairs = zip(["start", *shift], [*shift, "end"], strict=True)
    assert texts(page, ".at-x-grid [role=rowheader]") == [f"after {a} writes {b}" for a, b in pairs]
    page.focus(".at-x-grid [aria-selected=true]")
    for key, row, column in (("ArrowLeft", 2, 2), ("ArrowUp", 1, 2), ("Home", 1, 0), ("ArrowRight", 1, 1)):
        page.keyboard.press(key)
        assert page.focused() == f"cell {row} {column}"
        assert f"&at=2.{row}.{column}" in page.url
    opened(page, "decoder.layers.3.cross_attention.key", "0.0.0")
    assert texts(page, ".at-x-grid [role=rowheader]") == ["one", "two", "three", "end"]
    opened(page, "logits", "1.2")
    assert texts(page, ".at-x-top-name [title='token 5']") == ["w5"]


PARTS = "decoder.layers.1.cross_attention"
OPERANDS = {
    f"{PARTS}.scores": ("3.2.1", 5, [f"feature {i}" for i in range(7)]),
    f"{PARTS}.heads": ("3.2.6", 4, ["“one”", "“two”", "“three”", "“end”"]),
    f"{PARTS}.weights": ("3.2.1", 1, []),
}


@pytest.mark.parametrize("name", OPERANDS)
def test_law_each_operand_names_the_place_where_it_stands(page, name: str):
    index, count, words = OPERANDS[name]
    opened(page, name, index)
    label = f"head 4, row “after w20 writes w30”, {'feature 6' if 'heads' in name else 'key two'}."
    assert page.inner_text(".at-x-number .at-x-label").endswith(label)
    lines = [line.split("\t") for line in page.locator(".at-x-sum tr").all_inner_texts()]
    products = [line for line in lines if " × " in line[1]]
    for line in products:
        a, b = map(as_number, line[1].split(" × "))
        assert a * b == pytest.approx(as_number(line[2]), rel=1e-2, abs=1e-3)
        assert line[0] in words
    assert len(products) == (count if words else 0)
    if words:
        terms = [as_number(line[-1]) for line in lines if line in products or "other" in line[0]]
        (total,) = (as_number(line[-1]) for line in lines if line[0] == "sum")
        assert sum(terms) == pytest.approx(total, abs=2e-3)
    operands = page.locator(".at-x-sum button")
    assert operands.count() == count * 2 if words else 1
    for operand in operands.all():
        _, tensor, place = str(operand.get_attribute("data-key")).split(" ")
        value = page.evaluate(f"tensorValue('{tensor}', [{place}])")
        assert as_number(operand.inner_text()) == pytest.approx(value, abs=1e-4), tensor
    first, shown = operands.first, operands.first.inner_text()
    first.click()
    page.settle()
    assert page.inner_text(".at-x-number h4 b") == shown
    assert page.inner_text("[data-key=back]").startswith("← Back to Decoder layer 2, cross-attention: ")
    page.click("[data-key=back]")
    page.wait_for_function("name => location.hash.includes(name)", arg=f"tensor={name}&at={index}")


def test_law_a_press_in_the_map_opens_the_tensor_at_the_token_in_focus(page):
    press(page, "query 2", "map decoder 0", "map encoder 1", "encoder.layers.1.self_attention.query")
    assert page.url.endswith("&step=2&tensor=encoder.layers.1.self_attention.query&at=0.0.0")
    assert page.status() == "Encoder layer 2, self-attention: queries, 5 × 4 × 7."
    press(page, "decoder.layers.0.cross_attention.weights")
    assert page.url.endswith("&tensor=decoder.layers.0.cross_attention.weights&at=0.2.0")
    press(page, "why number")
    assert page.url.endswith("&tensor=probabilities&at=2.30")


def test_law_a_small_number_that_differs_from_its_formula_is_reported(page):
    other = """const found = await own.apply(this, given);
      return { ...found, value: found.value / 1000, result: (found.value / 1000) * 1.0001 };"""
    with page.replaced("provenance", other):
        page.go(f"{LINK}&tensor=probabilities&at=1.5")
        page.settle()
        assert page.locator(".at-x-number .at-x-error").is_visible()
        assert page.locator(".at-x-number .at-x-same").count() == 0


# Other search methods, the tour, and the sentence.


def test_law_searches_are_compared_announced_and_discarded_with_the_sentence(page):
    page.fill(".at-x-searches input[type=number]", "7")
    page.locator(".at-x-searches input[type=range]").fill("0.5")
    page.focus(".at-x-searches button")
    page.keyboard.press("Enter")
    page.settle()
    assert page.evaluate("document.activeElement.textContent") == "Compare"
    found = [answer(page, method="greedy"), answer(page, method="beam")]
    found.append(answer(page, method="sample", seed=7, temperature=0.5))
    names = ["greedy", "beam 4", "sampling, temperature 0.5, seed 7"]
    rows = [row.split("\t") for row in page.locator(".at-x-searches tbody tr").all_inner_texts()]
    assert [row[:2] for row in rows] == [[n, one["text"]] for n, one in zip(names, found, strict=True)]
    assert [as_number(row[2]) for row in rows] == pytest.approx([one["logProb"] for one in found], rel=1e-2)
    assert page.status() == " ".join(f"{row[0]}: {row[1]} {row[2]}." for row in rows)
    opened(page, "logits", "1.2")  # the engine holds the shown translation again
    assert "method" not in translated(page)[-1]
    page.go("#direction=en-de&text=two")
    assert page.locator(".at-x-searches table").count() == 0


def test_law_each_step_of_the_tour_shows_its_place_and_the_end_restores_the_page(page):
    press(page, "query 1", "head 2", "head cross 3 1")
    page.fill(".at-x-field input", "half a")
    before, shown = page.url, page.inner_text(".at-x-main")
    page.evaluate(PRESS, ["tour"])
    for number, step in enumerate(TOUR["steps"], start=1):
        said = f"{number} of {len(TOUR['steps'])}: {step['title']}. {step['words']}"
        eventually(page.status, said)
        state = page.evaluate("Object.fromEntries(new URLSearchParams(location.hash.slice(1)))")
        for name, value in step["state"].items():
            assert state.get(name) == (".".join(map(str, value)) if name == "at" else str(value))
        assert page.inner_text(".at-x-tour h3").endswith(step["title"])
        assert page.inner_text(".at-x-tour h3 + p") == step["words"]
        assert page.focused() == ("Next" if number < len(TOUR["steps"]) else "end")
        page.evaluate(PRESS, ["Next"])
    page.keyboard.press("Escape")
    assert page.locator(".at-x-tour").is_hidden()
    assert page.focused() == "tour"
    assert (page.url, page.inner_text(".at-x-main")) == (before, shown)
    assert page.input_value(".at-x-field input") == "half a"
    assert page.locator(".at-x-heat").is_hidden()


def test_law_choosing_a_direction_inserts_a_sentence_in_its_source_language(page):
    field, main = page.locator(".at-x-field input"), page.locator(".at-x-main")
    note = page.locator(".at-x-form + .at-x-note")
    (_, typed, *_), (first, like_typed, *_) = bundle.EXAMPLES["en-de"], bundle.EXAMPLES["de-en"]
    shown = "one two three"

    def choose(direction: str) -> str:
        page.get_by_label(direction).check(force=True)
        return str(field.input_value())

    field.fill(typed)
    assert (choose("German to English"), field.get_attribute("lang")) == (like_typed, "de")
    assert main.evaluate("x => +getComputedStyle(x).opacity") < 0.6
    assert page.status() == note.inner_text() == PREVIOUS
    assert (choose("English to German"), field.get_attribute("lang")) == (typed, "en")
    parts = ":is(.at-x-main, .at-x-section)"
    for text, old in ((typed, True), (shown, False), ("one two", True), (f" {shown} ", False), ("", False)):
        field.fill(text)
        assert set(page.eval_on_selector_all(parts, "all => all.map(x => x.inert)")) == {old}, text
        assert note.is_visible() == old
    assert main.evaluate("x => +getComputedStyle(x).opacity") == 1
    for text, turned in ((shown, "w10 w20 w30"), ("one two", first)):  # the second has no translation yet
        field.fill(text)
        assert choose("German to English") == turned
        assert choose("English to German") == text


@pytest.mark.parametrize("end", ["open()", "shut(new Error('it broke'))"])
def test_law_a_comparison_that_ends_after_its_sentence_is_not_shown(page, end: str):
    press(page, "tour")
    page.evaluate("() => { window.door = new Promise((open, shut) => { window.ends = { open, shut }; }); }")
    page.click(".at-x-searches button")
    page.keyboard.press("Escape")  # the sentence from before the tour is shown again
    page.evaluate(f"() => {{ window.door = null; ends.{end}; }}")
    page.locator(".at-x-searches button:not([aria-disabled=true])").wait_for()
    assert page.translation() == "w10 w20 w30"
    assert texts(page, ".at-x-searches :is(table, .at-x-error)") == []


def test_law_an_example_is_translated_without_a_word_on_the_previous_sentence(page):
    page.evaluate(
        """() => {
          window.said = [];
          const live = document.querySelector(".at-hidden[role=status]");
          new MutationObserver(() => said.push(live.textContent)).observe(live, { childList: true });
        }"""
    )
    page.fill(".at-x-field input", "one two")  # text typed but not yet translated does not count
    page.settle()
    assert page.evaluate("said") == [PREVIOUS]
    page.fill(".at-x-field input", "one two three")
    page.click(".at-x-examples button")
    page.ready()
    page.settle()
    assert [words.split(":")[0] for words in page.evaluate("said")] == [PREVIOUS, "Translated"]


def test_law_a_sentence_is_not_called_invalid_when_the_model_cannot_be_loaded(first):
    field, error = first.locator(".at-x-field input"), first.locator(".at-x-form .at-x-error:not(:empty)")
    state = f"{LINK}&step=1"
    first.route("**/engine.js", lambda route: route.abort())
    first.evaluate(f"location.hash = '{state}'")
    first.reload()  # files are intercepted from here on
    first.click(".at-x-go")
    assert error.inner_text().startswith("the engine could not be loaded from ")
    assert field.get_attribute("aria-invalid") == "false"
    first.unroute("**/engine.js")
    first.translate()
    assert first.evaluate("location.hash") == state  # the page shows the state in the link
    assert "Token 2 of 4" in first.why()
    with first.replaced("translate", "throw new Error('text 0 of 1 is too long');"):
        first.click(".at-x-go")
        assert error.inner_text() == "The sentence is too long"
    assert field.get_attribute("aria-invalid") == "true"


def test_law_an_empty_sentence_is_refused_beside_its_field(page):
    field = page.locator(".at-x-field input")
    long = "This text has 1,234 characters; the explorer translates up to 1,000 at once. "
    long += "Shorten it, ideally to one sentence."
    for text, said in ((" ", "Type a sentence first."), ("word. " * 205 + "four", long), ("one", "")):
        field.fill(text)
        field.press("Enter")
        page.ready()
        assert page.inner_text(f"#{field.get_attribute('aria-describedby')}") == said
        assert field.get_attribute("aria-invalid") == str(bool(said)).lower()
    assert [options["text"] for options in translated(page)] == ["one"]


def test_law_a_slow_translation_is_announced_and_can_be_canceled(page):
    field, note = page.locator(".at-x-field input"), page.locator(".at-x-form > .at-x-note")
    page.evaluate("() => { window.door = new Promise(open => { window.openDoor = open; }); }")
    field.fill("four " * 60)  # long enough for a message that it takes long
    field.press("Enter")
    assert note.inner_text().startswith("This may take a while")
    assert page.inner_text(".at-x-go") == "Translating…"
    press(page, "cancel")
    assert page.status() == "Canceled."
    page.evaluate("() => { openDoor(); window.door = null; }")
    page.settle()
    assert page.translation() == "w10 w20 w30"
    assert page.inner_text(".at-x-form .at-x-error") == ""
    assert page.locator("[data-key=cancel]").count() == 0
    soon = "window.late = setTimeout; window.setTimeout = (call, time) => late(call, time % 1500);"
    with page.delayed("translate"):
        page.evaluate(f"() => {{ {soon} }}")  # a short sentence is called slow after 1,500 milliseconds
        page.click(".at-x-go")
        note.filter(has_text="This may take a while").wait_for()
        page.evaluate("() => { window.setTimeout = late; }")
    page.ready()
    field.fill("five")
    field.press("Enter")
    eventually(page.translation, "w10")
