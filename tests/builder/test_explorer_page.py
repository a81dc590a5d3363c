"""The explorer page, before the model is loaded and while it runs in the page."""

import gzip
import json
import pkgutil
import re
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup

from annotated_transformer.book.explorer import first_frame
from annotated_transformer.book.explorer.figure import VIEWS, show_explorer
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.inspection.heads import attention_maps
from annotated_transformer.text.batching import batch_of
from builder.chapters import read_chapters
from builder.explorer import bundle
from builder.explorer.frame_page import explorer_page
from builder.site.front.picture import LEAST
from tests.axe import violations
from tests.explorer_pages import (
    ADDRESS,
    DOCUMENTS,
    EXPLAINED,
    FRAME,
    HTML,
    LINK,
    NO,
    ROOT,
    SURE,
    TOUR,
    WIDE,
    eventually,
)

KINDS = bundle.kinds()
CHAPTERS = {chapter.number: chapter for chapter in read_chapters(ROOT)}
COVER_BUDGET = 350_000  # bytes sent before the first interaction: compressed, except fonts


# The page's statements about the package.


@pytest.mark.parametrize("kind", KINDS)
def test_law_each_kind_names_a_function_a_test_and_a_chapter_that_exist(kind: str):
    entry = KINDS[kind]
    assert callable(pkgutil.resolve_name(entry["function"]))
    file, test = entry["test"].split("::")
    assert f"\ndef {test}(" in (ROOT / file).read_text(encoding="utf-8")
    assert not CHAPTERS[entry["chapter"]].file or CHAPTERS[entry["chapter"]].file in DOCUMENTS


def test_law_the_tensor_kinds_match_those_of_the_engine():
    engine = (bundle.HERE / "engine" / "provenance.js").read_text(encoding="utf-8")
    (listed,) = re.findall(r"const KINDS = \{(.*?)\n\};", engine, re.DOTALL)
    assert set(KINDS) == set(re.findall(r"^  (\w+):", listed, re.MULTILINE))


def test_law_the_tour_has_a_step_for_each_chapter_from_2_to_13_and_ends_at_one_number():
    assert sorted(step["chapter"] for step in TOUR["steps"]) == list(range(2, 14))
    assert TOUR["steps"][-1]["part"] == "number"
    assert TOUR["text"] == first_frame.SENTENCE


def test_oracle_the_first_frame_is_what_the_model_computes():
    found = first_frame.first_frame()
    same = ("sentence", "text", "source", "target", "step", "direction")
    assert [found[name] for name in same] == [FRAME[name] for name in same]
    assert found["logProb"] == pytest.approx(FRAME["logProb"], abs=0.02)
    assert found["logProbs"] == pytest.approx(FRAME["logProbs"], abs=2e-3)
    assert np.array(found["attention"]) == pytest.approx(np.array(FRAME["attention"]), abs=2e-3)
    for row, committed in zip(found["top"], FRAME["top"], strict=True):
        assert row[0]["token"] == committed[0]["token"]
        shares, shown = ([entry["probability"] for entry in entries] for entries in (row, committed))
        assert shown == [round(share, 3) for share in shown]  # displayed numbers are rounded once
        assert shares == pytest.approx(shown, abs=2e-3)


def test_law_writing_the_first_frame_reproduces_the_committed_file(tmp_path, monkeypatch):
    monkeypatch.setattr(first_frame, "first_frame", lambda: dict(FRAME))
    first_frame.write_first_frame(tmp_path / "frame.json")
    assert (tmp_path / "frame.json").read_text("utf-8") == first_frame.FILE.read_text("utf-8")


def test_law_the_first_frame_can_be_read_without_a_script():
    page = BeautifulSoup(explorer_page(), "html.parser")
    assert page.select("button, input, [tabindex]") == []  # added by the script
    assert "type a sentence of your own" in page.noscript.get_text()
    words = [word.get_text() for word in page.select(".at-x-queries li")]
    assert words[FRAME["step"]].startswith("morgen attends to “tomorrow” 88%")
    assert words[2].startswith(", (comma) attends to")
    chosen = [word.get_text() for word in page.select(".at-x-bar-token") if "✓ written" in word.get_text()]
    assert chosen == ["morgen ✓ written"]
    assert page.select_one("h3").get_text() == "Why morgen?"
    assert page.select_one(".at-x-bar-number").get_text() == f"{100 * SURE:.1f}%"
    assert page.select_one("svg")["aria-hidden"] == "true"  # the words say what it shows
    assert page.find_all(string=re.compile("[0-9] %")) == []  # no break before a percent sign
    assert FRAME["sentence"] in page.get_text()


