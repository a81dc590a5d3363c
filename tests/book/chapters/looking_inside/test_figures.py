"""The drawings of the chapter on looking inside show the given numbers."""

import pytest
import torch
from matplotlib.colors import to_rgb

from annotated_transformer.book.chapters.looking_inside import figures as figures
from annotated_transformer.plotting.attention_map import heat
from tests.drawings import bold, curves, marks, texts

RNG = torch.Generator().manual_seed(0)


@pytest.mark.parametrize("period", [2, 4])
def test_law_the_symbol_after_the_earlier_copy_is_outlined(period):
    maps = {name: torch.rand(6, 6, generator=RNG).softmax(dim=-1) for name in ("a", "b")}
    fig = figures.draw_stripes(maps, "ABCDEF", period=period, below=["3 of 4 right", "1 of 4 right"])
    for ax, text in zip(fig.axes, ("3 of 4 right", "1 of 4 right"), strict=True):
        outlined = [patch.get_xy() for patch in ax.patches if not patch.get_fill()]
        # of each query whose symbol has an earlier copy, `period` before
        assert outlined == [(place + 1 - period, place) for place in range(period, 6)]
        assert text in [t.get_text() for t in ax.texts]


def test_law_each_head_has_its_map_and_its_loss_and_one_is_framed():
    maps = torch.zeros(2, 3, 4, 5)
    maps[..., 1] = 1
    maps[1, 2] = torch.eye(4, 5) / 2
    fig = figures.draw_wall(maps, [[0.0, 1.24, -4.0], [0.2, 3.26, 0.1]], framed=(0, 2))
    labels = [ax.get_xlabel() for ax in fig.axes]
    assert labels == ["±0.0", "−1.2", "+4.0", "−0.2", "−3.3", "−0.1"]
    assert [ax.get_ylabel() for ax in fig.axes if ax.get_ylabel()] == ["layer 1", "layer 2"]
    assert [len(ax.patches) for ax in fig.axes] == [4] * 6
    cells = [[cell.get_xy() for cell in ax.patches] for ax in fig.axes]  # key and query of each
    assert cells == [[(1, query) for query in range(4)]] * 5 + [[(query, query) for query in range(4)]]
    shades = [ax.patches[0].get_facecolor()[:3] for ax in fig.axes[-2:]]
    assert shades == [pytest.approx(to_rgb(heat(weight))) for weight in (1.0, 0.5)]
    framed = [ax.spines["top"].get_linewidth() > 1 for ax in fig.axes]
    assert framed == [False, False, True] + [False] * 3


def test_law_a_mark_shows_entropy_and_loss_of_each_head():
    rows = [
        {"kind": "cross", "entropy": 1.0, "lost": 3.5},
        {"kind": "encoder", "entropy": 0.5, "lost": 0.1},
        {"kind": "cross", "entropy": 2.0, "lost": -0.1},
    ]
    (ax,) = figures.draw_maps_and_losses(rows).axes
    assert marks(ax) == [[0.5], [1.0, 2.0]]
    assert [line.get_label() for line in ax.lines[:2]] == ["encoder", "cross"]
    assert [list(line.get_ydata()) for line in ax.lines[:2]] == [[0.1], [3.5, -0.1]]
    assert texts(ax.figure)[:2] == ["encoder", "cross"]  # at the marks


def test_law_the_arrow_joins_equally_sharp_heads_that_differ_most():
    rows = [
        {"kind": "cross", "entropy": entropy, "lost": lost}
        for entropy, lost in [(1.0, 0.5), (1.04, 3.0), (1.08, 0.1), (1.2, -5.0), (0.97, 0.25)]
    ]
    needed, spare = figures.alike(rows)
    assert (needed["lost"], spare["lost"]) == (3.0, 0.1)  # 1.08 is nearer to 1.04 than 0.05, 0.97 is not
    assert "equally sharp,\n2.9 BLEU apart" in texts(figures.draw_maps_and_losses(rows))


def test_law_several_runs_of_an_order_have_their_middle_and_their_range():
    orders = {"measured": [[9.0, 7.0, 0.0]], "random": [[9.0, 3.0, 0.0], [9.0, 5.0, 1.0], [9.0, 4.0, 2.0]]}
    (ax,) = figures.draw_pruning([0, 5, 10], orders).axes
    assert curves(ax)[1:] == [[9.0, 7.0, 0.0], [9.0, 4.0, 1.0]]
    assert [line.get_label() for line in ax.lines[1:]] == ["measured", "random"]
    assert list(ax.lines[0].get_xdata()) == [5, 5]  # half of the heads
    assert texts(ax.figure) == ["measured: 7 BLEU", "random: 4 BLEU", "half of the heads off"]
    (band,) = ax.collections
    corners = {(x, y) for x, y in band.get_paths()[0].vertices.tolist() if x == 5}
    assert corners == {(5.0, 3.0), (5.0, 5.0)}
    assert ax.get_xlabel() == "heads switched off, of 10"


def test_law_each_share_is_printed_at_its_depth_and_token():
    shares = torch.tensor([[0.0, 1.04], [-0.21, 0.46], [-0.01, 0.9]])
    fig = figures.draw_restored({"one": shares, "two": shares}, [["a", "b"], ["c", "d"]])
    shown = ["1.0", "−0.2", "0.5", "0.9"]  # without zeros
    assert texts(fig)[:5] == [*shown, "stays at “b”"]
    assert [[t.get_text() for t in ax.get_xticklabels()] for ax in fig.axes] == [["a", "b"], ["c", "d"]]
    assert not any(ax.yaxis_inverted() for ax in fig.axes)  # depth 0 is at the bottom
    shades = [cell.get_facecolor()[:3] for cell in fig.axes[0].patches[:2]]
    assert shades == [pytest.approx(to_rgb(heat(share))) for share in (0.0, 1.0)]


def test_law_the_panel_says_where_the_largest_share_moves():
    shares = torch.tensor([[0.1, 0.7, 0.2], [0.8, 0.3, 0.1]])
    fig = figures.draw_restored(dict.fromkeys("xyz", shares), [["a", "b", "c"]] * 3)
    assert texts(fig).count("from “b” to “a”") == 3
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["x", "y", "z", ""]  # two in a row


def test_law_the_lens_has_a_line_for_the_input_and_one_for_the_prediction():
    (ax,) = figures.draw_lens({"input": [1.0, 0.5, 0.0], "prediction": [0.0, 0.25, 1.0]}).axes
    assert curves(ax) == [[1.0, 0.5, 0.0], [0.0, 0.25, 1.0]]
    assert [text.get_text() for text in ax.texts] == ["input", "prediction"]


def test_law_the_readers_show_what_reaches_the_first_token():
    direct, across = torch.tensor([[0.1, 0.9], [0.5, 0.5]]), torch.tensor([[0.0, 1.0], [0.3, 0.7]])
    fig = figures.draw_readers({"one": [direct], "two": [torch.eye(2), across]}, ["[c]", "calm"])
    widths = [round(line.get_linewidth(), 1) for line in fig.axes[0].lines]
    assert widths == [0.9, 8.1, 9.0, 9.0]  # [c] reads both; [c] reads calm, which reads itself
    assert texts(fig).count("layer 2") == 1
    assert bold(fig) == ["one", "[c]", "calm", "two", "calm"]
