"""An ensemble searches with the mean log-probabilities of its models, which must share a tokenizer."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding.kv_cache import NoCache
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import EOS_ID, Tokenizer
from annotated_transformer.text.toy.pairs import toy_pairs
from benchmarks.ensemble import MeanDecoder, ensemble

TEXTS = [text for pair in toy_pairs(29) for text in (pair.source, pair.target)]
SOURCES = [pair.source for pair in toy_pairs(11)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the folders of two models with different weights, and of one with another tokenizer."""
    place, found = tmp_path_factory.mktemp("models"), []
    for seed, vocab_size in enumerate([311, 311, 301]):
        tokenizer = Tokenizer.train(TEXTS, vocab_size=vocab_size)
        torch.manual_seed(seed)
        shape = {"num_layers": 1, "d_model": 8, "d_ff": 16, "num_heads": 2, "max_length": 67}
        model = Transformer(TransformerConfig(vocab_size=tokenizer.vocab_size, **shape))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(4)  # so that the models prefer different tokens
        checkpoint.save(place / str(seed), model, tokenizer, languages=("en", "de"))
        found.append(place / str(seed))
    return found


@pytest.fixture
def models(stirred: Callable[..., Transformer]) -> list[Transformer]:
    return [stirred(seed).eval() for seed in (2, 3)]


def test_law_a_step_gives_the_geometric_mean_of_the_probabilities(models: list[Transformer]):
    src = torch.tensor([[4, 5, EOS_ID], [6, 7, EOS_ID]])
    with torch.no_grad():
        alone, others = ([NoCache(model, src) for model in models] for _ in range(2))
        mean = MeanDecoder(others)
        for tokens in map(torch.tensor, ([1, 1], [4, 5], [6, 3])):
            found = mean.step(tokens).softmax(dim=1)
            first, second = (each.step(tokens).softmax(dim=1) for each in alone)
            expected = (first * second).sqrt()
            torch.testing.assert_close(found, expected / expected.sum(dim=1, keepdim=True))
            for each in (mean, *alone):
                each.select(torch.tensor([1, 0]))


@pytest.mark.usefixtures("unchecked")
def test_law_an_ensemble_of_one_translates_as_the_model_and_one_of_two_uses_both(folders: list[Path]):
    found = {
        len(chosen): ensemble(chosen).translate(SOURCES, beam_size=5)
        for chosen in ([folders[0]], folders[:2])
    }
    alone = [Translator.from_folder(folder).translate(SOURCES, beam_size=5) for folder in folders[:2]]
    assert found[1] == alone[0]
    assert found[2] != alone[0] != alone[1] != found[2]
    assert ensemble(folders[:2]).languages == ("en", "de")
    assert ensemble([folders[1], folders[0]]).translate(SOURCES, beam_size=5) == found[2]


@pytest.mark.message
def test_message_models_with_different_tokenizers(folders: list[Path]):
    message = r"models in .*0 and .*2 have different tokenizers, so .*; train all of them on the same pairs"
    with pytest.raises(ValueError, match=message):
        ensemble(folders)