def test_law_a_curve_leads_from_its_key_to_its_query_and_is_as_wide_as_its_weight():
    paths = BeautifulSoup(explorer_page(), "html.parser").select("path")
    rows = {10 * query + 5: row for query, row in enumerate(FRAME["attention"])}
    lines = [(x, 10 * key + 5, w) for x, row in rows.items() for key, w in enumerate(row) if w >= LEAST]
    expected = {f"M0 {y}C50 {y} 50 {x} 100 {x}": 1 + 7 * weight for x, y, weight in lines}
    assert {path["d"]: float(path["stroke-width"]) for path in paths} == pytest.approx(expected, abs=0.051)
    assert len(paths) == len(expected)


@pytest.mark.parametrize("direction", bundle.DIFFERENT)
def test_law_examples_are_translated_right_and_searches_differ_where_the_page_says_so(direction: str):
    translator, text = Translator.from_pretrained(direction), bundle.DIFFERENT[direction]
    assert translator.translate([text], beam_size=4) != translator.translate([text])
    examples = bundle.EXAMPLES[direction]
    assert translator.translate([*examples]) == [*examples.values()]


def test_law_the_first_frame_names_its_own_languages_and_layer():
    tokens = [" I", " be", "gle", "<eos>"]
    other = {"direction": "de-en", "layer": 1, "step": 2, "target": {"ids": [1, 2, 3, 4], "tokens": tokens}}
    cut = {name: FRAME[name][:4] for name in ("attention", "top")}
    page = BeautifulSoup(explorer_page({**FRAME, **other, **cut}), "html.parser")
    heads = [head.get_text() for head in page.select(".at-x-stage > div > p")]
    assert heads == ["reads from German keys", "is writing English queries"]
    assert page.select_one(".at-x-translation q")["lang"] == "de"
    assert {found["lang"] for found in page.select(".at-x-why [lang]")} == {"en"}
    assert "(layer 2, mean of its heads)" in page.select_one(".at-x-why").get_text()
    words = [word.get_text() for word in page.select(".at-x-queries .at-x-word")]
    assert [word.split(" attends")[0] for word in words] == ["I", "be", "+gle", "end (end of sentence)"]
    assert page.select_one("h3").get_text() == "Why +gle?"


def kinds_of_maps(direction: str):
    """Yield the attention maps of the encoder and decoder for each example sentence of a direction."""
    translator = Translator.from_pretrained(direction)
    for sentence in (*bundle.EXAMPLES[direction], bundle.DIFFERENT[direction]):
        source = translator.encode([sentence]).ids[0]
        target, _, _ = first_frame.likeliest_tokens(translator, sentence)
        pair = source, [translator.model.config.bos_id, *target]
        with torch.no_grad():
            yield attention_maps(translator.model, batch_of([pair], [0]))


@pytest.mark.parametrize("direction", bundle.PRESETS)
def test_law_the_presets_show_what_their_titles_say(direction: str):
    """Of all heads, one attends most to the word before, and another gives one token most of its weight."""
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


@pytest.mark.parametrize(
    ("token", "place", "shown"),
    [(" be", 1, "be"), ("gle", 2, "+gle"), ("I", 0, "I"), (",", 2, ","), ("<eos>", 3, "end"), ("9", 1, "+9")],
)
def test_law_a_plus_marks_what_continues_a_word(token: str, place: int, shown: str):
    assert first_frame.plain(token, place) == shown


# Explorer figures in a chapter.


@pytest.mark.parametrize("view", VIEWS)
def test_law_a_figure_is_a_drawing_with_words_and_a_place_for_the_button(view: str):
    page = show_explorer(number="12.9", view=view, step=5)
    figure = BeautifulSoup(str(page._repr_html_()), "html.parser").figure
    options = json.loads(figure["data-explorer"])
    assert options["view"] == VIEWS[view]
    assert options["text"] == first_frame.SENTENCE
    assert figure["id"] == "figure-12-9"
    assert figure.select("button, script") == []
    drawing = unquote(figure.img["src"].partition(",")[2])
    assert "tomorrow" in drawing or view == "decoder"
    assert figure.img["alt"] in repr(page)
    assert len(str(page._repr_html_())) < 40_000
    assert not re.search(r"\d\.\d{3}", figure.get_text() + figure.img["alt"])  # rounded numbers only


