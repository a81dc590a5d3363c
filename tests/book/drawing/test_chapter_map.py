"""The map of the model grows from chapter to chapter, and each chapter finds itself on it."""

from pathlib import Path

import pytest

from annotated_transformer.book.drawing.chapter_map import SINCE, describe_chapter_map, draw_chapter_map
from annotated_transformer.book.drawing.figures import MAX_ALT_WORDS
from annotated_transformer.plotting.palette import INK, PAPER
from builder.chapters import read_chapters
from tests.drawings import texts

KINDS = {"attention", "self-attention", "cross-attention"}  # attention has kinds from chapter 4 on
ROOT = Path(__file__).parents[3]
HERE = {chapter.number: chapter.here for chapter in read_chapters(ROOT) if chapter.here}
NAMED = {"embedding": "embedding", "output": "linear, softmax", "positions": "positions", "loss": "loss"}


def inverted(fig):
    faces = [patch.get_window_extent() for patch in fig.axes[0].patches if patch.get_facecolor()[:3] == ink()]
    labels = [text for text in fig.axes[0].texts if text.get_color() == PAPER]
    spots = [fig.axes[0].transData.transform(text.get_position()) for text in labels]
    assert all(any(face.contains(*spot) for face in faces) for spot in spots)
    return {text.get_text() for text in labels}


def ink():
    return tuple(int(INK[place : place + 2], 16) / 255 for place in (1, 3, 5))


def test_law_the_map_shows_what_the_reader_knows_and_nothing_else():
    for chapter in HERE:
        words = texts(draw_chapter_map(chapter, HERE[chapter]))
        for part, label in NAMED.items():
            assert (label in words) == (chapter >= SINCE[part]), (chapter, part)
        assert words.count("feed-forward") == 2 * (chapter >= SINCE["feed-forward"])
        assert len([word for word in words if word in KINDS]) == 3 * (chapter >= 2)


def test_law_each_chapter_is_at_its_part():
    found = {chapter: inverted(draw_chapter_map(chapter, HERE[chapter])) for chapter in HERE}
    assert found[2] == {"attention"}
    assert found[4] == {"self-attention"}
    assert found[7] == {"embedding", "linear, softmax"}
    assert found[12] == {"cross-attention"}
    assert found[16] == {"loss"}
    wide = {
        chapter: max(line.get_linewidth() for line in draw_chapter_map(chapter, HERE[chapter]).axes[0].lines)
        for chapter in HERE
    }
    assert [chapter for chapter, width in wide.items() if width > 2] == [1, 18]
    edges = {
        chapter: max(
            patch.get_linewidth() for patch in draw_chapter_map(chapter, HERE[chapter]).axes[0].patches
        )
        for chapter in HERE
    }
    assert [chapter for chapter, edge in edges.items() if edge > 2] == [11, 13, 14, 20, 21]


def test_law_a_part_is_known_from_the_first_chapter_that_is_about_it():
    first = {part: min(chapter for chapter in HERE if part in HERE[chapter]) for part in {*SINCE} - {"mask"}}
    assert {**first, "mask": 6} == SINCE


def test_law_the_mask_hides_what_comes_later():
    def hidden(chapter):
        cells = [
            patch
            for patch in draw_chapter_map(chapter, HERE[chapter]).axes[0].patches
            if patch.get_linewidth() == 0.8
        ]
        dark = [patch.get_xy() for patch in cells if patch.get_facecolor()[:3] == ink()]
        return len(cells), [(x > 13.1, y) for x, y in dark]

    assert hidden(5) == (0, [])
    count, (first, second, third) = hidden(6)
    assert count == 9
    assert first[1] == second[1] > third[1]  # two keys of the first query, and one of the second
    assert (second[0], third[0]) == (True, True)


def test_law_the_map_is_described_in_words():
    for chapter in HERE:
        assert len(describe_chapter_map(chapter, HERE[chapter]).split()) <= MAX_ALT_WORDS
    assert describe_chapter_map(9, HERE[9]).endswith(
        "This chapter: Add & Norm. Known by now: encoder attention, decoder attention, cross-attention, "
        "the causal mask, embedding, the linear layer and the softmax, positions."
    )


@pytest.mark.message
def test_a_part_that_is_not_on_the_map_is_refused():
    with pytest.raises(
        ValueError, match=r"the map has no engine; its parts are encoder attention, .*, next$"
    ):
        draw_chapter_map(3, ["mask", "engine"])
