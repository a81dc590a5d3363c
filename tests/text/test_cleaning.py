"""Cleaning: which characters it changes, and that it is idempotent."""

import unicodedata

import pytest

from annotated_transformer.text.cleaning import clean


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("  zwei \t Blanks\u3000und\u00a0harte\u202fdazu\r\n", "zwei Blanks und harte dazu"),
        ("Donau\u00addampf\u200bschiff\ufefffahrt\u2060", "Donaudampfschifffahrt"),
        ("cafe\u0301, scho\u0308n", "café, schön"),
        ("„Ja“, sagte er, ‚vielleicht‘.", "\"Ja\", sagte er, 'vielleicht'."),  # noqa: RUF001
        ("‟Ja”", '"Ja"'),
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
    assert once != text  # otherwise there would be nothing to clean
    assert clean(once) == once
    assert unicodedata.is_normalized("NFC", once)