@pytest.mark.message
@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"view": "all"}, "view='all' is not a view of the explorer; choose from encoder, cross-attention"),
        ({"step": 10}, r"step=10 is not a token of \['Ich', .*; choose one from 0 to 9"),
        ({"layer": 4}, "layer=4, head=None is not a place in 4 layers of 5 heads; count both from 0"),
        ({"head": 5}, "layer=3, head=5 is not a place in 4 layers of 5 heads"),
    ],
)
def test_message_a_figure_of_an_unknown_view_step_layer_or_head(wrong: dict[str, object], sentence: str):
    with pytest.raises(ValueError, match=sentence):
        show_explorer(number="12.9", **wrong)


# The page in a browser.


@pytest.mark.page
def test_law_other_pages_load_nothing_of_the_explorer():
    for file in HTML.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        assert ("_static/explorer/" in text) == ("data-explorer=" in text), file
    assert "_static/explorer/" in (HTML / "explorer.html").read_text(encoding="utf-8")


def sent(file: Path) -> int:
    packed = file.suffix.startswith(".woff")
    return file.stat().st_size if packed else len(gzip.compress(file.read_bytes()))


@pytest.mark.page
def test_law_the_cover_leads_to_the_explorer_and_stays_small(open_page):
    page = open_page()
    sizes: dict[str, int] = {}

    def weigh(request) -> None:
        file = HTML / request.url.split("?")[0].partition("/html/")[2]
        sizes[file.name] = sent(file) if file.is_file() else 0

    page.on("request", weigh)
    page.goto((HTML / "index.html").as_uri())
    page.wait_for_load_state("load")
    assert not {"explorer.js", "engine.js", "en-de.js"} & set(sizes)
    assert 100_000 < sum(sizes.values()) <= COVER_BUDGET, sizes
    page.locator("button.at-alignment-word").nth(7).click()
    page.click(".at-alignment-more a")
    page.wait_for_selector(".at-x-go")
    assert "Why kannst?" in page.why()  # the word selected on the cover
    assert page.locator(".at-x-stale").count() == 0


@pytest.mark.page
def test_law_each_direction_loads_its_own_model_when_its_button_is_pressed(open_page):
    faults: list[str] = []
    asked: list[str] = []
    page = open_page(reduced_motion="reduce").watched(faults, fonts=True)
    page.on("request", lambda request: asked.append(Path(request.url.split("?")[0]).name))
    page.goto("explorer.html")
    size = (HTML / "_static" / "explorer" / "en-de.js").stat().st_size
    assert page.inner_text(".at-x-go") == f"Translate ({size / 1e6:.1f} MB)"
    assert {"engine.js", "en-de.js", "de-en.js"} & set(asked) == set()
    page.translate()
    assert page.translation() == FRAME["text"]
    assert {"engine.js", "en-de.js", "de-en.js"} & set(asked) == {"engine.js", "en-de.js"}
    page.get_by_label("German to English").focus()
    page.keyboard.press("Space")
    page.fill(".at-x-field input", "Ich hoffe, dass du morgen kommen kannst.")
    page.translate()
    eventually(page.translation, "I hope you can come tomorrow.")
    assert faults == []


