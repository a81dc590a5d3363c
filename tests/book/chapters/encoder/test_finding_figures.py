"""The drawings of what the encoder's experiments found show the given numbers."""

import pytest
import torch
from matplotlib.patches import FancyArrowPatch, Rectangle

from annotated_transformer.book.chapters.encoder import finding_figures
from tests.drawings import curves, hatched, texts

WORDS = ["plot", "not", "good"]


def test_law_a_bar_is_as_long_as_a_words_part_and_the_last_is_the_sum():
    reviews = {"plot not good": [0.5, -2.0, 0.25], "plot good not": [0.5, 0.25, -1.0]}
    fig = finding_figures.draw_contributions(
        {"one": reviews, "two": reviews}, {"plot not good": -1, "plot good not": 2}
    )
    bars = [bar.get_width() for bar in fig.axes[0].patches]
    assert bars == pytest.approx([0.5, -2.0, 0.25, -1.2])  # the sum as it is written
    assert [bar.get_hatch() for bar in fig.axes[0].patches] == ["", "///", "", "///"]
    assert [texts(fig).count(text) for text in ("−1.2", "rating −1", "rating 2")] == [2, 2, 2]
    assert "same sum,\nother order" not in texts(fig)
    assert list(fig.axes[2].lines[1].get_xdata()) == [2, 2]


def test_law_equal_sums_are_pointed_out():
    reviews = {"a b": [1.0, 0.0], "b a": [0.5, 0.5]}
    fig = finding_figures.draw_contributions({"one": reviews, "two": reviews}, {"a b": 1, "b a": 2})
    assert texts(fig).count("same sum,\nother order") == 2


def test_law_attention_links_all_words_and_the_network_each_with_itself():
    weights = torch.tensor([[0.5, 0.25, 0.25], [0, 1, 0], [0.1, 0.1, 0.8]])
    fig = finding_figures.draw_mixing(WORDS, torch.rand(3, 4), weights, torch.rand(3, 4), torch.rand(3, 4))
    links = fig.axes[0].lines
    assert len(links) == 9
    assert [links[0].get_linewidth(), links[8].get_linewidth()] == pytest.approx([4.5, 7.2])
    arrows = [patch for patch in fig.axes[0].patches if isinstance(patch, FancyArrowPatch)]
    assert len(arrows) == 2 * len(WORDS)
    assert texts(fig).count("FFN") == len(WORDS)


def test_law_equal_means_are_joined_by_an_equals_sign_and_others_not():
    vectors = torch.tensor([[1.0, 2], [3, 4], [5, 7]])
    rows = [
        ("x", WORDS, vectors),
        ("x", WORDS, vectors.flip(0)),
        ("z", WORDS, vectors),
        ("z", WORDS, 2 * vectors),
    ]
    written = texts(finding_figures.draw_means(rows))
    assert [text for text in written if text in "=≠"] == ["=", "≠"]
    assert [written.count(text) for text in ("x", "z", "mean", "not")] == [1, 1, 2, 4]


def test_law_shares_run_from_the_lowest_to_the_highest_number():
    assert finding_figures.as_shares(torch.tensor([[-2.0, 0.0], [2.0, 1.0]])) == [[0, 0.5], [1, 0.75]]


def test_law_a_not_takes_an_opinion_to_its_opposite():
    fig = finding_figures.draw_opinions({"bad": -1, "good": 1, "great": 2})
    places = [line.get_xdata()[0] for line in fig.axes[0].lines[1:]]
    assert places[0] + places[1] == 14
    assert places[2] - 7 == 2 * (places[1] - 7)
    assert {"bad", "good", "great", "−1", "+1", "+2", "not"} <= set(texts(fig))


def test_law_impossible_errors_are_hatched_up_to_the_limit_and_marks_are_the_errors_reached():
    fig = finding_figures.draw_limits(
        {"linear": 2.5, "any": 1.5}, {"linear": [3.0, 2.75], "ours": [0.125, 0.25]}
    )
    (ax,) = fig.axes
    bars = [patch.get_width() for patch in ax.patches if isinstance(patch, Rectangle) and patch.get_hatch()]
    assert bars == [2.5, 1.5]
    marks = [list(line.get_xdata()) for line in ax.lines if line.get_linestyle() == "None"]
    assert marks == [[3.0, 2.75], [0.12, 0.25]]
    assert {"2.5", "1.5", "reached: 0.25 or less"} <= set(texts(fig))
    assert hatched(fig) == 2


def test_law_points_stand_in_their_group_and_one_point_is_called_one():
    points = torch.tensor([[1.0, 0], [2, 1], [-1, 1], [0.5, -2]])
    fig = finding_figures.draw_groups({"0": 0 * points, "1": points}, ["a", "a", "b", "c"])
    assert texts(fig) == ["the same point\n4 times", "a", "b", "c"]
    first = fig.axes[1].lines[0]
    assert first.get_xdata()[1] == pytest.approx(2 * first.get_xdata()[0], abs=2e-3)


def test_law_probes_have_a_line_for_each_label():
    lines = {"own": [1.0, 1.0], "before": [0.2, 0.7], "after": [0.3, 0.72]}
    fig = finding_figures.draw_probes({"one": lines, "two": lines}, labels=["0", "1"])
    assert [curves(ax) for ax in fig.axes] == [list(lines.values())] * 2
    assert texts(fig) == list(lines)
