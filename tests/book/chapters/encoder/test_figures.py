"""The drawings of the chapter on the encoder show the given numbers."""

import pytest
import torch

from annotated_transformer.book.chapters.encoder import figures as figures
from tests.drawings import curves, texts

WORDS, FEATURES = ["not", "good"], ["neg.", "good", "bad", "open"]
X = torch.tensor([[1.0, -1, -1, 1], [-1, 1, -1, 1]])


def stop(station="add 1", **inputs):
    return figures.Stop(station, "Add", "2 × 4", inputs or {"x": X, "output": 2 * X}, 3 * X, "sum")


def test_law_a_bar_is_as_high_as_a_words_part_and_the_last_is_the_sum():
    reviews = {"plot not good": [0.5, -2.0, 0.25]}
    fig = figures.draw_contributions({"one": reviews, "two": reviews}, {"plot not good": -1}, unit=0.5)
    bars = fig.axes[0].patches
    assert [bar.get_height() for bar in bars] == [0.25, -1.0, 0.125, -0.625] * 2
    assert [bar.get_hatch() for bar in bars[:4]] == ["", "///", "", "///"]
    assert texts(fig).count("sum") == texts(fig).count("good") == 2
    ground, rating, *_ = curves(fig.axes[0])
    assert rating[0] - ground[0] == -0.5
    assert texts(fig).count("−3") == 2  # a scale for each review


def test_law_the_block_names_its_parts_and_the_shape_at_each_place():
    fig = figures.draw_encoder_block()
    written = texts(fig)
    assert written.count(figures.WIDE) == 6
    assert {"self-attention", "feed-forward", "positions", "$Q$", "$K$", "$V$", "$z$"} <= set(written)
    assert written.count("LayerNorm") == 2
    assert written.count("+") == 3


def test_law_a_stop_shows_what_arrives_and_what_leaves():
    written = texts(figures.draw_walk(stop(), words=WORDS, features=FEATURES))
    assert written.count("3") == 4
    assert written.count("−3") == 4
    assert written.count("2") == 4
    for name in ("x", "output", "sum"):
        assert name in written
    assert written.count("↓") == 1


def test_law_successive_stops_highlight_places_from_bottom_to_top():
    framed = []
    for name in figures.STATIONS[::3]:
        frame = figures.draw_walk(stop(name, x=X), words=WORDS, features=FEATURES)
        (edge,) = (patch for patch in frame.axes[0].patches if patch.get_zorder() == 6)
        framed.append(edge.get_y())
    assert framed == sorted(set(framed))


def test_law_the_stops_of_a_walk_are_those_of_a_layer_and_each_can_be_drawn():
    hidden, names = torch.ones(2, 3), ("x", "read", "a", "added", "z")
    stops = figures.list_stops(
        WORDS, weights=torch.eye(2), hidden=hidden, **{name: place * X for place, name in enumerate(names, 1)}
    )
    assert list(dict.fromkeys(each.station for each in stops)) == list(figures.STATIONS)
    drawn = [texts(figures.draw_walk(each, words=WORDS, features=FEATURES)) for each in stops]
    for place, shape in ((0, "2 × 4"), (1, "1 × 2 × 2"), (5, "2 × 3")):
        assert any(text.endswith(f"= {shape}") for text in drawn[place])
    assert torch.equal(stops[3].result, 3 * X)
    assert torch.equal(stops[7].result, 7 * X)


@pytest.mark.message
def test_message_a_station_that_a_layer_does_not_have():
    with pytest.raises(
        ValueError, match="has no station 'softmax'; it has x, attention, add 1, norm 1, feed"
    ):
        figures.draw_walk(stop("softmax"), words=WORDS, features=FEATURES)


def test_law_results_mark_each_seed_and_each_limit():
    accuracy, error = {"embeddings": [0.5, 0.6], "encoder": [1.0]}, {"embeddings": [3.0], "encoder": [0.1]}
    fig = figures.draw_results(accuracy, error, 0.75, (2.5, 2.0, 1.5))
    lines = [line for ax in fig.axes for line in ax.lines]
    marks = [list(line.get_xdata()) for line in lines if line.get_linestyle() == "None"]
    assert marks == [[0.5, 0.6], [1.0], [3.0], [0.1]]
    bars = [list(line.get_xdata()) for line in lines if line.get_linewidth() == 3]
    assert bars == [[0.75, 0.75], [2.5, 2.5], [2.0, 2.0], [1.5, 1.5]]


def test_law_probes_have_a_line_for_each_label():
    lines = {"own": [1.0, 1.0], "before": [0.2, 0.7], "after": [0.3, 0.72]}
    fig = figures.draw_probes({"one": lines, "two": lines}, labels=["0", "1"])
    assert [curves(ax) for ax in fig.axes] == [list(lines.values())] * 2
