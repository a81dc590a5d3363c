"""The plots of the chapter on why attention is needed show the given numbers."""

import torch

from annotated_transformer.book.chapters.why_attention import figures as figures
from tests.drawings import curves, texts


def test_law_gradients_are_drawn_as_logarithms_down_and_up_to_the_edge():
    fig = figures.draw_decay({"one": [1.0, 0.01, 1e-30, 0.0], "two": [1e3, 1.0, 1.0, 1e20]})
    lines = curves(fig.axes[0])
    assert lines == [[0.0, -2.0, -12.0, -12.0], [3.0, 0.0, 0.0, 10.0]]
    assert texts(fig) == ["one", "two"]


def test_law_a_line_is_the_mean_of_its_marks():
    fig = figures.draw_copies({"one": [[1.0, 0.5], [0.2, 0.4]]}, [4, 8], guess=0.125)
    line, *marks, level = fig.axes[0].lines
    assert [round(float(y), 6) for y in line.get_ydata()] == [0.75, 0.3]
    assert [list(mark.get_ydata()) for mark in marks] == [[1.0, 0.5], [0.2, 0.4]]
    assert set(level.get_ydata()) == {0.125}
    assert texts(fig) == ["a guess", "one"]


def test_law_each_line_of_depths_has_its_name_at_its_end():
    fig = figures.draw_depths({"one": [10, 1000], "two": [5, 5]}, [1, 16])
    assert texts(fig) == ["one", "two"]
    assert [text.xy for text in fig.axes[0].texts] == [(16, 1000), (16, 5)]
    assert curves(fig.axes[0]) == [[10, 1000], [5, 5]]


def test_law_no_line_is_left_out_when_there_are_more_than_looks():
    lines = {f"{size} numbers": [[0.5]] for size in range(6)}
    assert texts(figures.draw_copies(lines, [4], guess=0.1)) == ["a guess", *lines]


def test_law_a_run_is_a_dot_if_it_learned_the_task_and_a_cross_if_not():
    (ax,) = figures.draw_recalled({"one": [0.8, 0.7], "two": [0.1]}, guess=0.125, least=0.75).axes
    found = [(line.get_marker(), *line.get_xdata()) for line in ax.lines if len(line.get_xdata()) == 1]
    assert found == [("o", 0.8), ("x", 0.7), ("x", 0.1)]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["one", "two"]


def test_law_parts_of_the_work_are_stacked():
    parts = {"one": {"": [2.0, 3.0]}, "two": {": p": [4.0, 5.0], ": s": [6.0, 7.0]}}
    fig = figures.draw_work(parts, [16, 64])
    bars = [(bar.get_y(), bar.get_height(), bool(bar.get_hatch())) for bar in fig.axes[0].patches]
    assert bars == [
        (0, 2, False), (0, 3, False), (0, 4, False), (0, 5, False), (4, 6, True), (5, 7, True)
    ]  # fmt: skip
    assert texts(fig) == ["one", "two: p", "two: s"]


def test_law_each_map_shows_its_weights():
    before, after = torch.full((3, 3), 1 / 3), torch.eye(3)
    fig = figures.draw_learned_weights(before, after)
    marked = [[patch.get_gid().split("|")[3] for patch in ax.patches if patch.get_gid()] for ax in fig.axes]
    assert [[float(weight) for weight in weights] for weights in marked] == [
        [0.33] * 9, after.flatten().tolist()
    ]  # fmt: skip
