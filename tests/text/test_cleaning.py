"""What cleaning changes in a sentence, and which pairs are left out."""

import unicodedata

import pytest

from annotated_transformer.text.cleaning import clean, filter_reason, keep_usable


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("  zwei \t Blanks\u3000und\u00a0harte\u202fdazu\r\n", "zwei Blanks und harte dazu"),
        ("Donau\u00addampf\u200bschiff\ufefffahrt\u2060", "Donaudampfschifffahrt"),
        ("cafe\u0301, scho\u0308n", "café, schön"),
        ("„Ja“, sagte er, ‚vielleicht‘.", "\"Ja\", sagte er, 'vielleicht'."),  # noqa: RUF001
        ("Don’t say “no”, «non».", 'Don\'t say "no", "non".'),
        ("Größer – nämlich 20\u2009°C…", "Größer – nämlich 20 °C…"),
        ("\u200b \u00ad", ""),
    ],
)
def test_law_invisible_characters_and_variants_are_normalized(text: str, cleaned: str):
    assert clean(text) == cleaned


@pytest.mark.parametrize(
    "text", ["e\u00ad\u0301", "\u200ba \u200b b", "\u2060\u00a0", "a\ufeff\u0308", "“’", "\ufeff\u2028x\x1f"]
)
def test_law_a_clean_sentence_stays_as_it_is(text: str):
    once = clean(text)
    assert once != text  # else there would be nothing to clean
    assert clean(once) == once
    assert unicodedata.is_normalized("NFC", once)


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