@pytest.mark.page
def test_law_a_link_keeps_the_whole_state(fresh, visitor):
    more = "&prefix=491&forced=0&ablated=encoder.0.2_cross.3.1&layer=2&head=4&step=3"
    number = "decoder.layers.2.cross_attention.value", "4.2.30"
    state = f"{LINK}{more}&tensor={number[0]}&at={number[1]}"
    fresh.explain(*number, more=more)
    assert fresh.evaluate("location.hash") == state
    visitor.goto(ADDRESS + state)
    assert "Your link holds a sentence" in visitor.inner_text(".at-x-note")
    shown = "Below is still the translation of “I hope that you can come tomorrow.”. Press"
    assert visitor.inner_text(".at-x-form + .at-x-note") == f"{shown} Translate to update it."
    visitor.translate()
    visitor.wait_for_selector(EXPLAINED)
    assert visitor.evaluate("location.hash") == state
    for part in (".at-x-stage", ".at-x-why", ".at-x-off", ".at-x-number"):
        assert visitor.locator(part).text_content() == fresh.locator(part).text_content()
    changed = "In this translation: 2 heads off, with your forced token."
    assert changed in visitor.inner_text(".at-x-heat-head")
    visitor.evaluate("() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; }")
    visitor.click("[data-key=share]")
    visitor.locator(".at-x-share", has_text="Link copied.").wait_for()
    assert visitor.evaluate("copied") == visitor.url
    visitor.evaluate("() => { navigator.clipboard.writeText = async () => { throw Error('no'); }; }")
    visitor.click("[data-key=share]")
    visitor.locator(".at-x-share", has_text="Copy the address").wait_for()
    visitor.click("[data-key='back home']")
    assert visitor.focused() == "query 3"
    visitor.goto("about:blank")
    visitor.goto(ADDRESS + state)  # after the first visit, the model is loaded immediately
    visitor.ready()
    visitor.wait_for_selector(EXPLAINED)
    assert visitor.evaluate("location.hash") == state


@pytest.mark.page
def test_law_the_running_page_is_accessible_and_fits_a_phone(fresh):
    changed = "&prefix=491&ablated=cross.3.0"
    fresh.explain("decoder.layers.0.self_attention.scores", "1.1.1", more=changed)
    fresh.open_sections()
    fresh.click("[data-key=tour]")
    fresh.tour_says(1)
    fresh.explain("encoder.positions", "1.1", more=changed)
    try:
        for theme, width in (("light", 1280), ("dark", 360)):
            fresh.emulate_media(color_scheme=theme)
            fresh.wait_for_function(f"document.documentElement.dataset.theme === '{theme}'")
            fresh.resize(width=width, height=800)
            assert fresh.size_faults(width) + violations(fresh, ".at-x") == [], theme
            assert fresh.locator(".at-x-stage svg").evaluate("x => x.getBoundingClientRect().width") >= 72
    finally:
        fresh.click("[data-key=end]")
        fresh.emulate_media(color_scheme="light")
        fresh.resize(**WIDE)


@pytest.mark.page
def test_law_a_superseded_translation_is_no_longer_drawn(moving, faults: list[str]):
    moving.evaluate(  # the test decides when one pause between two tokens ends
        """() => {
          const { setTimeout } = window;
          window.setTimeout = (call, pause) => {
            if (pause !== 45 || window.held) return setTimeout(call, pause);
            window.held = call;
          };
          window.mend = () => { window.setTimeout = setTimeout; };
        }"""
    )
    moving.go("#x")
    moving.fill(".at-x-field input", "If it rains tomorrow, we will stay at home and read an old book.")
    moving.keyboard.press("Enter")
    moving.wait_for_function("Boolean(window.held)")
    moving.go("#direction=en-de&text=No.")
    moving.evaluate("held()")  # the superseded translation resumes
    moving.settle()
    moving.evaluate("mend()")
    assert moving.locator(".at-x-queries li button").count() == moving.locator(".at-x-queries li").count() > 0
    assert moving.translation() == NO
    assert faults == []


@pytest.mark.page
def test_law_what_is_shown_before_a_translation_is_complete_belongs_to_the_previous_one(moving):
    moving.evaluate(
        """() => {
          window.keys = new Set();
          window.growing = new Set();
          const opacity = (part) => Number(getComputedStyle(document.querySelector(part)).opacity);
          new MutationObserver(() => {
            keys.add(document.querySelector(".at-x-keys").textContent);
            if (document.querySelector(".at-x-queries button")) return;
            const parts = [".at-x-main", ".at-x-stage", ".at-x-main .at-x-translation", ".at-x-why"];
            growing.add(parts.map(opacity).join(" "));
          }).observe(document.querySelector(".at-x-stage"), { childList: true });
        }"""
    )
    moving.go("#direction=en-de&text=constructor")  # a word that is the name of a JavaScript property
    assert moving.evaluate("[...growing]") == ["1 1 0.4 0.4"]  # the columns are already new
    assert "Englishconstructor" in (keys := moving.evaluate("[...keys]"))
    assert not [text for text in keys if "function" in text]


