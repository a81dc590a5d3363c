"""Sentence splitting: nothing is lost, and abbreviations do not end a sentence."""

import pytest

from annotated_transformer.text.sentence_splitting import split_sentences

TEXTS = {
    "en": ["Dr. Smith went home.", "It cost $3.50, i.e. nothing.", "Did he pay?", '"No!" he said.'],
    "de": ["Das ist z. B. gut.", "Dr. Meier kam am 3. Mai.", "„Komm!“, sagte er.", "Nein?"],
    "fr": ["Il dort !", "Vraiment ?", "Oui."],
    "zh": ["今天天气很好。", "我们去公园吧\uff01"],
    "xx": ["One.", "Two."],  # not a language
}


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("blank", [" ", "  ", " \t"])
def test_law_a_text_is_split_at_the_ends_of_its_sentences(language: str, blank: str):
    blank = "" if language == "zh" else blank
    assert split_sentences(blank.join(TEXTS[language]), language) == TEXTS[language]


def test_law_abbreviations_are_those_of_the_language():
    assert split_sentences("Am 3. Mai kam er.", "de") == ["Am 3. Mai kam er."]
    assert split_sentences("Am 3. Mai kam er.", "DE") == ["Am 3. Mai kam er."]
    for english in ("en", "xx", ""):
        assert split_sentences("Am 3. Mai kam er.", english) == ["Am 3.", "Mai kam er."]
        assert split_sentences("It is by Dr. Smith.", english) == ["It is by Dr. Smith."]


@pytest.mark.parametrize("text", ["", " ", "  One.\n", "a\nb", "a\u2028b", "One.\ud800 Two."])
def test_law_a_single_sentence_stays_as_it_is(text: str):
    assert split_sentences(text, "en") == [text]
