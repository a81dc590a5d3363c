"""The drawings of the chapter on the Transformer show the given words, shapes, and numbers."""

import pytest
import torch
from matplotlib.patches import FancyArrowPatch

from annotated_transformer.book.chapters.transformer import figures as figures
from tests.drawings import bold, texts


def test_law_the_output_of_each_step_feeds_the_next_and_each_step_reads_z():
    fig = figures.draw_encoding_decoding(["Hund", "</s>"], ["a", "dog", "</s>"])
    found = texts(fig)
    assert {"2 tokens", "3 times", "<s>", "a", "dog", "</s>", "$z$"} <= set(found)
    assert found.count("decoder") == 3
    heights = {round(text.get_position()[1], 2) for text in fig.axes[0].texts if text.get_text() == "decoder"}
    arrows = [
        patch.get_path().vertices for patch in fig.axes[0].patches if isinstance(patch, FancyArrowPatch)
    ]
    ends = [round(float(points[2][1]), 2) for points in arrows if points[0][1] == points[2][1]]
    assert all(ends.count(height) >= 2 for height in heights)  # from z and from the token before


def test_law_a_stop_has_ids_the_mean_of_the_heads_or_the_first_numbers_of_each_row():
    ids = figures.make_stop("ids", "source", torch.tensor([7, 2]), ["Hund", "</s>"])
    assert (ids.shape, ids.numbers, ids.note) == ("2", [["7"], ["2"]], "integers")
    mean = figures.make_stop("w", "target", torch.tensor([[[1.0, 0]], [[0, 1]]]), ["<s>"], ["Hund", "."])
    assert (mean.shape, mean.numbers, mean.columns) == ("2 × 1 × 2", [[0.5, 0.5]], ["Hund", "."])
    wide = figures.make_stop("x", "source", torch.tensor([[-1.26, 0.5, -0.01, 9]]), ["Hund"], (), "scaled")
    assert (wide.shape, wide.numbers) == ("1 × 4", [["−1.3", "0.5", "0.0", "…"]])
    assert wide.note == "first columns, scaled"


STOPS = [
    figures.RouteStop("ids", "source", "2", [["7"], ["2"]], ["Hund", "</s>"], note="integers"),
    figures.RouteStop(
        "masked", "target", "3 × 2 × 2", [[1.0, 0.0], [0.3, 0.7]], ["<s>", "dog"], ["<s>", "dog"]
    ),
    figures.RouteStop(
        "cross", "target", "3 × 2 × 3", [[0.1, 0.2, 0.7]] * 2, ["<s>", "dog"], ["Der", "Hund", "."]
    ),
]


@pytest.mark.parametrize(("place", "hidden"), [(0, 0), (1, 1), (2, 0)])
def test_law_a_stop_shows_its_shape_and_its_weights_as_a_map_with_the_future_hatched(place, hidden):
    fig, stop = figures.draw_route(STOPS, place), STOPS[place]
    assert bold(fig) == [stop.name, stop.shape]
    assert ("7" in texts(fig)) is (place == 0)
    assert len(fig.axes) == (1 if place == 0 else 2)
    for ax in fig.axes[1:]:
        assert [label.get_text() for label in ax.get_xticklabels()] == list(stop.columns)
        assert [label.get_text() for label in ax.get_yticklabels()] == list(stop.rows)
        assert sum(bool(patch.get_hatch()) for patch in ax.patches) == hidden


def test_law_the_shares_of_a_model_are_percents_of_its_sum():
    fig = figures.draw_budget({"Base": {"a": 2, "b": 2}, "Small": {"a": 500, "b": 498, "c": 2}})
    widths = [[patch.get_width() for patch in ax.patches] for ax in fig.axes]
    assert widths == [pytest.approx([50, 50]), pytest.approx([50, 49.8, 0.2])]
    assert texts(fig) == ["50%", "50%", "50%", "50%", "<1%"]
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["Base", "Small"]


def test_law_a_block_is_as_wide_as_its_number_of_parameters():
    tree = {
        "stack": ("#000000", {"a": 3_000_000, "b": 1_000_000}),
        "matrix": ("#000000", {"matrix": 4_000_000}),
    }
    fig = figures.draw_icicle(tree)
    widths = [patch.get_width() for patch in fig.axes[0].patches]
    assert [width / widths[0] for width in widths] == pytest.approx([1, 0.5, 3 / 8, 1 / 8, 0.5])
    assert {"the whole model: 8.00 million", "matrix\n4.0 million", "a\n3.0"} <= set(texts(fig))


def test_law_intervals_stand_at_their_sizes_beside_the_stated_one():
    (ax,) = figures.draw_intervals({"a": (40, 60), "b": (50, 70), "big": (10, 20)}, stated=30).axes
    bars = [(bar.get_x(), bar.get_width(), bar.get_hatch()) for bar in ax.patches[:3]]
    assert bars == [(40, 20, ""), (50, 20, ""), (10, 10, "////")]
    assert list(ax.lines[0].get_xdata()) == [30, 30]
    assert texts(ax.figure) == ["fits 2", "stated: 30"]


def test_law_the_costliest_removal_comes_first_beside_the_whole_models_loss():
    fig = figures.draw_losses({"a": [0.5, 0.25], "b": [2.0, 3.0]}, [0.125, 0.25], ["one", "two"])
    assert [[bar.get_width() for bar in ax.patches] for ax in fig.axes] == [[2.0, 0.5], [3.0, 0.25]]
    assert [list(ax.lines[0].get_xdata()) for ax in fig.axes] == [[0.125, 0.125], [0.25, 0.25]]
    assert texts(fig) == ["2.0", "0.5", "3.0", "0.2"]
