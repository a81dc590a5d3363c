"""What a translator promises: each text's translation in its place, from a folder, and no empty text."""

import dataclasses
from pathlib import Path

import pytest
import torch

from annotated_transformer import checkpoint
from annotated_transformer.config import TINY
from annotated_transformer.decoding.search import greedy_search
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import Tokenizer

TEXTS = [
    "A man is sleeping in the park.",
    "Two dogs.",
    "A child",
    "Two dogs.",
    "Men are running, and dogs, too.",
]


@pytest.fixture(scope="module")
def translator() -> Translator:
    tokenizer = Tokenizer.train(TEXTS, vocab_size=271)
    torch.manual_seed(0)
    model = Transformer(
        dataclasses.replace(TINY, num_layers=1, d_model=20, max_length=29, vocab_size=tokenizer.vocab_size)
    )
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, torch.nn.Linear):
                module.weight *= 4  # an untrained model repeats its input, for the residual wins
    return Translator(model.double().eval(), tokenizer)


@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_law_each_translation_stands_where_its_text_stood(translator: Translator, batch_size: int):
    expected = []
    for text in TEXTS:
        ids = torch.tensor(translator.tokenizer.encode_source([text]))
        expected += translator.tokenizer.decode(greedy_search(translator.model, ids).tolist())
    assert len(set(expected)) == 4  # else their order could not be seen
    assert translator.translate(TEXTS, batch_size=batch_size) == expected


def test_law_a_folder_translates_as_the_model_did(translator: Translator, tmp_path: Path):
    checkpoint.save(tmp_path, translator.model, translator.tokenizer)
    assert Translator.from_folder(tmp_path).translate(TEXTS) == translator.translate(TEXTS)


def test_law_nothing_gives_nothing(translator: Translator):
    assert translator.translate([]) == []


@pytest.mark.message
@pytest.mark.parametrize("text", ["", " \n"])
def test_message_an_empty_text(translator: Translator, text: str):
    with pytest.raises(ValueError, match=r"text 1 of 3 is empty \('.*'\); leave it out"):
        translator.translate(["A man", text, "A child"])


@pytest.mark.message
def test_message_one_text_is_not_a_list(translator: Translator):
    with pytest.raises(TypeError, match=r"takes a list of texts, not one text; give \['A man'\]"):
        translator.translate("A man")
