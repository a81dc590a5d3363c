"""The explorer on a page without the book: what it loads by itself, what it warns of, and what it shares."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import lxml.etree
import pytest
from playwright.sync_api import Locator, Page

from annotated_transformer.book.explorer.int8 import explorer_translator
from annotated_transformer.book.results import read_result
from annotated_transformer.text.corpus import load_corpus
from builder.chapters import read_chapters
from builder.explorer import bundle, pack
from tests.explorer_pages import READY, ROOT, BookPage, eventually
from tests.serving import serving

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>x</title>
<figure data-explorer='{"view": "%s", "direction": "en-de"}'><figcaption></figcaption></figure>
<script src="_static/explorer/explorer.js"></script>"""
SAVING = 'Object.defineProperty(navigator, "connection", { value: { saveData: true } })'
SLOW = {"offline": False, "latency": 20, "downloadThroughput": 1e6, "uploadThroughput": 1e6}  # bytes a second
SIZE = bundle.model_size("en-de")
SENTENCES = bundle.EXAMPLES["en-de"]
HOPE, *_, WAIT = SENTENCES


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the explorer's files with a page like its own and one like a chapter."""
    folder = tmp_path_factory.mktemp("explorer")
    pack.write_weights(folder / "_static" / "explorer")
    script = bundle.explorer_script(dict.fromkeys(bundle.EXAMPLES, SIZE), read_chapters(ROOT))
    for name, text in {
        "_static/explorer/explorer.js": script,
        "explorer.html": PAGE % "all",
        "chapter.html": PAGE % "cross",
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    with serving(folder) as address:
        yield address


@pytest.fixture
def explorer(tab: Page, book: str) -> BookPage:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.goto(f"{book}explorer.html")
    return BookPage(tab)


def test_law_only_the_explorers_own_page_loads_a_model_unasked_and_not_where_data_are_saved(tab, book):
    def loaded(name: str) -> list[str]:
        asked: list[str] = []
        tab.on("request", lambda request: asked.append(Path(request.url).name))
        tab.goto(f"{book}{name}.html")
        tab.wait_for_load_state("networkidle")
        return [name for name in asked if name in ("engine.js", "en-de.js", "de-en.js")]

    assert float(SIZE.removesuffix(" MB")) < 5
    assert loaded("explorer") == ["engine.js", "en-de.js"]
    assert loaded("chapter") == []
    tab.add_init_script(SAVING)
    assert loaded("explorer") == []
    assert tab.inner_text(".at-x-go") == f"Translate ({SIZE})"


def test_law_a_bar_shows_what_has_arrived_and_a_sentence_written_meanwhile_is_translated(explorer):
    explorer.context.new_cdp_session(explorer.page).send("Network.emulateNetworkConditions", SLOW)
    explorer.reload()
    explorer.wait_for_function("document.querySelector('.at-x-loading progress')?.value > 1e6")
    assert f" of {SIZE}" in explorer.inner_text(".at-x-loading")
    explorer.fill(".at-x-field input", WAIT)
    explorer.keyboard.press("Enter")
    eventually(explorer.translation, SENTENCES[WAIT])
    assert explorer.is_hidden(".at-x-loading")


BEYOND_IT = {
    HOPE: "",
    "Where is 東京?": "Some characters of this sentence",
    "I know that he " + "said that she " * 12 + "left.": "hardly any has more than",
    "Ceci n'est pas une pipe.": "The model doubts this translation",
    "Das ist mein Haus.": "This sentence looks German, and the direction is English to German.",
}


def test_law_one_line_warns_of_a_sentence_that_leaves_what_the_model_knows(explorer):
    for sentence, words in BEYOND_IT.items():
        explorer.fill(".at-x-field input", sentence)
        explorer.keyboard.press("Enter")
        shown = f"text => location.hash.includes(new URLSearchParams({{ text }})) && {READY}"
        explorer.wait_for_function(shown, arg=sentence)
        lines = explorer.locator(".at-x-notices p").all_inner_texts()
        assert len(lines) == bool(words), sentence
        assert words in "".join(lines)
        column = explorer.locator(".at-x-read text")
        eventually(partial(_skips, column), words.startswith("hardly"))


def _skips(column: Locator) -> bool:
    return any(word.startswith("… ") for word in column.all_text_contents())


def test_law_what_is_shown_is_shared_as_a_link_and_as_a_picture_with_title_and_license(explorer):
    explorer.ready()
    explorer.click(".at-x-share summary")
    explorer.click("[data-key='copy link']")
    explorer.wait_for_selector(".at-x-share p:not(:empty)")
    assert explorer.evaluate("navigator.clipboard.readText()") == explorer.url
    files = {}
    for key in ("svg", "png"):
        with explorer.expect_download() as download:
            explorer.click(f"[data-key={key}]")
        files[key] = download.value.path().read_bytes()
    assert files["png"].startswith(b"\x89PNG")
    drawing = lxml.etree.fromstring(files["svg"])
    title, license_ = (drawing.findtext(f"{{*}}{name}") for name in ("title", "desc"))
    assert title == f"“{HOPE}” becomes “{SENTENCES[HOPE]}”"
    assert "CC BY 4.0; model trained on Tatoeba" in license_
    assert [text for text in drawing.itertext() if text in (title, license_)] == [title, license_] * 2
    texts = drawing.findall(".//{*}svg//{*}text")
    assert [text.text for text in texts if text.text and "textLength" not in text.attrib] == []
    values = [value for part in drawing.iter() for value in part.attrib.values()]
    shown = " ".join(value for value in values if not value.startswith("data:image/png;base64,"))
    assert not any(outside in shown for outside in ("//", "var(", "url("))


@pytest.mark.usefixtures("unchecked")
def test_oracle_the_limits_are_those_of_the_sentences_that_the_models_were_trained_on(shared_data):
    english = load_corpus("tatoeba", folder=shared_data)
    for direction, corpus in {"en-de": english, "de-en": english.reversed()}.items():
        translator, limits = explorer_translator(direction), bundle.limits()[direction]
        trained = [text for text, _ in corpus.splits["train"][::20]]  # all would take a minute
        lengths = map(len, translator.tokenizer.encode_source(trained))
        assert 0 < sum(length > limits["longest"] for length in lengths) < 2 * len(trained) / 1000
        known = [text for text, _ in corpus.splits["val"][:300]]
        beyond = [*read_result(f"weights_{direction}")["beyond"]][1:]
        doubted = [
            [one.log_prob / len(one.target_tokens) < limits["least"] for one in translator.explain(texts)]
            for texts in (known, beyond)
        ]
        assert 0 < sum(doubted[0]) < 0.04 * len(known)
        assert all(doubted[1])
