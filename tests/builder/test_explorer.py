"""The explorer: what its page says is true, and a reader's journey through it with the real model."""

import json
import pkgutil
from pathlib import Path

import numpy as np
import pytest
import torch

from annotated_transformer.book.explorer import first_frame
from annotated_transformer.book.explorer.figure import show_explorer
from annotated_transformer.book.explorer.int8 import explorer_translator
from annotated_transformer.inspection.heads import attention_maps
from annotated_transformer.text.batching import batch_of
from builder.chapters import read_chapters
from builder.explorer import bundle
from builder.site.front import cover_data
from tests.axe import violations
from tests.explorer_pages import DOCUMENTS, HTML, PHONE, ROOT, WIDE, BookPage, eventually

KINDS = bundle.kinds()
FRAME = json.loads(first_frame.FILE.read_text(encoding="utf-8"))
TOUR = json.loads((bundle.HERE / "tour.json").read_text(encoding="utf-8"))


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
    found = first_frame.first_frame()
    same = ("sentence", "text", "source", "target", "step", "direction")
    assert [found[name] for name in same] == [FRAME[name] for name in same]
    assert found["logProb"] == pytest.approx(FRAME["logProb"], abs=0.02)
    assert np.array(found["attention"]) == pytest.approx(np.array(FRAME["attention"]), abs=2e-3)
    for row, committed in zip(found["top"], FRAME["top"], strict=True):
        assert row[0]["token"] == committed[0]["token"]
        shares, shown = ([entry["probability"] for entry in entries] for entries in (row, committed))
        assert shares == pytest.approx(shown, abs=2e-3)


def kinds_of_maps(direction: str):
    """Yield the attention maps of the encoder and decoder for each example sentence of a direction."""
    translator = explorer_translator(direction)
    for sentence in bundle.EXAMPLES[direction]:
        source = translator.encode([sentence]).ids[0]
        target, _, _ = first_frame.likeliest_tokens(translator, sentence)
        pair = source, [translator.model.config.bos_id, *target]
        with torch.no_grad():
            yield attention_maps(translator.model, batch_of([pair], [0]))


@pytest.mark.parametrize("direction", bundle.PRESETS)
def test_law_examples_are_translated_right_and_presets_show_what_their_titles_say(direction):
    examples = bundle.EXAMPLES[direction]
    assert explorer_translator(direction).translate([*examples]) == [*examples.values()]
    before, sink = [], []
    for maps in kinds_of_maps(direction):
        previous = {kind: maps[kind][0].diagonal(-1, 2, 3).mean(-1) for kind in ("encoder", "decoder")}
        before.append(torch.stack([previous["encoder"], previous["decoder"]]))
        sink.append(maps["decoder"][0][:, :, 1:, 0].mean(-1))
    looks, sinks = (torch.stack(found).mean(0) for found in (before, sink))
    _, second, third = bundle.PRESETS[direction]
    assert (second["title"], third["title"]) == ("the word before", "the sink")
    place = ("encoder", "decoder").index(second["view"]), second["layer"], second["head"]
    assert looks[place] == looks.max() > 0.35
    assert sinks[third["layer"], third["head"]] == sinks.max() > 0.75


@pytest.mark.message
@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"view": "all"}, "view='all' is not a view of the explorer; choose from encoder, cross-attention"),
        ({"step": 10}, r"step=10 is not a token of \['Ich', .*; choose one from 0 to 9"),
        ({"layer": 4}, "layer=4, head=None is not a place in 4 layers of 5 heads; count both from 0"),
    ],
)
def test_message_a_figure_of_an_unknown_view_step_layer_or_head(wrong: dict[str, object], sentence: str):
    with pytest.raises(ValueError, match=sentence):
        show_explorer(number="12.9", **wrong)


# A reader's journey, with the real model and by keyboard.

