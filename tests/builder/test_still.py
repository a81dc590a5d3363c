"""The explorer's drawings in chapters: drawn by its scripts, kept, and drawn again when something changes."""

import copy
import re
from xml.etree import ElementTree

import pytest
from nbformat import from_dict
from nbformat.v4 import new_code_cell, new_output

from annotated_transformer.book.explorer import kept
from annotated_transformer.book.explorer.figure import show_explorer, show_heat, show_way
from annotated_transformer.book.explorer.frame import model_frame
from builder.chapters import ROOT, written
from builder.explorer import poster, still
from tests import browser

FIGURES = {
    "curves": lambda: show_explorer("1.1", view="decoder", step=5),
    "heat": lambda: show_heat("1.1", "decoder.layers.0.self_attention.scores", step=5),
    "way": lambda: show_way("1.1", "cross-attention"),
}


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "DRAWN", tmp_path)


def executed(figure):
    """Return a cell that shows a figure."""
    metadata = copy.deepcopy(figure._metadata)
    data = {"text/html": figure._repr_html_()}
    return new_code_cell(outputs=[new_output("display_data", data, metadata=from_dict(metadata))])


def html(cell):
    return cell.outputs[0].data["text/html"]


@pytest.mark.parametrize("shown", FIGURES)
def test_law_a_figure_is_drawn_when_it_is_new_or_its_numbers_change_and_keeps_its_words(
    shown, drawn, chromium, monkeypatch
):
    figure = FIGURES[shown]()
    assert kept.NONE in figure._repr_html_()
    cell = executed(figure)
    assert list(still.refresh([cell], redraw=True)) == []
    assert "drawing" not in cell.outputs[0].metadata
    assert html(cell).count("<img") == 2
    assert kept.NONE not in html(cell)
    words = "".join(re.findall(">([^<>]+)<", kept.committed("1.1")["wide"]))
    assert "tomorrow" in words or "morgen" in words
    assert "var(--at-" in kept.committed("1.1")["narrow"]

    # Without a browser, the old one stays, and says that the numbers differ.
    monkeypatch.setattr(browser, "find", lambda: None)
    other = executed(figure)
    other.outputs[0].metadata["drawing"]["state"]["layer"] = 2
    assert list(still.refresh([other], redraw=True)) == ["1.1"]
    assert kept.DIFFERS in html(other)
    assert html(other).replace(f"<p>{kept.DIFFERS}</p>", "") == html(cell)


def test_law_rounding_is_no_difference_and_what_one_sees_is():
    request = show_way("1.1", "cross-attention")._metadata["drawing"]
    near, far, strip = (copy.deepcopy(request) for _ in range(3))
    near["result"]["attention"][5][0] += 1e-4
    far["result"]["attention"][5][0] += 0.1
    name, rows = next(iter(strip["result"]["strips"].items()))
    strip["result"]["strips"][name] = rows[:100] + rows[104:108] + rows[104:]
    assert kept.look_alike(request, near)
    assert not kept.look_alike(request, far)
    assert not kept.look_alike(request, strip)


def test_oracle_weights_are_the_softmax_of_scores_and_a_mask_hides_what_comes_later():
    frame = model_frame()
    scores = frame.tensors["decoder.layers.0.self_attention.scores"]
    assert scores.softmax(dim=-1).allclose(
        frame.tensors["decoder.layers.0.self_attention.weights"], atol=1e-6
    )
    assert (scores.isinf() == scores.new_ones(scores.shape).triu(1).bool()).all()


def test_law_each_kept_drawing_is_that_of_a_figure():
    sources = "".join(path.read_text("utf-8") for path in written(ROOT))
    shown = re.findall(r'show_(?:explorer|heat|way)\(\s*"([\d.]+)"', sources)
    assert sorted(path.stem for path in kept.DRAWN.glob("*.json")) == sorted(shown)


def test_law_the_poster_is_what_its_scripts_draw_of_the_models_numbers(chromium):
    request = poster.numbers()
    assert not poster.poster_is_stale(request), "run make poster"
    committed, drawn = poster.SVG.read_text(encoding="utf-8"), poster.draw_poster(request)
    assert ElementTree.fromstring(committed).get("width") == "297mm"
    assert re.findall(">([^<>]+)</text>", drawn) == re.findall(">([^<>]+)</text>", committed)
    assert min(map(float, re.findall(r"font-size: ([\d.]+)px", drawn))) >= 12  # points of A3
    request["weights"]["decoder.layers.3.cross_attention"][0][0][0] += 0.1
    assert poster.poster_is_stale(request)
