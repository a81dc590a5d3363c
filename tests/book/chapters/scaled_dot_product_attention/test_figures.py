"""The figures of chapter 3 show the given numbers in the right places."""

import pytest
import torch
from matplotlib.patches import Rectangle, StepPatch

from annotated_transformer.book.chapters.scaled_dot_product_attention.figures import (
    draw_products,
    draw_readings,
    draw_shapes,
    draw_softmax,
    draw_sorted_weights,
    draw_spread,
    draw_trained,
    draw_width_effect,
)
from tests.drawings import bold, curves, texts


def test_law_a_line_is_as_wide_as_its_weight_and_leads_from_the_value_to_the_new_vector():
    readings = {"a b c": ([0.1, 0.6, 0.3], (4.0, 2.0)), "a d c": ([0.2, 0.2, 0.6], (1.0, 7.0))}
    values = {"a": (0.0, 0.0), "b": (6.0, 1.0), "c": (3.0, 3.0), "d": (0.0, 9.0)}
    fig = draw_readings(readings, values, asking=2, features=["x", "y"])
    lines = [line for line in fig.axes[0].lines if len(line.get_xdata()) == 2]
    assert [round(line.get_linewidth(), 2) for line in lines] == [0.9, 5.4, 2.7, 1.8, 1.8, 5.4]
    ends = [(*line.get_xdata(), *line.get_ydata()) for line in lines]
    assert ends[1:4] == [(6, 4, 1, 2), (3, 4, 3, 2), (0, 1, 0, 7)]
    assert {"a", "b", "c", "d", "c in\na b c", "c in\na d c", "0.60", "0.10"} <= set(texts(fig))
    assert (fig.axes[0].get_xlabel(), fig.axes[0].get_ylabel()) == ("x", "y")


def test_law_a_weight_is_written_beside_its_line():
    alone = draw_readings({"bank": ([1.0], (5.0, 5.0))}, {"bank": [5.0, 5.0]}, asking=-1, features=["x", "y"])
    assert {"1.00", "bank in\nbank"} <= set(texts(alone))  # where the line has no length
    fig = draw_readings({"a": ([0.5], (0.0, 4.0))}, {"a": (0.0, 8.0)}, asking=0, features=["x", "y"])
    number = next(text for text in fig.axes[0].texts if text.get_text() == "0.50")
    assert number.xy == (0, 6)
    assert number.xyann == (-19, 0)  # points: on the left of an upright line


def test_law_the_products_show_every_number_once_in_its_matrix():
    q, k, v = (
        torch.tensor([[1.0, 2], [3, 4]]),
        torch.tensor([[5.0, 6], [7, 8], [9, 11]]),
        torch.ones(3, 2) * 13,
    )
    parts = {"Q": q, "K": k, "products": q @ k.T, "weights": (q @ k.T).softmax(-1), "V": v, "output": v[:2]}
    fig = draw_products(parts, queries=["p", "r"], keys=["s", "t", "u"], features=["x", "y"], lit=(1, 2))
    drawn = texts(fig)
    for number in (q @ k.T).flatten().tolist():
        assert f"{number:.0f}" in drawn
    assert {"3", "4", "9", "11", "71"} <= set(bold(fig))  # the row of r, the column of u, and their product
    assert "17" not in bold(fig)


def test_law_both_lines_are_drawn_at_their_widths():
    series = {True: [9.0, 8.0, 8.0], False: [5.0, 2.0, 1.0]}
    fig = draw_width_effect([4, 16, 64], {"keys": series, "gradient": series})
    assert [curves(ax) for ax in fig.axes] == [list(series.values())] * 2
    assert texts(fig).count("not divided") == 2
    assert {"not divided", "divided by √$d_k$"} == set(
        texts(draw_width_effect([4], {"g": {True: [1.0], False: [2.0]}}))
    )


def test_law_each_weight_is_a_bar():
    fig = draw_sorted_weights([0.25] * 4, [0.75, 0.25, 0.0, 0.0])
    assert [bar.get_height() for bar in fig.axes[0].patches] == [0.25] * 4 + [0.75, 0.25, 0.0, 0.0]
    assert texts(fig) == ["not divided", "divided by √$d_k$"]


def test_law_each_step_of_the_softmax_has_a_bar_for_each_key_and_only_positive_steps_a_sum():
    steps = {"score": [-1.0, 2.0], "exponential": [0.5, 7.5], "weight": [0.0625, 0.9375]}
    fig = draw_softmax(steps, ["the", "river"])
    assert [[bar.get_width() for bar in ax.patches] for ax in fig.axes] == list(steps.values())
    found = texts(fig)
    assert [text for text in found if "sum" in text] == ["sum 8", "sum 1"]
    assert {"-1", "7.5", "0.938"} <= set(found)


@pytest.mark.parametrize(("queries", "keys", "d_k", "d_v"), [(3, 5, 4, 6), (1, 1, 1, 1)])
def test_law_shapes_are_drawn_in_proportion_and_sides_of_one_length_face_each_other(queries, keys, d_k, d_v):
    fig = draw_shapes(queries, keys, d_k, d_v)
    texts(fig)  # legible and not cut off
    edges = [p for p in fig.axes[0].patches if isinstance(p, Rectangle) and p.get_linewidth() == 2]
    query, key, weights, value, output = edges
    side = query.get_height() / queries
    sizes = [(round(e.get_height() / side), round(e.get_width() / side)) for e in edges]
    assert sizes == [(queries, d_k), (d_k, keys), (queries, keys), (keys, d_v), (queries, d_v)]
    assert query.get_y() == weights.get_y() == output.get_y()
    assert (key.get_x(), value.get_x()) == (weights.get_x(), output.get_x())


def test_law_the_spread_of_products_is_written_before_and_after_the_division():
    rng = torch.Generator().manual_seed(0)
    fig = draw_spread({4: 2 * torch.randn(9999, generator=rng), 100: 10 * torch.randn(9999, generator=rng)})
    assert [text.rstrip("0").rstrip(".") for text in texts(fig)] == ["±2", "±1", "±1", "±1"]
    wide = [sum(p.get_data().values > 0.5) for ax in fig.axes for p in ax.patches if isinstance(p, StepPatch)]
    assert wide[0] < wide[2] / 3  # not divided
    assert abs(wide[1] - wide[3]) < 6  # divided


def test_law_the_maps_after_training_say_how_many_queries_have_most_weight_on_their_own_key():
    fig = draw_trained({"divided": torch.eye(3), "not divided": torch.eye(3)[[0, 2, 1]]})
    assert texts(fig) == ["3 of 3 found", "1 of 3 found"]
    assert [ax.get_title() for ax in fig.axes] == ["divided", "not divided"]
    dark = [patch.get_xy() for patch in fig.axes[1].patches if sum(patch.get_facecolor()[:3]) < 1]
    assert dark == [(0, 0), (2, 1), (1, 2)]
