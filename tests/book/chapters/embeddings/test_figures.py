"""The drawings of the chapter on embeddings show the given numbers."""

import pytest
import torch

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
    assert texts(fig) == ["dog", "cat"]
