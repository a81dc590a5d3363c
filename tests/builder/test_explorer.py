"""The explorer: what its page says is true, and a reader's journey through it with the real model."""

import base64
import json
import pkgutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from annotated_transformer.book.explorer import first_frame
from annotated_transformer.book.explorer.figure import show_explorer, show_heat, show_way
from annotated_transformer.book.explorer.int8 import explorer_translator
from builder.chapters import read_chapters
from builder.explorer import bundle
from tests.axe import violations
from tests.explorer_pages import DOCUMENTS, HTML, PHONE, ROOT, WIDE, BookPage, eventually

KINDS = bundle.kinds()
FRAME = json.loads(first_frame.FILE.read_text(encoding="utf-8"))


# What the page says.


@pytest.mark.parametrize("kind", KINDS)
def test_law_each_kind_names_a_function_a_test_and_a_chapter_that_exist(kind: str):
    chapters = {chapter.number: chapter for chapter in read_chapters(ROOT)}
    entry = KINDS[kind]
    assert callable(pkgutil.resolve_name(entry["function"]))
    file, test = entry["test"].split("::")
    assert f"\ndef {test}(" in (ROOT / file).read_text(encoding="utf-8")
    assert chapters[entry["chapter"]].file in ("", *DOCUMENTS)


def test_oracle_the_first_frame_is_what_the_model_computes():
    frame = first_frame.first_frame()
    for name in ("sentence", "text", "source", "target", "step", "direction"):
        assert frame[name] == FRAME[name]
    assert frame["logProb"] == pytest.approx(FRAME["logProb"], abs=0.02)
    for name in ("attention", "selfAttention"):
        assert np.array(frame[name]) == pytest.approx(np.array(FRAME[name]), abs=2e-3)
    for row, committed in zip(frame["top"], FRAME["top"], strict=True):
        assert row[0]["token"] == committed[0]["token"]
        shares, expected = ([entry["probability"] for entry in entries] for entries in (row, committed))
        assert shares == pytest.approx(expected, abs=2e-3)
    assert frame["strips"].keys() == FRAME["strips"].keys()
    for name, texts in frame["strips"].items():
        strips = (base64.b64decode(text) for text in (texts, FRAME["strips"][name]))
        levels, expected = (np.frombuffer(strip, dtype=np.int8) for strip in strips)
        assert levels == pytest.approx(expected, abs=2), name  # of 127


@pytest.mark.parametrize("direction", bundle.EXAMPLES)
def test_law_examples_are_translated_right(direction):
    examples = bundle.EXAMPLES[direction]
    assert explorer_translator(direction).translate([*examples]) == [*examples.values()]


@pytest.mark.message
@pytest.mark.parametrize(
    ("show", "sentence"),
    [
        (
            partial(show_explorer, view="all"),
            "view='all' is not a view of the explorer; choose from encoder, cross-attention",
        ),
        (partial(show_explorer, step=10), r"step=10 is not a token of \['Ich', .*; choose one from 0 to 9"),
        (partial(show_explorer, layer=4), "layer=4, head=None is not a place in 4 layers of 5 heads"),
        (
            partial(show_heat, tensor="logits"),
            "'logits' is not a map of attention; choose from encoder.layers.0",
        ),
        (partial(show_way, first="softmax", last="positions"), "'softmax' to 'positions' is no way through"),
    ],
)
def test_message_a_figure_of_an_unknown_view_step_layer_tensor_or_part(
    show: Callable[[str], object], sentence: str
):
    with pytest.raises(ValueError, match=sentence):
        show("12.9")


# A reader's journey, with the real model and by keyboard.

OTHER = "The old man did not want to sell his house."
MODEL = {"explorer.js", "explorer.css", "engine.js", "en-de.js"}  # what the first button loads
EXPLAINED = ".at-x-number:not([aria-busy=true]) .at-x-same"  # not still that of the previous number
STOPS = (
    *("Embedding", "+ position", "Self-attention", "Add & Norm", "Cross-attention", "Feed-forward"),
    *("Softmax", "The next word"),
)
OFF = ["cross", 3, 1]  # the head that is switched off
STATUS = "document.querySelector('.at-x [role=status]').textContent"
# What each strip and each cell of the picture shows, and what another client of the engine has there.
DRAWN = """async options => {
  const client = new EngineClient("_static/explorer");
  await client.translate(options);
  return Promise.all([...document.querySelectorAll(".at-x-drawn [data-strip]")].map(async (strip) => {
    const { strip: name, row } = strip.dataset;
    const expected = [...(await client.tensor(name))[row]];
    const drawn = expected.map(() => 0);
    for (const { href } of strip.querySelectorAll("image")) {
      const image = Object.assign(new Image(), { src: href.baseVal });
      await image.decode();
      const pen = new OffscreenCanvas(expected.length, 1).getContext("2d");
      pen.drawImage(image, 0, 0);
      const { data } = pen.getImageData(0, 0, expected.length, 1);
      expected.forEach((_, i) => {
        const [red, , blue, alpha] = data.slice(4 * i, 4 * i + 4);
        drawn[i] = (2 * alpha / 255) * (red > blue ? -1 : 1); // amber is negative, violet positive
      });
    }
    for (const cell of strip.querySelectorAll("[data-cell]"))
      drawn[cell.dataset.cell] = 2 * Number(cell.getAttribute("fill-opacity"));
    return { name, expected, drawn, past: strip.closest(".at-x-past-strip") !== null };
  }));
}"""
DELAYED = """() => {
  const { prototype } = EngineClient;
  const { translate } = prototype;
  const opened = new Promise((open) => { window.answer = open; });
  prototype.translate = async function (...options) { await opened; return translate.apply(this, options); };
}"""


