"""The drawings of the chapter on the decoder show the given words and numbers."""

import pytest
import torch
from matplotlib.patches import FancyArrowPatch, Rectangle

from annotated_transformer.book.chapters.decoder import figures as figures
from tests.drawings import curves, hatched, texts

TOKENS = ["<s>", "The", "dog", "barks"]


@pytest.mark.parametrize("step", [1, 3])
def test_law_a_step_shows_its_tokens_the_triangle_and_the_probabilities(step):
    chances = {"barks": 0.75, "sleeps": 0.25, "is": 0.004}
    fig = figures.draw_step(TOKENS, step, chances, source="Der Hund bellt.", source_tokens=5)
    found = texts(fig)
    assert [found.count(token) for token in TOKENS] == [2] * step + [0] * (len(TOKENS) - step)
    assert {f"Step {step}", "barks  75%", "sleeps  25%", "is  <1%", "Der Hund bellt."} <= set(found)
    assert hatched(fig) == step * (step - 1) // 2
    bars = [patch.get_width() for patch in fig.axes[0].patches if isinstance(patch, Rectangle)][-3:]
    assert bars[0] == pytest.approx(3 * bars[1])
    assert 0 < bars[2] < bars[1] / 3
    (arrow,) = [patch for patch in fig.axes[0].patches if isinstance(patch, FancyArrowPatch)]
    heights = {text.get_text(): text.get_position()[1] for text in fig.axes[0].texts}
    assert arrow.get_path().vertices[:3, 1] == pytest.approx(heights["barks  75%"])  # to the likeliest word


def test_law_inputs_omit_the_last_column_and_labels_omit_the_first():
    fig = figures.draw_inputs_and_labels([["<s>", "a", "b", "</s>"], ["<s>", "a", "</s>", "<pad>"]])
    assert texts(fig).count("</s>") == 4
    cells = [p for p in fig.axes[0].patches if isinstance(p, Rectangle) and p.get_hatch()]
    upper, lower = ([c for c in cells if (c.get_y() > 3) == above] for above in (True, False))
    assert [cell.get_x() for cell in upper] == pytest.approx([0.1] * 2)
    assert [cell.get_x() for cell in lower] == pytest.approx([0.1 + 13.8 * 3 / 4] * 2)


def test_law_each_run_starts_one_word_after_the_exchanged_one():
    (ax,) = figures.draw_recovery({"wrong": [[0.1, 0.8], [0.2, 0.7]], "plain": [[0.9, 0.9]]}).axes
    assert curves(ax) == [[0.1, 0.8], [0.2, 0.7], [0.9, 0.9]]
    assert [list(line.get_xdata()) for line in ax.lines] == [[1, 2]] * 3
    assert texts(ax.figure) == ["wrong", "plain"]


def test_law_correct_words_go_in_above_and_the_models_own_below():
    table = {
        "<s>": {"b": 0.6, "a": 0.4},
        "<s> a": {"</s>": 1.0},
        "<s> b": {"b": 0.9},
        "<s> b b": {"</s>": 0.7},
    }
    fig = figures.draw_two_modes(["<s>", "a", "</s>"], table)
    found = texts(fig)
    assert [text for text in found if text[-3:-2] == "."] == [
        "b 0.60", "</s> 1.00", "b 0.60", "b 0.90", "</s> 0.70",
    ]  # fmt: skip
    assert [found.count(text) for text in ("<s>", "a", "b", "≠")] == [2, 1, 2, 1]


def test_law_a_bar_is_as_long_as_its_words_probability():
    fig = figures.draw_top_words(["<s>", "The"], [{"The": 0.75, "A": 0.25}, {"dog": 0.5, "cat": 0.001}])
    bars = [patch.get_width() for patch in fig.axes[0].patches if isinstance(patch, Rectangle)]
    assert bars[0] == pytest.approx(3 * bars[1])
    assert bars[0] == pytest.approx(1.5 * bars[2])
    assert {"The 75%", "A 25%", "dog 50%", "cat <1%"} <= set(texts(fig))


def test_law_leaks_are_crossed_and_one_slot_is_framed():
    tight = torch.ones(3, 3, dtype=torch.bool).tril()
    fig = figures.draw_leaks({"a": tight, "b": torch.ones_like(tight)}, slot=1)
    assert hatched(fig) == 3  # all above the diagonal of the second grid
    frames = [patch for patch in fig.axes[0].patches if not patch.get_fill()]
    cells = [patch for patch in fig.axes[0].patches if patch.get_fill()]
    assert [frame.get_x() for frame in frames] == pytest.approx([cells[1].get_x(), cells[10].get_x()])
    assert texts(fig).count("token 1 replaced") == 2
