"""onnxruntime computes our steps: the same logits, and the same translations by our own searches."""

import copy
import dataclasses
from pathlib import Path

import pytest
import torch

from annotated_transformer.checkpointing.checkpoint import load, pretrained_folder
from annotated_transformer.decoding.greedy import greedy_search
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.interop.onnx import to_onnx
from annotated_transformer.interop.onnx_decoder import OnnxDecoder
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import pad
from annotated_transformer.text.tokenizer import Tokenizer
from tests.decoder_steps import decode
from tests.explorer_sentences import sentences
from tests.interop.varied_models import TEXTS, tokenizer, varied_model

pytestmark = pytest.mark.usefixtures("unchecked", "one_thread")
STEPS = 19  # more than there is space for at once
Small = tuple[Transformer, Tokenizer]


@pytest.fixture(scope="module")
def small() -> Small:
    return varied_model(num_layers=1), tokenizer()


@pytest.fixture(scope="module")
def folder(small: Small, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small model; an export of the shipped one takes 15 seconds."""
    path = tmp_path_factory.mktemp("onnx")
    to_onnx(*small, path, languages=("en", "de"))
    return path


@pytest.fixture(scope="module")
def exported(folder: Path) -> OnnxDecoder:
    return OnnxDecoder(folder)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_oracle_our_searches_find_the_same_translations(small, exported, beam_size: int):
    expected = Translator(*small).translate(TEXTS, beam_size=beam_size)
    assert Translator(*small, decoder=exported).translate(TEXTS, beam_size=beam_size) == expected
    assert len(set(expected)) > 1


def test_oracle_steps_give_the_logits_of_one_full_pass(small, exported):
    model, src = small[0], pad(small[1].encode_source(TEXTS))
    tgt = torch.randint(3, model.config.vocab_size, (len(src), STEPS))
    tgt[:, 0] = 1
    logits = decode(exported, model, src, tgt)
    with torch.no_grad():
        torch.testing.assert_close(logits, model(src, tgt), rtol=0, atol=1e-4)
    assert logits.std(dim=(0, 1)).min() > 1e-3  # the logits differ between rows and steps


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "least"), [("float32", 200), ("float16", 197), ("int8", 170)])
def test_oracle_200_translations_are_the_same_or_nearly_so(dtype: str, least: int):
    shipped = load(pretrained_folder("en-de"))
    texts, decoder = sentences("en-de", 200), OnnxDecoder.from_model(shipped[0], dtype=dtype)
    pairs = zip(*(Translator(*shipped, decoder=one).translate(texts) for one in (None, decoder)), strict=True)
    assert sum(ours == theirs for ours, theirs in pairs) >= least


@pytest.mark.message
def test_message_another_model_than_the_exported_one_or_another_device(small, exported):
    other = Transformer(dataclasses.replace(small[0].config, num_layers=3))
    words = r"the exported model has Transf.*\(.*num_layers=1.* and this one .*num_layers=3.*; export this"
    with pytest.raises(ValueError, match=words):
        greedy_search(other, torch.tensor([[4, 2]]), decoder=exported)
    with pytest.raises(ValueError, match="source ids are on meta, and OnnxDecoder computes on the CPU; move"):
        exported(copy.deepcopy(small[0]).to("meta"), torch.tensor([[4, 2]], device="meta"))


@pytest.mark.message
def test_message_a_decoder_of_another_tokenizer_or_direction(small, exported):
    assert (exported.vocabulary, exported.languages) == (small[1].vocabulary(), ("en", "de"))
    words = "^the decoder translates from en into de, and this model from de into en; give the decoder the"
    with pytest.raises(ValueError, match=words):
        Translator(*small, decoder=exported, languages=("de", "en"))
    other = copy.copy(exported)
    other.vocabulary = [*exported.vocabulary[:-1], "Xyz"]
    last = len(other.vocabulary) - 1
    words = f"^the decoder was exported with another tokenizer: token {last} is 'Xyz' there, and '.+' in this"
    with pytest.raises(ValueError, match=words):
        Translator(*small, decoder=other)


@pytest.mark.message
def test_message_an_id_outside_the_vocabulary_or_another_number_of_targets(small, exported):
    targets = exported(small[0], torch.tensor([[4, 2], [5, 2]]))
    for id_ in (-1, 270):
        words = rf"token ids .*{id_}.* do not fit a vocabulary of 270"
        with pytest.raises(ValueError, match=words):
            exported(small[0], torch.tensor([[id_, 2]]))
        with pytest.raises(ValueError, match=words):
            targets.step(torch.tensor([7, id_]))
    with pytest.raises(ValueError, match=r"tokens have shape \(1,\), and there are 2 targets"):
        targets.step(torch.tensor([7]))