def as_number(text: str) -> float:
    mantissa, _, power = text.replace("−", "-").partition("·10")
    return float(mantissa) * 10 ** int(power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 0)


def press(page: BookPage, key: str) -> None:
    """Press a button by keyboard."""
    page.focus(f"[data-key='{key}']")
    page.keyboard.press("Enter")


def write(page: BookPage, sentence: str) -> None:
    """Replace the sentence in the field, and ask for its translation."""
    page.focus(".at-x-field input")
    page.keyboard.press("Control+A")
    page.keyboard.type(sentence)
    page.keyboard.press("Enter")


def start_on_the_cover(page: BookPage, translated: dict[str, str]) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(Path(request.url.split("?")[0]).name))
    page.goto((HTML / "index.html").as_uri())
    assert not MODEL & set(asked)  # nothing is loaded before the reader asks for it
    page.focus(".at-alignment-run button")
    page.keyboard.press("Enter")
    page.wait_for_selector(".at-x-go")
    page.ready()
    assert {*asked} >= MODEL
    assert "de-en.js" not in asked
    assert page.translation() == translated[FRAME["sentence"]] == FRAME["text"]
    write(page, OTHER)
    eventually(page.translation, translated[OTHER])
    page.click(".at-alignment .at-x-label a")
    page.wait_for_url(lambda url: url.partition("#")[0].endswith("explorer.html"))
    assert page.input_value(".at-x-field input") == OTHER
    page.ready()  # without another button: this model is already loaded
    assert page.translation() == translated[OTHER]


def open_a_number(page: BookPage) -> None:
    """Open the probability of a token, and what it is computed from; each is the result of its operands."""
    page.focus(".at-x-drawn [tabindex='0']")
    for _ in range(20):
        page.keyboard.press("ArrowUp")  # to the last box
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.dataset.key === 'tensor'")
    assert page.inner_text(".at-x-heat h4") == "Probabilities"
    page.wait_for_selector(EXPLAINED)
    probability = page.inner_text(".at-x-number h4 b")
    page.locator(".at-x-sum button").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash.includes('tensor=logits')")
    page.wait_for_selector(EXPLAINED)
    logit = page.inner_text(".at-x-number h4 b")
    assert page.inner_text(".at-x-same b") == logit != probability
    lines = page.locator(".at-x-sum tr:not(.at-x-total) > :last-child").all_inner_texts()
    assert sum(map(as_number, lines)) == pytest.approx(as_number(logit), rel=1e-2, abs=5e-3)
    assert page.locator(".at-x-number .at-x-formula mjx-container").count() == 1
    page.focus(".at-x-grid [aria-selected=true]")
    page.keyboard.press("Home")
    page.wait_for_function("location.hash.endsWith('.0')")
    page.go_back()
    page.wait_for_function("!location.hash.includes('tensor=logits')")
    page.go_back()
    page.wait_for_function("document.activeElement.dataset.key === 'box probabilities'")


def change_what_the_model_does(page: BookPage) -> str:
    """Force another token and switch a head off; return the address of the result."""
    forced = str(page.locator(".at-x-option[aria-pressed=false]").first.get_attribute("data-key"))
    press(page, forced)
    page.wait_for_selector("[data-key=undo]")
    page.ready()
    assert f"prefix={forced.split()[1]}&forced=0" in page.url
    press(page, "summary")
    press(page, "head cross 3 1")
    page.wait_for_function("location.hash.includes('ablated=cross.3.1')")
    page.ready()
    assert "1 of 60 heads is off" in page.inner_text(".at-x-notices")
    return page.url


def ask_twice(page: BookPage, translated: dict[str, str]) -> None:
    """While a sentence is translated, force a token and ask for another: only the last sentence counts."""
    page.evaluate(DELAYED)
    write(page, "No.")
    page.evaluate("document.querySelectorAll('.at-x-option')[1].click()")
    write(page, OTHER)
    page.evaluate("answer()")
    eventually(page.translation, translated[OTHER])
    page.ready()
    page.wait_for_function("!location.hash.includes('forced')")
    assert "text=The+old+man" in page.url


