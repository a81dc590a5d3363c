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
