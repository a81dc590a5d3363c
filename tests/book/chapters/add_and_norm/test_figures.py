"""The drawings of the chapter on Add & Norm show the given numbers."""

import pytest
import torch
from matplotlib.colors import to_rgba

from annotated_transformer.book.chapters.add_and_norm import figures as figures
from annotated_transformer.plotting.palette import FIRST, SECOND
from tests.drawings import bold, curves, texts

WORDS = ["cats", "chase", "mice"]


def test_law_a_square_is_as_dark_as_the_cosine_of_its_two_words():
    cosines = torch.tensor([[1.0, 0.5, 0.0], [0.5, 1.0, -0.2], [0.0, -0.2, 1.0]])
    fig = figures.draw_alike({"one": [cosines] * 2, "two": [cosines] * 2}, words=WORDS, depths=["a", "b"])
    dark = [to_rgba(FIRST, max(value, 0.0)) for value in cosines.flatten().tolist()]
    assert [patch.get_facecolor() for patch in fig.axes[0].patches] == dark * 4
    assert texts(fig).count("0.10") == 4
    assert texts(fig).count("chase") == 2


def test_law_the_steps_show_each_number_and_note():
    steps = {"x": [[1, 2]], "f": [[3, 4]], "sum": [[4, 6]], "centered": [[-1, 1]], "out": [[-1.0, 1.0]]}
    fig = figures.draw_steps(steps, features=["far", "near"], notes=["a", "b", "mean 5", "variance 1", "e"])
    assert {"1", "2", "3", "4", "6", "−1", "far", "near", "mean 5", "variance 1", "+"} <= set(texts(fig))


def test_law_post_norm_has_its_norms_on_the_stream_and_pre_norm_on_the_branch():
    (ax,) = figures.draw_wiring().axes
    places = {}
    for text in ax.texts:
        places.setdefault(text.get_text(), []).append(text.get_position()[0])
    streams = sorted(places["$x$"])
    norms = sorted(places["norm"])
    assert norms[:2] == [streams[0]] * 2  # post-norm
    assert min(norms[2:]) > streams[1] + 1  # pre-norm: beside the stream
    assert places["final norm"][0] == pytest.approx(streams[1], abs=1)
    assert len(places["dropout"]) == len(places["+"]) == 4


def test_law_the_lines_show_the_given_numbers():
    sizes = {name: [1.0, 2.0 + place] for place, name in enumerate("abcd")}
    gradients = {name: [0.1 * (place + 1), 1.0] for place, name in enumerate("abcd")}
    fig = figures.draw_depth(sizes, gradients, ticks=[0.1, 1, 10])
    for ax, lines in zip(fig.axes, (sizes, gradients), strict=True):
        assert curves(ax) == list(lines.values())
        assert [text.get_text() for text in ax.texts] == list("abcd")


def test_law_changed_cells_are_highlighted():
    batch = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    before = {"LayerNorm": batch, "BatchNorm": batch}
    after = {"LayerNorm": batch, "BatchNorm": batch + torch.tensor([1.0, 0.0])}
    fig = figures.draw_neighbor(batch, after, before, words=WORDS)
    assert bold(fig) == ["5", "6", "batch", "LayerNorm", "2", "4", "6", "BatchNorm"]


def test_law_each_share_has_a_bar():
    stacks = {"one": {"post": [0.1, 0.9], "pre": [0.4, 0.6]}, "two": {"trained": [0.2, 0.3, 0.5]}}
    fig = figures.draw_shares(stacks, parts=["part", "part"])
    heights = [[bar.get_height() for bar in ax.patches] for ax in fig.axes]
    assert heights == [[0.1, 0.9, 0.4, 0.6], [0.2, 0.3, 0.5]]
    assert [bar.get_hatch() for bar in fig.axes[0].patches] == ["", "", "///", "///"]
    names = {text.get_text(): text.get_position()[0] for text in fig.axes[0].texts}
    assert names["post"] > 0.5 > names["pre"]  # where each is the larger
    assert not fig.axes[1].texts


def test_law_maps_of_long_sentences_do_not_overlap():
    words, depths = list("abcdefgh"), ["input", "1", "2", "3", "4", "5"]
    fig = figures.draw_alike({"one": [torch.eye(8)] * len(depths)}, words=words, depths=depths)
    squares = fig.axes[0].patches
    for place in range(1, len(depths)):
        before, here = squares[64 * place - 1], squares[64 * place]
        assert before.get_x() + before.get_width() < here.get_x()
    assert squares[-1].get_x() + squares[-1].get_width() < 14


def test_law_the_normalized_tokens_stand_below_the_tokens():
    before, after = {"a": [3.0, 1.0], "b": [2.0, 6.0]}, [[1.0, -1.0], [-0.5, 0.5]]
    fig = figures.draw_normed(before, after, features=["far", "near"])
    texts(fig)
    assert [ax.get_title() for ax in fig.axes] == ["a", "b", "", ""]
    heights = [[bar.get_height() for bar in ax.patches] for ax in fig.axes]
    assert heights == [*before.values(), *after]


def test_law_a_path_leads_through_the_sub_layers_that_it_passes():
    fig = figures.draw_paths(
        {"past": ((False, False), 1.0), "one": ((True, False), 0.5), "g": ((True, True), 0.25)}
    )
    assert [text for text in texts(fig) if "size" in text] == [
        "past\nsize 1.00",
        "one\nsize 0.50",
        "g\nsize 0.25",
    ]
    paths = [line for line in fig.axes[0].lines if line.get_linewidth() == 5]
    assert [len(line.get_xdata()) for line in paths] == [2, 6, 10]
    assert min(paths[1].get_ydata()[1:-1]) < max(paths[1].get_ydata()[1:-1]) < 5  # the lower one


def test_law_a_layer_norm_shares_a_row_and_a_batch_norm_a_side():
    fig = figures.draw_blocks((2, 3, 5))
    texts(fig)
    faces = [patch.get_facecolor() for patch in fig.axes[0].patches]
    row, side = to_rgba(FIRST, 0.7), to_rgba(SECOND, 0.7)
    assert faces.count(row) == 5 + 5 + 1  # in front, on top, at the right
    assert faces.count(side) == 3 + 2 + 2 * 3
    assert len(faces) == 2 * (3 * 5 + 2 * 5 + 2 * 3)


def test_law_each_seed_has_a_line_and_each_kind_a_name():
    fig = figures.draw_step({"post": [[1.0, 3.0], [1.0, 4.0]], "pre": [[1.0, 2.0]]}, [2, 18])
    assert texts(fig) == ["post", "pre"]
    assert curves(fig.axes[0]) == [[1.0, 3.0], [1.0, 4.0], [1.0, 2.0]]
