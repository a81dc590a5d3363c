"""Words of languages with and without spaces, and in one form: without case, punctuation, and spelling."""

# ruff: noqa: RUF001 (these languages have other letters and marks)

import re
import unicodedata
from pathlib import Path

import pytest

from annotated_transformer.text.corpus import load_corpus
from annotated_transformer.text.words import count_words, normalized_words

SPACED = (
    "Don't say “it's 5 € for 3 kg – half-price”; e.g. naïve co-workers do…",
    "Die Straße ist 1½ km lang, sagt Zoë; CO₂-Werte: «-3 °C»!",
    "Ёлка – это красиво. Sigma's ΟΔΥΣΣΕΎΣ; ﬁnd_me @home 50%",
    "?!",
)


def test_oracle_text_with_spaces_has_the_words_between_them():
    for text in SPACED:
        assert count_words(text) == len(text.split())
        assert normalized_words(text) == (" ".join(re.findall(r"\w+", text.casefold())) or text)


@pytest.mark.slow
def test_oracle_the_published_corpora_have_the_words_between_their_spaces(shared_data: Path):
    """So the splits of Tatoeba are those on which the shipped models were trained, pair by pair."""
    for name in ("tatoeba", "multi30k"):
        splits = load_corpus(name, folder=shared_data).splits.values()
        sentences = [sentence for split in splits for pair in split for sentence in pair]
        assert len(sentences) > 50_000
        text = "\n".join(sentences)
        assert count_words(text) == len(text.split())
        assert normalized_words(text) == " ".join(re.findall(r"\w+", text.casefold()))
        wordless = [sentence for sentence in sentences if not re.search(r"\w", sentence)]
        assert list(map(normalized_words, wordless)) == wordless


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我们去北京", 3),
        ("สวัสดีครับ", 2),
        ("私はPythonが好き", 6),  # 私, は, Python, が, 好, き
        ("ខ្ញុំ\u200bស្រលាញ់\u200bអ្នក", 4),  # its words are separated by zero-width spaces
        ("我在2019年去", 3),
        ("\u200b", 0),
        ("\ufeff \u2060 \u200e", 0),
        ("ﾊﾟﾘです", 1),
        (unicodedata.normalize("NFD", "ガギ"), 1),
    ],
)
def test_law_words_are_estimated_in_scripts_without_spaces(text: str, words: int):
    assert count_words(text) == words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("मैं दिल्ली में हूँ।", "मैं दिल्ला में हूँ।"),  # vowel signs
        ("เข้า", "เข่า"),  # to enter, a knee
        ("كَتَبَ الوَلَدُ", "كُتِبَ الوَلَدُ"),  # wrote, was written
        ("דָּבָר", "דֶּבֶר"),
        ("لديه ٣ كتب", "لديه ٤ كتب"),  # digits
        ("二〇一九年", "二〇二九年"),
        ("😀", "😢"),
    ],
)
def test_law_sentences_with_other_signs_digits_or_symbols_stay_different(one: str, other: str):
    assert normalized_words(one) != normalized_words(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Größe ﬁndet STRASSE", "GRÖSSE FINDET straße!"),
        ("İyi IŞIK", "iyi ışık"),  # Turkish
        ("Don’t go", "DON'T GO!"),
        ("Обʼєкт", "об'єкт"),  # letter or quotation mark
        (unicodedata.normalize("NFD", "Über Việt cà phê が"), "über Việt cà phê が."),
        ("मैं हूँ।", "मैं, हूँ"),
        ("ขอบคุณ ครับ", "ขอบคุณครับ"),
        ("ខ្ញុំ\u200bទៅ", "ខ្ញុំទៅ។"),
        ("می\u200cروم", "می\u200cروم."),
        ("I ❤\ufe0f it\u200e", "i ❤ it"),
        ("❤\ufe0f!", "❤"),
        ("so\u00adft", "soft"),
        ("２０１９年、ﾊﾟﾘで", "2019年パリで"),
        ("كـتـاب", "كتاب"),
        ("ﻛﺘﺎﺏ", "كتاب"),
        ("น้ำ", "น้ํา"),
        ("\u2f08生", "人生"),
    ],
)
def test_law_case_punctuation_and_invisible_characters_do_not_count(one: str, other: str):
    assert one != other
    assert normalized_words(one) == normalized_words(other)
