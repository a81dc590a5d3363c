"""The drawings of the chapter on the Transformer show the given words, shapes, and numbers."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from annotated_transformer.book import transformer_figures as figures
from annotated_transformer.book.figures import svg
from annotated_transformer.book.palette import FIRST, INK, SECOND


def texts(fig):
    """Return the text of a drawing, in order."""
    return [text.get_text() for ax in fig.axes for text in ax.texts]


def arrows(fig):
    """Return the start and the end of each arrow of a drawing."""
    return [
        tuple(tuple(point.round(2).tolist()) for point in patch.get_path().vertices[[0, 2]])
        for patch in fig.axes[0].patches
        if isinstance(patch, FancyArrowPatch)
    ]


def test_law_the_model_has_five_sublayers_five_norms_and_one_matrix_at_three_places():
    fig = figures.draw_transformer()
    found = texts(fig)
    assert found.count("Add & Norm") == 5
    assert found.count("$Q$ $K$ $V$") == 2  # the two self-attention layers
    assert found.count("masked") == 1
    assert [found.count(part) for part in ("$Q$", "$K$ $V$", "$z$", "+")] == [1, 1, 1, 2]
    weights = [
        r"$h \times n_\mathrm{src} \times n_\mathrm{src}$",
        r"$h \times n_\mathrm{tgt} \times n_\mathrm{tgt}$",
        r"$h \times n_\mathrm{tgt} \times n_\mathrm{src}$",
    ]
    assert [text for text in found if "$h" in text] == weights
    inside = found.index(weights[2])
    assert found[inside - 1] == "cross-attention"
    boxes = [patch for patch in fig.axes[0].patches if isinstance(patch, FancyBboxPatch)]
    assert sum(box.get_edgecolor() == to_rgba(FIRST) for box in boxes) == 4  # with the key
    svg(fig)


def test_law_the_keys_and_values_reach_cross_attention_without_crossing_another_line():
    fig = figures.draw_transformer()
    lines = [np.asarray(line.get_xydata()) for line in fig.axes[0].lines if line.get_color() == INK]
    ((start, end),) = [(a, b) for a, b in arrows(fig) if a[0] != b[0] and a[0] == 6.95]
    (box,) = [text for text in fig.axes[0].texts if text.get_text() == "cross-attention"]
    assert start[1] == end[1] == pytest.approx(box.get_position()[1], abs=0.5)
    boxes = [patch for patch in fig.axes[0].patches if isinstance(patch, FancyBboxPatch)]
    sides = [(patch.get_x(), patch.get_y() + patch.get_height() / 2) for patch in boxes]
    assert any(side == pytest.approx(end, abs=0.25) for side in sides)
    for points in lines:
        for (x_1, y_1), (x_2, y_2) in pairwise(points):
            across = min(x_1, x_2) <= end[0] and max(x_1, x_2) >= start[0]
            assert not (across and min(y_1, y_2) <= start[1] <= max(y_1, y_2))


def test_law_the_output_of_each_step_feeds_the_next_and_each_step_reads_z():
    fig = figures.draw_encoding_decoding(["Hund", "</s>"], ["a", "dog", "</s>"])
    found = texts(fig)
    assert {"2 tokens", "3 times", "<s>", "a", "dog", "</s>", "$z$"} <= set(found)
    assert found.count("decoder") == 3
    heights = {round(text.get_position()[1], 2) for text in fig.axes[0].texts if text.get_text() == "decoder"}
    from_z = [(start, end) for start, end in arrows(fig) if start[0] == 4.6]
    assert {end[1] for _, end in from_z} == heights
    line = min(fig.axes[0].lines, key=lambda line: float(np.asarray(line.get_xdata())[0]))
    assert line.get_ydata()[-1] == pytest.approx(min(heights), abs=0.01)
    assert sum(start[0] == 10.2 for start, _ in arrows(fig)) == 3  # the start token and two output tokens
    svg(fig)


STOPS = [
    figures.RouteStop("ids", "source", "2", [["7"], ["2"]], ["Hund", "</s>"], note="integers"),
    figures.RouteStop(
        "masked", "target", "3 × 2 × 2", [[1.0, 0.0], [0.3, 0.7]], ["<s>", "dog"], ["<s>", "dog"]
    ),
    figures.RouteStop(
        "cross", "target", "3 × 2 × 3", [[0.1, 0.2, 0.7]] * 2, ["<s>", "dog"], ["Der", "Hund", "."]
    ),
]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_law_a_stop_is_lit_and_shows_its_shape(place):
    fig = figures.draw_route(STOPS, place)
    bold = [text.get_text() for text in fig.axes[0].texts if text.get_weight() == "bold"]
    assert bold == [STOPS[place].name, STOPS[place].shape]
    lit = [patch for patch in fig.axes[0].patches if patch.get_linewidth() == 3]
    assert [patch.get_edgecolor() for patch in lit] == [to_rgba(INK)]
    assert lit[0].get_y() == pytest.approx(0.14 + 1.05 * place)
    assert ("7" in texts(fig)) is (place == 0)
    assert len(fig.axes) == (1 if place == 0 else 2)
    svg(fig)


@pytest.mark.parametrize(("place", "hidden"), [(1, 1), (2, 0)])
def test_law_weights_are_drawn_as_a_map_with_the_future_hatched(place, hidden):
    ax = figures.draw_route(STOPS, place).axes[1]
    assert [label.get_text() for label in ax.get_xticklabels()] == list(STOPS[place].columns)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(STOPS[place].rows)
    assert sum(patch.get_hatch() is not None for patch in ax.patches) == hidden


def test_law_the_shares_of_a_model_are_percents_of_its_sum():
    fig = figures.draw_budget({"Base": {"a": 2, "b": 2}, "Small": {"a": 500, "b": 498, "c": 2}})
    widths = [[patch.get_width() for patch in ax.patches] for ax in fig.axes]
    assert widths == [pytest.approx([50, 50]), pytest.approx([50, 49.8, 0.2])]
    assert texts(fig) == ["50%", "50%", "50%", "50%", "<1%"]
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["Base", "Small"]
    svg(fig)


def test_law_an_interval_that_misses_the_common_part_is_hatched():
    rows = {"one": (39_000, 42_000), "two": (41_000, 43_000), "far": (35_000, 36_000)}
    fig = figures.draw_intervals(rows, common=(41_000, 42_000), marks={"37,000": 37_000})
    (ax,) = fig.axes
    bars = [patch for patch in ax.patches if isinstance(patch, Rectangle)][:3]
    assert [(bar.get_x(), bar.get_width()) for bar in bars] == [(39, 3), (41, 2), (35, 1)]
    assert [bar.get_hatch() or "" for bar in bars] == ["", "", "///"]
    assert bars[2].get_facecolor() == to_rgba(SECOND)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(rows)
    assert "37,000" in texts(fig)
    svg(fig)