@pytest.mark.page
def test_law_an_engine_that_stopped_is_started_again(visitor):
    visitor.add_init_script(
        """window.started = [];
        window.Worker = class extends Worker {
          constructor(...address) {
            super(...address);
            started.push(this);
          }
        };"""
    )
    visitor.goto(ADDRESS)
    visitor.translate()
    visitor.evaluate("started[0].dispatchEvent(new ErrorEvent('error', { message: 'out of memory' }))")
    visitor.click("[data-key='the sink']")  # redraws the button
    visitor.click(".at-x-go")
    visitor.wait_for_function("started.length === 2")
    visitor.ready()
    assert visitor.translation() == FRAME["text"]
    assert visitor.locator("script[src*='engine.js']").count() == 1


FIGURES = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Figures</title>
<link rel="stylesheet" href="{root}_static/explorer/explorer.css"></head><body><main>{figures}</main>
<script src="{root}_static/explorer/explorer.js"></script></body></html>"""


@pytest.mark.page
def test_law_figures_of_a_chapter_come_to_life(visitor, tmp_path: Path):
    figures = [show_explorer(number=f"12.{i}", view=view, step=5) for i, view in enumerate(VIEWS, start=1)]
    text = FIGURES.format(root=f"{HTML.as_uri()}/", figures="".join(str(f._repr_html_()) for f in figures))
    (tmp_path / "figures.html").write_text(text, encoding="utf-8")
    visitor.goto((tmp_path / "figures.html").as_uri())
    buttons = visitor.get_by_role("button", name="Run this model in the page")
    assert buttons.count() == 3
    for number in range(3):
        buttons.first.click()
        there = f"document.querySelectorAll('.at-x-stage').length === {number + 1}"
        visitor.wait_for_function(there, timeout=60_000)
    assert visitor.locator("figure img").count() == 0
    assert visitor.locator("figure figcaption").count() == 0  # they describe the drawings
    heads = visitor.eval_on_selector_all(".at-x-stage > div > p", "all => all.map(x => x.textContent)")
    read = [f"reads from {language} keys" for language in ("English", "English", "German")]
    wrote = ["reads English queries", "is writing German queries", "is writing German queries"]
    assert heads == [words for pair in zip(read, wrote, strict=True) for words in pair]
    assert visitor.locator(".at-x-why").nth(1).inner_text().startswith("◀")
    link = visitor.locator(".at-x a", has_text="Open this in the explorer").nth(1).get_attribute("href")
    assert "explorer.html#direction=en-de" in str(link)
    assert visitor.evaluate("location.hash") == ""  # only the explorer page updates its URL


@pytest.mark.page
def test_law_tables_have_captions_and_print_hides_actions_but_no_content(fresh):
    fresh.explain("logits", "5.1248", more="&prefix=491&forced=0&ablated=cross.3.0")
    operands = fresh.locator(".at-x-sum button")
    assert operands.count() > 3
    fresh.open_sections()
    fresh.compare()
    assert fresh.locator(".at-x table").count() == fresh.locator(".at-x table caption").count() == 3
    for formula in fresh.locator(".at-x-formula, .bd-article table .math").all():
        box = formula.evaluate("x => [getComputedStyle(x).overflowY, x.scrollHeight - x.clientHeight]")
        assert box[0] in ("hidden", "visible"), box
        assert box[1] <= 0, box
    keys = [f"[data-key='{key}']" for key in ("undo", "switch on", "all on", "to heads")]
    fresh.locator(".at-x-searches").evaluate("part => { part.closest('details').open = false; }")
    closed = ".at-x-section:not([open]) summary"
    help_ = ".at-x-main .at-x-help"  # closed: its summary alone would be empty
    places = (".at-x-form", ".at-x-opener", ".at-x-choose", ".at-x-steps", closed, help_, *keys)
    hidden = [fresh.locator(place).first for place in places]
    for action in hidden:
        assert action.is_visible()
    fresh.emulate_media(media="print")
    try:
        for action in hidden:
            action.wait_for(state="hidden")
        for shown in (*operands.all(), fresh.locator(".at-x-stage")):
            assert shown.is_visible()
        assert fresh.locator(".at-x-kind button", has_text="Layer 4").first.is_visible()  # its row's label
        assert "To test what matters" not in fresh.why()
        assert "The five likeliest next tokens\n" in fresh.why()
    finally:
        fresh.emulate_media(media="screen")