def compare_the_picture(page: BookPage) -> None:
    """Show another layer: each strip is what the engine has, and what goes past a box what went into it."""
    press(page, FRAME["sentence"])  # an example, which is translated at once
    eventually(page.translation, FRAME["text"])
    page.ready()
    page.locator("[data-key='made 5']").check(force=True)
    page.locator("[data-key='shown layer 1']").check(force=True)
    page.wait_for_function("document.querySelector('[data-strip^=\"decoder.layers.1.\"]')")
    same = {"direction": FRAME["direction"], "text": FRAME["sentence"], "ablated": [OFF]}
    strips = page.evaluate(DRAWN, same)
    assert {strip["name"] for strip in strips} >= {
        *(f"decoder.layers.{layer}.add_norm_3" for layer in range(4)),
        *(f"decoder.layers.1.{name}" for name in first_frame.SUBLAYERS),
    }
    for strip in strips:
        expected = np.clip(strip["expected"], -first_frame.FULL, first_frame.FULL)
        assert strip["drawn"] == pytest.approx(expected, abs=0.05), strip["name"]
    past = [strip["name"] for strip in strips if strip["past"]]
    assert past == [
        "decoder.positions",
        "decoder.layers.0.add_norm_3",
        "decoder.layers.1.add_norm_1",
        "decoder.layers.1.add_norm_2",
    ]


def look(page: BookPage) -> list[str]:
    """Return the faults of the page with all sections open, light and wide, and dark on a phone."""
    page.locator(".at-x-section").evaluate_all("all => all.forEach(part => { part.open = true; })")
    faults: list[str] = []
    for theme, size in (("light", WIDE), ("dark", PHONE)):
        page.emulate_media(color_scheme=theme)
        page.wait_for_function(f"document.documentElement.dataset.theme === '{theme}'")
        page.resize(**size)
        faults += page.size_faults(size["width"]) + violations(page.page, ".at-x")
    page.resize(**WIDE)
    return faults


@pytest.mark.page
def test_law_a_reader_translates_opens_a_number_changes_the_sentence_and_shares_a_link(visitor, open_page):
    texts = [FRAME["sentence"], OTHER]
    translator = explorer_translator(FRAME["direction"])
    translated = dict(zip(texts, translator.translate(texts), strict=True))
    start_on_the_cover(visitor, translated)
    open_a_number(visitor)
    link = change_what_the_model_does(visitor)
    words = visitor.translation(), visitor.inner_text(".at-x-why"), visitor.inner_text(".at-x-notices")
    ask_twice(visitor, translated)
    visitor.focus("[data-key=play]")
    visitor.keyboard.press("ArrowRight")
    visitor.wait_for_function(f"{STATUS}.startsWith('Stop 1 of {len(STOPS)}: ')")
    compare_the_picture(visitor)
    assert look(visitor) == []
    visitor.get_by_label("German to English").focus()
    visitor.keyboard.press("Space")
    write(visitor, "Ich hoffe, dass du morgen kommen kannst.")
    eventually(visitor.translation, "I hope you can come tomorrow.")

    other = open_page(link, reduced_motion="reduce")
    other.focus(".at-x-go")
    other.keyboard.press("Enter")
    other.ready()
    assert (other.translation(), other.inner_text(".at-x-why"), other.inner_text(".at-x-notices")) == words
    assert other.url == link


@pytest.mark.page
def test_law_the_first_example_plays_before_a_model_is_loaded(open_page):
    faults: list[str] = []
    page = open_page().watched(faults)
    page.route("**/en-de.js", lambda route: None)  # it never arrives
    page.clock.install()
    page.goto("explorer.html")
    press(page, "play")
    drawn = 0
    for number, title in enumerate(STOPS, start=1):  # each stop is said, and shows more strips
        page.wait_for_function(f"{STATUS}.startsWith('Stop {number} of {len(STOPS)}: {title}. ')")
        assert page.locator(".at-x-drawn > svg").get_attribute("aria-label") == page.evaluate(STATUS)
        assert page.inner_text(".at-x-stop h3").endswith(title)
        hidden = page.locator(":checked + span > .at-x-unknown").count()
        assert hidden == (number <= STOPS.index("Softmax"))  # the word is not known before it is predicted
        strips = page.locator(".at-x-drawn [data-row]").count()
        assert strips >= drawn
        drawn = strips
        page.clock.run_for(5000)
    page.wait_for_function(f"{STATUS}.startsWith('Stop 1 of {len(STOPS)}: ')")
    assert "“morgen”" in page.evaluate(STATUS)  # the word that was made is what the next one begins with
    assert faults == []


@pytest.mark.page
def test_law_other_pages_load_nothing_of_the_explorer():
    for file in HTML.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        assert ("_static/explorer/" in text) == ("data-explorer=" in text), file
