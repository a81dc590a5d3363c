"""The drawings of the chapter on embeddings show the given numbers."""

import pytest
import torch
from matplotlib.patches import Rectangle

from annotated_transformer.book.chapters.embeddings import figures as figures
from annotated_transformer.plotting.palette import DECODER, ENCODER
from tests.drawings import bold, curves, texts

WORDS = ["<pad>", "dog", "sleeps", "Hund", "schläft"]
TABLE = torch.tensor([[0.0, 0, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1]])


def test_law_the_looked_up_rows_are_connected_to_encoder_or_decoder():
    hidden = torch.tensor([0.0, 3, 0, 4])
    fig = figures.draw_three_uses(
        TABLE, hidden, words=WORDS, source=["dog", "sleeps"], target=["Hund"], factor="twice"
    )
    (ax,) = fig.axes
    heights = {text.get_text(): text.get_position()[1] for text in ax.texts}
    for color, words in ((ENCODER, ["dog", "sleeps"]), (DECODER, ["Hund"])):
        lines = [line.get_ydata()[0] for line in ax.lines if line.get_color() == color]
        assert lines == pytest.approx([heights[word] for word in words])
    found = texts(fig)
    assert found.count("twice") == 2
    assert found[-6:] == ["0", "0", "3", "4", "7", "logits"]
    assert bold(fig) == [*"101001101001", "7", "logits"]  # three rows of E, and the largest logit


def test_law_the_product_with_one_hot_rows_highlights_the_rows_that_it_copies():
    one_hot = torch.eye(5)[[2, 3]]
    fig = figures.draw_lookup(one_hot, TABLE, words=WORDS, tokens=["sleeps", "Hund"])
    assert bold(fig) == ["one-hot", *"01101001", "rows"]
    assert texts(fig)[-9:-1] == list("01101001")


def test_law_each_initialization_and_the_positions_have_their_own_line():
    sizes = {"ours": [1.0, 1.0], "loud": [4.0, 8.0], "quiet": [0.03, 0.06]}
    fig = figures.draw_scales([16, 64], sizes, places=[(60.0, 1.4), (60.0, 9.0), (60.0, 0.1)])
    lines = curves(fig.axes[0])
    assert lines == [pytest.approx([2**-0.5] * 2), *sizes.values()]
    assert texts(fig) == ["ours", "loud", "quiet", "positions"]


def test_law_a_row_without_gradient_has_a_zero_and_no_bar():
    rows = {"dog": (1.0, 0.5), "cat": (0.0, 0.25)}
    fig = figures.draw_gradients(rows, names=("from the input", "from the output"))
    widths = [[bar.get_width() for bar in ax.patches] for ax in fig.axes]
    assert widths == [[1.0, 0.0], [0.5, 0.25]]
    assert texts(fig) == ["0"]
    assert fig.axes[0].texts[0].xy == (0.0, 1)  # in the row of cat


def test_law_each_word_is_joined_to_its_translation():
    english, german = torch.tensor([[0.1, 0.2], [-0.3, 0.4]]), torch.tensor([[0.5, 0.6], [0.7, 0.8]])
    fig = figures.draw_turned(english, german, words=["dog", "cat"], limits=(-1.0, 1.0, 0.0, 1.0))
    *joins, _, second = fig.axes[0].lines
    ends = [[*line.get_xdata(), *line.get_ydata()] for line in joins]
    assert ends == [pytest.approx([0.1, 0.5, 0.2, 0.6]), pytest.approx([-0.3, 0.7, 0.4, 0.8])]
    assert list(second.get_xdata()) == pytest.approx([0.5, 0.7])
    assert texts(fig) == ["dog", "German", "English", "cat"]


def test_law_the_most_distant_german_word_names_the_languages():
    german = torch.tensor([[0.1, 0.1], [0.15, 0.1], [0.5, 0.5], [0.1, 0.2]])
    english = torch.tensor([[0.2, 0.1], [0.3, 0.1], [0.7, 0.5], [0.2, 0.3]])
    fig = figures.draw_turned(english, german, words=list("abcd"), limits=(-1.0, 1.0, 0.0, 1.0))
    assert texts(fig) == ["a", "b", "c", "German", "English", "d"]


def test_law_each_token_has_its_id_and_a_column_of_shades():
    rows = torch.tensor([[1.0, -2, 0], [0.5, 0, 2]])
    fig = figures.draw_pipeline(["My", "dog"], [740, 1245], rows, width=160)
    assert texts(fig)[:6] == ["My", "740", "⋮", "dog", "1245", "⋮"]
    assert "rows of $E$\n(160 wide)" in texts(fig)
    cells = [patch for patch in fig.axes[0].patches if isinstance(patch, Rectangle)]
    shades = [(patch.get_facecolor()[3] - 0.1) / 0.8 for patch in cells]
    assert shades == pytest.approx([0.5, 1, 0, 0.25, 0, 1])


def test_law_the_words_of_both_languages_lie_where_they_were_measured():
    english, german = torch.tensor([1.0, 5.0]), torch.tensor([4.0, 8.0, 9.0])
    (ax,) = figures.draw_languages({"id": (english, german, 3.5, 0.8)}).axes
    above, below, border = ax.lines
    assert [list(above.get_xdata()), set(above.get_ydata())] == [[1, 5], {1}]
    assert [list(below.get_xdata()), set(below.get_ydata())] == [[4, 8, 9], {0}]
    assert set(border.get_xdata()) == {3.5}
    assert texts(ax.figure) == ["80% on their own side"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["English", "German"]


def test_law_hits_have_a_row_of_marks_for_each_kind():
    (ax,) = figures.draw_hits({"map": [0.9, 0.8], "control": [0.1]}, chance=0.01, lit=["map"]).axes
    found = {line.get_marker(): line for line in ax.lines if line.get_linestyle() == "None"}
    assert list(found["o"].get_xdata()) == [0.9, 0.8]
    assert list(found["s"].get_xdata()) == [0.1]
    assert set(found["s"].get_ydata()) == {1}
    assert set(ax.lines[0].get_xdata()) == {0.01}