OTHER = "The old man did not want to sell his house."
MODEL = {"explorer.js", "explorer.css", "engine.js", "en-de.js"}  # what the first button loads
EXPLAINED = ".at-x-number:not([aria-busy=true]) .at-x-same"  # not still that of the previous number
DELAYED = """() => {
  const { prototype } = EngineClient;
  const own = prototype.translate;
  const opened = new Promise((open) => { window.answer = open; });
  prototype.translate = async function (...given) { await opened; return own.apply(this, given); };
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
    assert page.translation() == translated[cover_data.SENTENCE] == FRAME["text"]
    write(page, OTHER)
    eventually(page.translation, translated[OTHER])
    page.click(".at-alignment .at-x-label a")
    page.wait_for_url(lambda url: url.partition("#")[0].endswith("explorer.html"))
    assert page.input_value(".at-x-field input") == OTHER
    page.ready()  # without another button: this model is already loaded
    assert page.translation() == translated[OTHER]


def open_a_number(page: BookPage) -> None:
    """Open the probability of a token, and what it is computed from; each is the result of its operands."""
    press(page, "why number")
    page.wait_for_selector(EXPLAINED)
    probability = page.inner_text(".at-x-number h4 b")
    page.locator(".at-x-sum button").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash.includes('tensor=logits')")
    page.wait_for_selector(EXPLAINED)
    shown = page.inner_text(".at-x-number h4 b")
    assert page.inner_text(".at-x-same b") == shown != probability
    lines = page.locator(".at-x-sum tr:not(.at-x-total) > :last-child").all_inner_texts()
    assert sum(map(as_number, lines)) == pytest.approx(as_number(shown), rel=1e-2, abs=5e-3)
    assert page.locator(".at-x-number .at-x-formula mjx-container").count() == 1
    page.focus(".at-x-grid [aria-selected=true]")
    page.keyboard.press("Home")
    page.wait_for_function("location.hash.endsWith('.0')")
    page.go_back()
    page.wait_for_function("!location.hash.includes('tensor=logits')")


def change_what_the_model_does(page: BookPage) -> str:
    """Force another token and switch a head off; return the address of the result."""
    token = page.locator(".at-x-option[aria-pressed=false]").first
    forced = str(token.get_attribute("data-key"))
    press(page, forced)
    page.wait_for_selector("[data-key=undo]")
    page.ready()
    assert f"prefix={forced.split()[1]}&forced=0" in page.url
    press(page, "break")
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
    page.evaluate(
        """text => {
          document.querySelector(".at-x-field input").value = text;
          document.querySelector(".at-x-form").requestSubmit();
          answer();
        }""",
        OTHER,
    )
    eventually(page.translation, translated[OTHER])
    page.ready()
    page.wait_for_function("!location.hash.includes('forced')")
    assert "text=The+old+man" in page.url


def take_the_tour(page: BookPage) -> None:
    press(page, "tour")
    status = "document.querySelector('.at-x [role=status]').textContent"
    for number in range(1, len(TOUR["steps"]) + 1):
        page.wait_for_function(f"{status}.startsWith('{number} of {len(TOUR['steps'])}: ')")
        page.keyboard.press("Enter")  # the focus is on "Next"
    page.keyboard.press("Escape")
    page.locator(".at-x-tour").wait_for(state="hidden")
    assert page.input_value(".at-x-field input") == OTHER  # as before the tour


def look(page: BookPage) -> list[str]:
    """Return the faults of the page with all sections open, light and wide, and dark on a phone."""
    page.locator(".at-x-section").evaluate_all("all => all.forEach(part => { part.open = true; })")
    found: list[str] = []
    for theme, size in (("light", WIDE), ("dark", PHONE)):
        page.emulate_media(color_scheme=theme)
        page.wait_for_function(f"document.documentElement.dataset.theme === '{theme}'")
        page.resize(**size)
        found += page.size_faults(size["width"]) + violations(page.page, ".at-x")
    page.resize(**WIDE)
    return found


@pytest.mark.page
def test_law_a_reader_translates_opens_a_number_changes_the_sentence_and_shares_a_link(visitor, open_page):
    texts = [cover_data.SENTENCE, OTHER]
    translator = explorer_translator(cover_data.MODEL)
    translated = dict(zip(texts, translator.translate(texts), strict=True))
    start_on_the_cover(visitor, translated)
    open_a_number(visitor)
    link = change_what_the_model_does(visitor)
    shown = visitor.translation(), visitor.inner_text(".at-x-why"), visitor.inner_text(".at-x-notices")
    ask_twice(visitor, translated)
    take_the_tour(visitor)
    assert look(visitor) == []
    visitor.get_by_label("German to English").focus()
    visitor.keyboard.press("Space")
    write(visitor, "Ich hoffe, dass du morgen kommen kannst.")
    eventually(visitor.translation, "I hope you can come tomorrow.")

    other = open_page(link, reduced_motion="reduce")
    other.focus(".at-x-go")
    other.keyboard.press("Enter")
    other.ready()
    assert (other.translation(), other.inner_text(".at-x-why"), other.inner_text(".at-x-notices")) == shown
    assert other.url == link


@pytest.mark.page
def test_law_other_pages_load_nothing_of_the_explorer():
    for file in HTML.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        assert ("_static/explorer/" in text) == ("data-explorer=" in text), file
