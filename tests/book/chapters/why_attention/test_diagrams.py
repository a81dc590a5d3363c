"""The drawings of chains, paths and steps show the given numbers and words."""

import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

from annotated_transformer.book.chapters.why_attention import diagrams
from annotated_transformer.plotting.palette import FIRST, SECOND
from tests.drawings import hatched, texts

WORDS = ["a", "b", "c", "d", "e"]


def arrows(fig: Figure, color: str) -> int:
    found = [patch for patch in fig.axes[0].patches if isinstance(patch, FancyArrowPatch)]
    return sum(patch.get_edgecolor() == to_rgba(color) for patch in found)


def test_law_lines_are_as_wide_as_the_weights():
    fig = diagrams.draw_two_ways(["a", "b", "c"], [0.5, 0.2, 0.3], output="d")
    assert [line.get_linewidth() for line in fig.axes[0].lines] == pytest.approx([4.5, 1.8, 2.7])
    assert {"a", "b", "c", "d", "translation", "0.5", "0.2", "0.3"} <= set(texts(fig))


def test_law_bars_are_as_high_as_the_effects_of_their_row():
    fig = diagrams.draw_influence({0.5: [1.0, 0.5, 0.25], 3.0: [1.0, 3.0, 9.0]})
    heights = [patch.get_height() for patch in fig.axes[0].patches if type(patch) is Rectangle]
    assert [height / heights[0] for height in heights] == pytest.approx([1, 0.5, 0.25, 1 / 9, 1 / 3, 1])
    assert {"$u$ = 0.5", "+ 1/4", "$u$ = 3", "+ 9"} <= set(texts(fig))


@pytest.mark.parametrize(("recovered", "wrong"), [("123456", 0), ("123965", 3), ("1234567", 1)])
def test_law_a_digit_is_hatched_where_it_is_not_the_stored_one(recovered, wrong):
    fig = diagrams.draw_digits("123456", recovered)
    assert hatched(fig) == wrong
    assert texts(fig) == ["stored", *"123456", "read back", *recovered]


def test_law_a_path_has_a_factor_for_each_word_after_the_first():
    fig = diagrams.draw_paths(WORDS)
    factors = [text for text in texts(fig) if text.startswith("$D")]
    assert factors == ["$D_{2}U$", "$D_{3}U$", "$D_{4}U$", "$D_{5}U$"]
    assert arrows(fig, FIRST) == len(factors) + 1  # and one along the lower path
    assert {*WORDS, "A chain of states: 4 factors"} <= set(texts(fig))


def test_law_one_word_after_another_or_all_in_one_step():
    fig = diagrams.draw_timeline(WORDS)
    assert {"time: 5 steps in a row", "time: 1 step"} <= set(texts(fig))
    places: dict[str, list[float]] = {FIRST: [], SECOND: []}
    for patch in fig.axes[0].patches:
        for color, found in places.items():
            if not isinstance(patch, FancyArrowPatch) and patch.get_edgecolor() == to_rgba(color):
                found.append(patch.get_x())
    assert len(set(places[FIRST])) == len(WORDS)
    assert (len(places[SECOND]), len(set(places[SECOND]))) == (len(WORDS), 1)


def test_law_the_task_leads_from_the_first_word_to_the_last():
    fig = diagrams.draw_recall(13)
    assert arrows(fig, FIRST) == 1
    assert "from word 1 to word 13" in texts(fig)


def test_law_each_copy_reads_one_vector_or_mostly_its_own_state():
    fig = diagrams.draw_copiers(WORDS)
    assert [texts(fig).count(word) for word in WORDS] == [4] * len(WORDS)
    widths = [line.get_linewidth() for line in fig.axes[0].lines]
    widest = [number for number, width in enumerate(widths) if width == max(widths)]
    assert widest == [number * (len(WORDS) + 1) for number in range(len(WORDS))]
