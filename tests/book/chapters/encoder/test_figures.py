"""The drawings of the chapter on the encoder show the given numbers."""

import pytest
import torch

from annotated_transformer.book.chapters.encoder import figures as figures
from tests.drawings import texts

WORDS, FEATURES = ["not", "good"], ["neg.", "good", "bad", "open"]
X = torch.tensor([[1.0, -1, -1, 1], [-1, 1, -1, 1]])


def stop(station="add 1", **inputs):
    return figures.Stop(station, "Add", "2 × 4", inputs or {"x": X, "output": 2 * X}, 3 * X, "sum")


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


def test_law_the_stops_of_a_walk_are_those_of_a_layer():
    hidden, names = torch.ones(2, 3), ("x", "read", "a", "added", "z")
    stops = figures.list_stops(
        WORDS, weights=torch.eye(2), hidden=hidden, **{name: place * X for place, name in enumerate(names, 1)}
    )
    assert list(dict.fromkeys(each.station for each in stops)) == list(figures.STATIONS)
    for place, shape in ((0, "2 × 4"), (1, "1 × 2 × 2"), (5, "2 × 3")):
        drawn = texts(figures.draw_walk(stops[place], words=WORDS, features=FEATURES))
        assert any(text.endswith(f"= {shape}") for text in drawn)
    assert torch.equal(stops[3].result, 3 * X)
    assert torch.equal(stops[7].result, 7 * X)


@pytest.mark.message
def test_message_a_station_that_a_layer_does_not_have():
    with pytest.raises(
        ValueError, match="has no station 'softmax'; it has x, attention, add 1, norm 1, feed"
    ):
        figures.draw_walk(stop("softmax"), words=WORDS, features=FEATURES)
