"""The drawings of what is counted show the given counts, paths, and states."""

import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from annotated_transformer.book.chapters.cost_and_scale import figures
from annotated_transformer.plotting.palette import FIRST, MUTED, SECOND
from tests.drawings import bold, curves, hatched, texts


def test_law_bars_are_as_long_as_the_flops_and_name_their_share():
    fig = figures.draw_layer_costs({"one": 3e6, "two": 1e6}, growing="two", most=9e6)
    assert [bar.get_width() for bar in fig.axes[0].patches] == [3, 1]
    assert [bar.get_linestyle() for bar in fig.axes[0].patches] == ["solid", "dashed"] or [
        bar.get_linestyle() for bar in fig.axes[0].patches
    ] == ["-", "--"]
    assert [to_hex(bar.get_edgecolor()) for bar in fig.axes[0].patches] == [FIRST.lower(), SECOND.lower()]
    assert texts(fig) == ["one: 75%", "two: 25%"]
    assert fig.axes[0].get_xlim() == (0, 9)


def test_law_each_kind_of_layer_has_its_shortest_path():
    step = torch.eye(4, dtype=torch.bool) | torch.eye(4).bool().roll(1, 0).tril()
    fig = figures.draw_paths({"all": [torch.ones(4, 4, dtype=torch.bool)], "chain": [step]})
    assert texts(fig) == ["all\n1 step", "chain\n3 steps"]
    paths = [line for line in fig.axes[0].lines if line.get_linewidth() == 3]
    assert [len(line.get_xdata()) for line in paths] == [2, 4]
    lit = [
        [*line.get_xydata()[0]]
        for line in fig.axes[0].lines
        if line.get_markersize() == 6 and line.get_marker() == "o"
    ]
    assert lit == [
        [*point] for line in paths for point in line.get_xydata()
    ]  # the path goes through these dots
    edges = [line for line in fig.axes[0].lines if line.get_zorder() == 1]
    assert len(edges) == 4 * 4 + 3 * (4 + 3)


def test_law_products_are_in_proportion_and_gradients_hatched():
    fig = figures.draw_products(2, 5, 7)
    boxes = [patch for patch in fig.axes[0].patches if isinstance(patch, Rectangle)]
    unit = boxes[1].get_width() / 7
    sizes = [(round(box.get_height() / unit), round(box.get_width() / unit)) for box in boxes]
    assert sizes == [(2, 5), (5, 7), (2, 7), (2, 7), (7, 5), (2, 5), (5, 2), (2, 7), (5, 7)]
    assert hatched(fig) == 4
    assert texts(fig).count("$2\\,n\\,d_1 d_2$") == 3


def test_law_spent_bars_are_filled_to_the_share():
    fig = figures.draw_spent({"base": (4e18, 1e18), "big": (2e19, 1.5e19)})
    assert [bar.get_width() for bar in fig.axes[0].patches] == [1, 0.25, 1, 0.75]
    assert texts(fig)[0] == "base: 1.0 · $10^{18}$ of 4.0 · $10^{18}$, 25%"


def test_law_memory_is_in_gigabytes_and_what_is_kept_is_hatched():
    fig = figures.draw_memory({"weights": 2.5e9, "encoder": 7e9, "logits": 1e9}, kept=["encoder", "logits"])
    assert [bar.get_width() for bar in fig.axes[0].patches] == [2.5, 7, 1]
    assert texts(fig) == ["2.50", "7.00", "1.00"]
    assert hatched(fig) == 2


def test_law_kept_bytes_are_lines_in_mebibytes():
    fig = figures.draw_kept([2, 4], {"plain": [2**20, 2**22], "fused": [2**20, 2**21]})
    assert curves(fig.axes[0]) == [[1, 4], [1, 2]]
    assert texts(fig) == ["plain", "fused"]


@pytest.mark.parametrize(("done", "past"), [(1, 0), (3, 4)])
def test_law_the_block_being_read_is_bold_and_those_read_are_hatched(done: int, past: int):
    fig = figures.draw_pass([1, 3, 2, 5, 4], 2, done, {"m": 3.0, "sum": 1.1353})
    now = {1: ["1", "3"], 3: ["4"]}[done]
    assert bold(fig) == [*now, "3.000", "1.135"]
    assert hatched(fig) == past
    assert {"m", "sum", "scores of one query"} <= set(texts(fig))
    muted = [words.get_text() for words in fig.axes[0].texts if words.get_color() == MUTED]
    assert muted == [*["1", "3", "2", "5"][:past], "scores of one query"]
