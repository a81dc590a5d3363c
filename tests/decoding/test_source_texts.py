"""Source texts must be a list of nonempty strings that fit the model's positions."""

import dataclasses

import pytest

from annotated_transformer.config import TINY
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def translator() -> Translator:
    tokenizer = Tokenizer.train(["A man is sleeping.", "Two dogs."], vocab_size=271)
    shape = {"num_layers": 1, "d_model": 20, "max_length": 29, "vocab_size": tokenizer.vocab_size}
    return Translator(Transformer(dataclasses.replace(TINY, **shape)).eval(), tokenizer)


@pytest.mark.message
@pytest.mark.parametrize(
    ("texts", "error", "sentence"),
    [
        (["A man", "", "A child"], ValueError, r"text 1 of 3 is empty \(''\); leave it out"),
        (["A man", " \n"], ValueError, r"text 1 of 2 is empty \(' \\n'\); leave it out"),
        (
            ["A man", "b" * 28],
            ValueError,
            r"text 1 of 2 \('b{28}'…\) has 30 tokens .*, and this model has positions for 29; split it",
        ),
        (["a\ud800"], ValueError, r"text 0 of 1 is not valid Unicode: .* \('a\\ud800'\); decode it as"),
        (
            [b"Zw\xc3\xb6lf \xe4".decode("utf-8", "surrogateescape")],
            ValueError,
            r"text 0 of 1 is not UTF-8 \(byte 8 is 0xe4\); convert it to UTF-8$",
        ),
        (
            ["A man", " Two dogs.\nA child\n"],
            ValueError,
            r"text 1 of 2 has a line break, character 11 of ' Two dogs\.\\nA child\\n'; give each sentence",
        ),
        (
            ["Two\r\ndogs"],
            ValueError,
            "text 0 of 1 has a line break, character 4 of .*; .* break by a space$",
        ),
        (
            ["Two\x00 dogs"],
            ValueError,
            r"text 0 of 1 has the control character U\+0000, character 4 of .*; rem",
        ),
        (["Two dogs\x7f"], ValueError, r"has the control character U\+007F, character 9 of .*; remove it$"),
        (["Two\x85 dogs\x9f"], ValueError, r"has the control character U\+0085, character 4 of"),
        ("A man", TypeError, r"a Translator takes a list of texts, not one text; give \['A man'\]"),
        (b"A man", TypeError, r"a Translator takes a list of texts, not one text"),
        (None, TypeError, "a Translator takes a list of texts, not NoneType"),
        (["A man", 7], TypeError, "text 1 of 2 is of type int; give strings"),
        ([b"A man"], TypeError, r"text 0 of 1 is of type bytes; .* text\.decode\('utf-8'\) for bytes"),
    ],
)
def test_message_texts_that_cannot_be_translated(translator: Translator, texts: object, error, sentence: str):
    with pytest.raises(error, match=sentence):
        translator.translate(texts)


def test_law_white_space_of_any_kind_may_be_cleaned_but_not_other_control_characters(translator: Translator):
    cleaning = Translator(translator.model, translator.tokenizer.cleaning())
    plain = "Two dogs"
    for space in ("\t", "\x0b", "\x0c", "\x1c", "\x1f", "\x85", "\u2028"):
        assert cleaning.encode([f"Two{space}dogs"]) == cleaning.encode([plain])
    for end in ("\n", "\r\n", "\t\n"):
        assert translator.encode([f"{end}{plain}{end}"]) == translator.encode([plain])
    assert list(translator.encode(["Two\tdogs"]).problems) == []
    for control in [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0))]:
        refused = bool(cleaning.encode([f"Two{control}dogs"]).problems)
        assert refused == (control in "\r\n" or not control.isspace()), control


def test_law_a_text_with_a_problem_is_not_blank(translator: Translator):
    sources = translator.encode(["", "\ud800", "\x00", "b" * 28, "a"])
    assert sources.blank == {0}
    assert sorted(sources.problems) == [1, 2, 3]
    assert [bool(ids) for ids in sources.ids] == [False] * 4 + [True]
