"""The drawings of the chapter on tokens and batches show the given numbers."""

import pytest

from annotated_transformer.book.chapters.text_to_batches import figures as figures
from tests.drawings import curves, hatched, texts


def test_law_each_piece_is_a_box_with_its_letters_and_only_whole_words_are_colored():
    fig = figures.draw_cuts({"a": [" The", " d", "og"], "b": [" The", " ", "d"]})
    assert [text for text in texts(fig) if text] == ["a", *"·The·dog", "b", *"·The·d"]
    faces = [patch.get_facecolor() for patch in fig.axes[0].patches]
    assert faces[0] == faces[3] != faces[1] == faces[2] == faces[4] == faces[5]


def test_law_ranks_fall_from_the_most_frequent():
    fig = figures.draw_ranks({"words": [1, 5, 2], "pieces": [3, 4]})
    assert curves(fig.axes[0]) == [[5, 2, 1], [4, 3]]
    assert texts(fig) == ["words: 1 only once", "pieces: 0 only once"]


def test_law_the_merged_pair_stands_first():
    fig = figures.draw_pair_counts({("a", "b"): 3, ("b", "c"): 3, ("c", "d"): 1}, ("b", "c"))
    assert [bar.get_width() for bar in fig.axes[0].patches] == [3, 3, 1]
    assert texts(fig) == ["3, merged into bc", "3", "1"]


def test_law_a_tree_has_the_merges_of_its_word_in_their_order():
    merges = [("s", "t"), ("e", "st"), ("w", "e")]
    assert figures.grow("west", merges) == [(1, 3, "st"), (2, 2, "est")]
    start = ["1", "2", "·", "w", "e", "s", "t"]
    for count, shown in ((0, []), (1, ["st"]), (3, ["st", "est"])):
        assert texts(figures.draw_merges(["west"], merges, count=count)) == [*start, *shown]


def test_law_each_piece_stands_above_its_id():
    fig = figures.draw_pipeline("a b", [" a", " b", "<eos>"], [7, 8, 2])
    assert texts(fig) == ["text", "pieces", "ids", "a b", "·a", "7", "·b", "8", "<eos>", "2"]


def test_law_padding_is_hatched_in_each_tensor_of_a_batch():
    fig = figures.draw_batch({"src": [["a", "b"], ["c", "-"]], "labels": [["d", "-"], ["e", "-"]]}, pad="-")
    assert [text for text in texts(fig) if text] == ["a", "b", "c", "src", "d", "e", "labels"]
    assert hatched(fig) == 3


def test_law_a_family_follows_common_sentences_to_its_end():
    pairs = [("a", "x"), ("b", "y"), ("b", "x"), ("c", "z")]
    assert figures.family_of(pairs, 0) == [True, True, True, False]
    fig = figures.draw_families(pairs, {"by family": figures.family_of(pairs, 3)})
    assert [line.get_linestyle() for line in fig.axes[0].lines] == ["-", "-", "-", "--"]


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
