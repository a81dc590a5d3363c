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
@pytest.mark.parametrize("text", ["", " \n"])
def test_message_an_empty_text(translator: Translator, text: str):
    with pytest.raises(ValueError, match=r"text 1 of 3 is empty \('.*'\); leave it out"):
        translator.translate(["A man", text, "A child"])


@pytest.mark.message
def test_message_one_text_is_not_a_list(translator: Translator):
    with pytest.raises(TypeError, match=r"takes a list of texts, not one text; give \['A man'\]"):
        translator.translate("A man")


@pytest.mark.message
def test_message_a_text_too_long_for_the_positions(translator: Translator):
    expected = r"text 1 of 2 \('b{28}'…\) has 30 tokens .*, and this model has positions for 29; split it"
    with pytest.raises(ValueError, match=expected):
        translator.translate(["A man", "b" * 28])


@pytest.mark.message
def test_message_a_lone_surrogate(translator: Translator):
    with pytest.raises(
        ValueError, match=r"text 0 of 1 is not valid Unicode: .* \('a\\ud800'\); decode it as"
    ):
        translator.translate(["a\ud800"])


@pytest.mark.message
def test_message_a_byte_that_is_not_utf_8(translator: Translator):
    text = b"Zw\xc3\xb6lf \xe4".decode("utf-8", "surrogateescape")
    with pytest.raises(
        ValueError, match=r"text 0 of 1 is not UTF-8 \(byte 8 is 0xe4\); convert it to UTF-8$"
    ):
        translator.translate([text])


@pytest.mark.message
@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (b"A man", r"a Translator takes a list of texts, not one text"),
        (None, "a Translator takes a list of texts, not NoneType"),
        (["A man", 7], "text 1 of 2 is of type int; give strings"),
        ([b"A man"], r"text 0 of 1 is of type bytes; .* text\.decode\('utf-8'\) for bytes"),
    ],
)
def test_message_texts_that_are_not_a_list_of_strings(translator: Translator, texts: object, sentence: str):
    with pytest.raises(TypeError, match=sentence):
        translator.translate(texts)
