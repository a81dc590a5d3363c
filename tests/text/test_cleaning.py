"""Cleaning: which characters it changes, and that it is idempotent."""

import hashlib
import unicodedata
from pathlib import Path

import pytest

from annotated_transformer.text.cleaning import SIGNS, clean, set_aside
from annotated_transformer.text.corpus import load_corpus


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("  zwei \t Blanks\u3000und\u00a0harte\u202fdazu\r\n", "zwei Blanks und harte dazu"),
        ("Donau\u00addampf\u200bschiff\ufefffahrt\u2060", "Donaudampfschifffahrt"),
        ("cafe\u0301, scho\u0308n", "café, schön"),
        ("„Ja“, sagte er, ‚vielleicht‘.", "\"Ja\", sagte er, 'vielleicht'."),  # noqa: RUF001
        ("‟Ja”", '"Ja"'),
        ("Don’t say “no”, «non».", 'Don\'t say "no", "non".'),
        ("Größer – nämlich 20\u2009°C…", "Größer – nämlich 20 °C..."),
        ("\u200b \u00ad", ""),
        ("It´s 5′ 6″ of ‹well‐known› and ‑5 or −5", "It's 5' 6\" of 'well-known' and -5 or -5"),  # noqa: RUF001
        ("ｆｕｌｌ\u3000ｗｉｄｔｈ！ eﬀicient ﬁsh‼", "full width! efficient fish!!"),  # noqa: RUF001
        ("\u2066a\u202eb\u180ec\ufe0fd\U000e0041e\u034ff\u061cg\u206ah\ufffbi\U000e0100", "abcdefghi"),
        ("\u0301no \u0308base.\u0301 1\ufe0f\u20e3 o\u0336u\u0332t a\u0301\u0323", "no base. 1 out ạ́"),
        ("a\u200cb\u200dc \u0646\u200c", "abc \u0646"),
        ("𝐓𝐡𝐞 𝓬𝖆𝕥 ℎ𝑎𝑠 𝟗 ℱ, daſs Ludwig Ⅷ. 5\u00a0℃", "The cat has 9 F, dass Ludwig VIII. 5 °C"),  # noqa: RUF001
        ("\ufffeba\ufdd0se\uffff", "base"),
        ("می\u200cخواهم ۵\u200cام क्\u200dष র\u200d্য", "می\u200cخواهم ۵\u200cام क्\u200dष র\u200d্য"),  # noqa: RUF001
        ("x²+1≠√y, CO₂, ½, 3 €, №, é\u0304, =\u0338", "x²+1≠√y, CO₂, ½, 3 €, №, é\u0304, ≠"),
    ],
)
def test_law_invisible_characters_and_variants_are_normalized(text: str, cleaned: str):
    assert clean(text) == cleaned


CHAINS = ["e\u00ad\u0301", "\u200ba \u200b b", "\u2060\u00a0", "a\ufeff\u0308", "“’", "\ufeff\u2028x\x1f"]


@pytest.mark.parametrize("text", [*CHAINS, "\u200e\u0301a", " \u2800\u0301 b"])
def test_law_a_clean_sentence_stays_as_it_is(text: str):
    once = clean(text)
    assert once != text  # otherwise there would be nothing to clean
    assert clean(once) == once == unicodedata.normalize("NFC", once)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "☀️❤️"),
        ("", " 👩\u200d👩\u200d👧 👍🏽 🇩🇪"),
        ("", " 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"),
        ("- ", " -"),
        ("*", "*"),
        ("1️⃣ ", " #️⃣"),
        ("✓ ★ ", " → \ue001"),
        ("> # ", " :)"),
        ("1. ", " \u2639\ufe0f"),
        ("① ", " ;-) ~ \ufffc🫨"),
        ("\u2139\ufe0f ", " <3 xD :D 😀"),
    ],
)
@pytest.mark.parametrize("text", ["It is nice.", '"No!", he said ...', "20 %", "Wie ?", "Hi"])
def test_law_decorations_are_set_aside_and_nothing_else(before: str, text: str, after: str):
    assert set_aside(before + text + after) == (before, text, after)
    assert set_aside(f" {before}{text}\u2063{after} ")[1] == f"{text}\u2063"
    assert set_aside(text) == ("", text, "")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("I ♥ the 🌊!", ("", "I the!", " ♥ 🌊")),
        ("Nice☀️today. 😊 Bye…😊", ("", "Nice today. Bye…", "☀️ 😊😊")),
        ("3 + 4 = 7 °C – C++.", ("", "3 + 4 = 7 °C – C++.", "")),
        ("Tom[1] is [2].[3]", ("", "Tom is [2].", "[1][3]")),
        ("Is 2 <3, vs. :D or xD?", ("", "Is 2 <3, vs. :D or?", " xD")),
        ("• (It is nice.) 😊", ("• (", "It is nice.", ") 😊")),
        ("(20 %)!", ("(", "20 %!", ")")),
        ("It is (very) nice.", ("", "It is (very) nice.", "")),
        ("(Yes), it is (nice).", ("", "(Yes), it is (nice).", "")),
    ],
)
def test_law_pictures_inside_and_parentheses_around_a_sentence_are_set_aside(text: str, parts: tuple):
    assert set_aside(text) == parts


@pytest.mark.parametrize(
    "text", ["", " ", "...", "?!", "—", "♪ ♪", "😊", "=====", "\u200e", "\u0301", "•", "1️⃣", "(*)"]
)
def test_law_without_a_letter_or_a_digit_there_is_no_sentence(text: str):
    for sign in ("", "€", *SIGNS["s"]):
        assert set_aside(sign + text) == ("", "", sign + text)
        for letter in ("a", "5", "五", "\U0001d41a"):
            assert set_aside(sign + letter + text)[1].startswith(sign + letter)


@pytest.mark.slow
def test_law_no_sentence_of_tatoeba_has_decorations_and_none_is_cleaned_further(shared_data: Path):
    """So the models of this package read today's text as in training; the digest is that of their splits."""
    splits = load_corpus("tatoeba", folder=shared_data).splits
    digest = hashlib.sha256(repr(sorted(splits.items())).encode()).hexdigest()
    assert digest == "1fc811afd6bfce28e7a0bb4b5bc30b707a7c774d41e5ec84ecdb85c2fb7a1894"
    for text in {text for pairs in splits.values() for pair in pairs for text in pair}:
        assert (clean(text), *set_aside(text)) == (text, "", text, ""), text
