"""The drawings of the chapter on tokens and batches show the given numbers."""

import pytest

from annotated_transformer.book.chapters.text_to_batches import figures as figures
from tests.drawings import curves, hatched, texts


def test_law_each_piece_is_a_box_with_its_text():
    # "og" does not begin a word
    fig = figures.draw_pieces([[" The", " d", "og", "."], [" x"]], whole={"The", "og"})
    assert texts(fig) == ["·The", "·d", "og", ".", "·x"]
    faces = [patch.get_facecolor() for patch in fig.axes[0].patches]
    assert faces[0] != faces[1] == faces[2] == faces[3] == faces[4]


def test_law_a_long_sentence_takes_several_lines():
    fig = figures.draw_pieces([["a"] * 60])
    heights = {round(text.get_position()[1], 3) for text in fig.axes[0].texts}
    assert len(texts(fig)) == 60
    assert len(heights) > 1


def test_law_the_curve_and_the_two_points_are_where_they_were_measured():
    fig = figures.draw_tokens_per_word({260: 5.0, 600: 2.0, 900: 1.5}, letters=(70, 5.5), words=(1000, 1.0))
    (ax,) = fig.axes
    assert curves(ax) == [[5.0, 2.0, 1.5], [5.5], [1.0]]
    assert [list(line.get_xdata()) for line in ax.lines] == [[260, 600, 900], [70], [1000]]
    assert set(texts(fig)) == {"characters", "words", "byte pairs"}
    assert [text.xy for text in ax.texts if text.get_text() != "byte pairs"] == [(70, 5.5), (1000, 1.0)]


@pytest.mark.parametrize("lengths", [[3, 5, 2], [4, 4, 4]])
def test_law_stripes_are_as_long_as_sentences_and_the_rest_is_hatched(lengths):
    fig = figures.draw_padding({"a": [lengths], "b": [[1], [2]]})
    first, second = fig.axes
    assert [ax.get_title() for ax in fig.axes] == ["a", "b"]
    widths = {False: 0, True: 0}
    for patch in first.patches:
        widths[bool(patch.get_hatch())] += patch.get_width()
    assert widths == {False: sum(lengths), True: 3 * max(lengths) - sum(lengths)}
    assert hatched(fig) == sum(length < max(lengths) for length in lengths)
    assert [patch.get_width() for patch in second.patches] == [1, 2]
