"""Filtering: which sentence pairs are left out."""

import pytest

from annotated_transformer.text.sentence_pairs import filter_reason, keep_usable


@pytest.mark.parametrize(
    ("shorter", "longer", "reason"),
    [
        (0, 0, "empty"),
        (0, 11, "empty"),
        (1, 6, None),
        (1, 7, "mismatched"),
        (2, 9, None),
        (2, 10, "mismatched"),
        (11, 36, None),
        (11, 37, "mismatched"),
    ],
)
def test_law_pairs_are_mismatched_beyond_three_times_plus_three_words(
    shorter: int, longer: int, reason: str | None
):
    pair = (" \t" + "a " * shorter, "b " * longer)
    assert filter_reason(pair) == filter_reason(pair[::-1]) == reason


def test_law_each_pair_is_kept_or_counted_once():
    good = [("One.", "Eins."), ("Run!", "Lauf doch bitte schnell weg!")]
    empty = [("", "Nichts."), ("", "eins zwei drei vier"), (" ", "")]
    mismatched = [("Yes.", "Das ist gewiss keine Übersetzung davon, oder?")] * 2
    pairs = [*empty, good[0], *mismatched, good[1]]
    assert keep_usable(pairs) == (good, {"empty": 3, "mismatched": 2})
