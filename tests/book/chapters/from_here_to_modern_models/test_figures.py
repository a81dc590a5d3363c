"""The drawings of chapter 22 show the given changes, masks, choices, and numbers."""

import pytest
import torch
from matplotlib.colors import same_color, to_rgba
from matplotlib.patches import Circle, Rectangle

from annotated_transformer.book.chapters.from_here_to_modern_models import (
    figures,
    part_figures,
    result_figures,
)
from annotated_transformer.plotting.palette import FIRST as VIOLET
from tests.drawings import bold, curves, hatched, texts


def test_law_a_change_lights_its_boxes_and_keeps_the_earlier_ones():
    fig = figures.draw_layer(1)
    assert {"2017", "2019: pre-norm"} <= set(texts(fig))
    assert bold(fig)[:-2].count("add") == 2
    assert set(bold(fig)) == {"LayerNorm", "add", "2017", "2019: pre-norm"}
    last = figures.boxes_after(len(figures.CHANGES) - 1)
    assert last["norm 1"] == last["last norm"] == "RMSNorm"
    assert last["positions"] == "embedding"
    assert "rotary attention, 2 k–v" in texts(figures.draw_layer(len(figures.CHANGES) - 1))
    assert texts(figures.draw_layer(0)).count("embedding + sinusoids") == 2


def test_law_years_of_changes_never_fall():
    years = [int(change.year) for change in figures.CHANGES]
    assert years == sorted(years)


def test_law_models_stand_in_their_year_and_on_their_branch():
    branches = {
        "encoder only": [("A", 2018)],
        "decoder only": [("B", 2018), ("C", 2020), ("D", 2020)],
        "x": [("E", 2019)],
    }
    fig = figures.draw_family(branches, [("idea", 2019)])
    places = {text.get_text(): text.get_position() for text in fig.axes[0].texts}
    above = [places[name][1] for name in ("A", "idea", "C", "D")]
    assert above == sorted({*above}, reverse=True)
    assert (places["A"][1], places["idea"][1]) == (places["B"][1], places["E"][1])
    assert places["B"][0] == places["C"][0] != places["A"][0]
    assert places["2018"][1] > places["2019"][1] > places["2020"][1]


def test_law_turned_pairs_at_one_distance_have_one_product():
    fig = part_figures.draw_turned((2, 1), (1, 2), 90, [(0, 1), (1, 2), (0, 2)])
    assert [ax.get_xlabel() for ax in fig.axes] == [
        "1 apart: $q^\\top k$ = −3.00", "1 apart: $q^\\top k$ = −3.00", "2 apart: $q^\\top k$ = −4.00"
    ]  # fmt: skip
    assert part_figures.turned((2, 1), 90) == pytest.approx((-1, 2))
    assert [text for text in texts(fig) if text][:2] == ["$q_{0}$", "$k_{1}$"]


def test_law_bars_are_the_features():
    fig = part_figures.draw_norms({"a": [1, -2], "b": [0.5, -1], "c": [0.25, 4]})
    assert [[bar.get_height() for bar in ax.patches] for ax in fig.axes] == [[1, -2], [0.5, -1], [0.25, 4]]
    assert "−2" in texts(fig)


def test_law_heads_share_as_many_keys_and_values_as_given():
    fig = part_figures.draw_heads(6, {"a": 6, "b": 2})
    patches = fig.axes[0].patches
    assert sum(isinstance(patch, Circle) for patch in patches) == 12
    assert sum(isinstance(patch, Rectangle) for patch in patches) == 2 * (6 + 2)
    assert [text for text in texts(fig) if "cache" in text] == ["cache: 12 vectors", "cache: 4 vectors"]


def test_law_matrices_are_as_wide_as_their_networks():
    fig = part_figures.draw_widths(8, 30, 20)
    widths = [patch.get_width() for patch in fig.axes[0].patches]
    assert widths[0] / widths[2] == pytest.approx(1.5)
    assert len(widths) == 5
    assert {"480 weights", "2 × 8 × 30", "3 × 8 × 20"} <= set(texts(fig))


def test_law_hidden_cells_are_hatched():
    mask = torch.ones(4, 4, dtype=torch.bool).tril()
    fig = part_figures.draw_masks({"all": torch.ones(4, 4, dtype=torch.bool), "causal": mask})
    assert hatched(fig) == 6
    assert bold(fig) == ["all", "causal"]


def test_law_reached_tokens_are_filled_and_counted():
    fig = part_figures.draw_reach(torch.tensor([[0, 0, 1], [0, 1, 1]]), 2)
    filled = [same_color(patch.get_facecolor(), to_rgba(VIOLET, 0.55)) for patch in fig.axes[0].patches]
    assert filled == [False, False, True, False, True, True]
    assert bold(fig) == ["1", "2"]


def test_law_chosen_experts_have_their_probability():
    shares = torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.15, 0.75]])
    fig = part_figures.draw_routes(["a", "b"], shares, shares.topk(1).indices)
    assert {"0.50", "0.75", "a", "b"} <= set(texts(fig))
    assert "0.30" not in texts(fig)


def test_law_each_patch_stands_once_more_in_the_row():
    fig = part_figures.draw_patches(torch.rand(6, 6, generator=torch.Generator().manual_seed(0)), 3)
    colors = [patch.get_facecolor() for patch in fig.axes[0].patches if patch.get_edgecolor()[3] == 0]
    assert len(colors) == 2 * 36
    assert sorted(colors[:36]) == sorted(colors[36:])
    assert [text for text in texts(fig) if text.isdigit()] == ["0", "1", "2", "3"]


def test_law_growth_is_the_mean_of_the_seeds():
    fig = result_figures.draw_growth([0, 1], {"a": [[1.0, 2.0], [3.0, 4.0]]})
    assert curves(fig.axes[0]) == [[2.0, 3.0]]


def test_law_lengths_have_a_line_and_a_mark_for_each_seed():
    fig = result_figures.draw_lengths([8, 16], {"a": [[1.0, 0.5], [0.5, 0.25]]}, trained=8)
    assert curves(fig.axes[0]) == [[0.75, 0.375], [1.0, 0.5], [0.5, 0.25]]
    assert {"a", "longer than in training"} == set(texts(fig))


def test_law_bars_of_weights_are_those_of_the_row():
    weights = torch.tensor([[0.5, 0.5, 0.0], [0.25, 0.7, 0.05], [1.0, 0.0, 0.0]])
    fig = result_figures.draw_biases(torch.eye(3), {"none": weights}, row=1)
    assert [text for text in texts(fig) if text.startswith("0.")] == ["0.25", "0.70", "0.05"]
    assert "none: query 2 reads" in texts(fig)


def test_law_caches_have_their_numbers():
    fig = result_figures.draw_caches({"a": 4.0, "b": 1.0}, unit="GiB")
    assert [bar.get_width() for bar in fig.axes[0].patches] == [4.0, 1.0]
    assert texts(fig) == ["4 GiB", "1 GiB"]


def test_law_each_stack_has_a_mark_for_each_seed_and_the_reference_its_mean():
    fig = result_figures.draw_stacks({"a": [0.5, 0.7], "b": [0.25, 0.3]}, reference="a", label="loss")
    level, _, first, _, second = fig.axes[0].lines
    assert level.get_xdata()[0] == pytest.approx(0.6)
    assert [list(first.get_xdata()), list(second.get_xdata())] == [[0.5, 0.7], [0.25, 0.3]]
    assert [label.get_text() for label in fig.axes[0].get_yticklabels()] == ["a", "b"]
