"""Moses preprocessing: the output of its scripts, and recasing."""

import pytest

from annotated_transformer.text.moses import Recaser, moses_lowercase


# The output of normalize-punctuation.perl and tokenizer.perl for the lowercased text, with escapes undone.
@pytest.mark.parametrize(
    ("language", "text", "prepared"),
    [
        ("de", "Zwei Männer, ein Hund.", "zwei männer , ein hund ."),
        ("de", "Er sagt: „Ja, gern.“", 'er sagt : " ja , gern " .'),
        ("de", '"Wir spielen."', '" wir spielen " .'),
        ("de", "Das hook ’em (blau) kostet 3,50 €.", 'das hook " em ( blau ) kostet 3,50 € .'),
        ("de", "Levi's Blue-Jeans – z.B. heute…", "levi ' s blue-jeans - z.b. heute ..."),
        ("en", "The dog's ball isn't here.", "the dog 's ball isn 't here ."),
        ("en", '"Come in," he said.', '" come in , " he said .'),
        ("en", "A sign [stop] & <go> | 50 %", "a sign [ stop ] & < go > | 50 %"),
    ],
)
def test_oracle_preprocessing_matches_the_scripts_of_moses(language: str, text: str, prepared: str):
    assert moses_lowercase(text, language) == prepared


@pytest.mark.message
def test_message_a_language_without_rules():
    with pytest.raises(ValueError, match=r"no rules for the language 'tlh'; choose from as, bn, .* de, .* z"):
        moses_lowercase("nuqneH", "tlh")


PLAIN = ["Der Mann sieht den Hund, der bellt.", "Hier sieht ein Mann der Frau zu.", '"Ja", sagt der Mann.']


def test_law_a_training_sentence_is_restored():
    recase = Recaser(PLAIN, "de")
    for text in PLAIN[:2]:
        assert recase(moses_lowercase(text, "de")) == text
    assert recase("der mann und der elch .") == "Der Mann und der elch."  # an unknown word stays lowercase
    assert recase("") == ""


def test_law_a_recaser_neither_adds_nor_removes_entities():
    recase = Recaser(["We saw O'Neill."], "en")
    assert recase(moses_lowercase("We saw O'Neill.", "en")) == "We saw O'Neill."
    assert recase("a sign &lt; b") == "A sign &lt; b"


def test_law_recasing_uses_the_most_frequent_form_and_ignores_first_words():
    recase = Recaser(["Junge Frau.", "Junge Frau.", "Der Junge geht.", "Ein Junge, eine junge Frau."], "de")
    assert recase("die junge frau") == "Die Junge Frau"
