"""What greedy search promises: the likeliest token each time, to EOS, whoever else is in the batch."""

import dataclasses

import pytest
import torch

from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding.search import EXTRA_TOKENS, greedy_search
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import pad
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID, PAD_ID

VOCAB = 11
SHAPE = TransformerConfig(
    vocab_size=VOCAB, max_length=101, num_layers=1, d_model=12, d_ff=14, num_heads=3, dropout=0.5
)
SOURCES = [[4, EOS_ID], [5, 6, 7, 8, 9, 10, EOS_ID], [9, 9, EOS_ID], [10, 4, 7, 4, EOS_ID], [8, 5, EOS_ID]]


def stirred(config: TransformerConfig) -> Transformer:
    """Return a model that says many things: an untrained one repeats its input, for the residual wins."""
    torch.manual_seed(10)
    model = Transformer(config).double()
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, torch.nn.Linear):
                module.weight *= 2
    return model


@pytest.fixture
def model() -> Transformer:
    return stirred(dataclasses.replace(SHAPE, max_length=23))


class Scripted(Transformer):
    """A model that says for each sentence what it is told, whatever it has read."""

    script: torch.Tensor

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        self.step += 1
        return torch.nn.functional.one_hot(self.script[:, self.step - 1], VOCAB).double()[:, None]


def scripted(*sentences: list[int]) -> Scripted:
    model = Scripted(SHAPE)
    model.script, model.step = pad([s + [4] * (113 - len(s)) for s in sentences]), 0
    return model


def strip(ids: list[int]) -> list[int]:
    return ids[: ids.index(EOS_ID) + 1] if EOS_ID in ids else ids


def test_law_each_token_is_the_likeliest_after_those_before_it(model: Transformer):
    said = set()
    for source in SOURCES:
        src = pad([source])
        found = strip(greedy_search(model, src)[0].tolist())
        logits = model.eval()(src, torch.tensor([[BOS_ID, *found[:-1]]]))
        assert logits[0].argmax(dim=-1).tolist() == found
        said |= set(found)
    assert len(said) > 2  # else a model that says one word would do


def test_law_company_changes_nothing(model: Transformer):
    together = greedy_search(model, pad(SOURCES)).tolist()
    alone = [greedy_search(model, pad([source]))[0].tolist() for source in SOURCES]
    real = [[token for token in ids if token != PAD_ID] for ids in together]
    assert real == [[token for token in ids if token != PAD_ID] for ids in alone]
    assert len({tuple(ids) for ids in real}) > 1


def test_law_a_sentence_ends_with_its_eos_and_padding_follows():
    model = scripted([5, EOS_ID, 6, 7], [EOS_ID, EOS_ID], [8, 9, 10, EOS_ID, 5])
    found = greedy_search(model, pad([[4, EOS_ID]] * 3))
    assert found.tolist() == [[5, EOS_ID, 0, 0], [EOS_ID, 0, 0, 0], [8, 9, 10, EOS_ID]]
    assert model.step == 4  # no step after the last EOS


def test_law_a_sentence_without_eos_ends_at_its_own_length_plus_fifty():
    found = greedy_search(
        scripted([5], [6], [7, EOS_ID]), pad([[4, EOS_ID], [4, 4, 4, 4, EOS_ID], [4, EOS_ID]])
    )
    assert (found != PAD_ID).sum(dim=1).tolist() == [2 + EXTRA_TOKENS, 5 + EXTRA_TOKENS, 2]
    assert EXTRA_TOKENS == 50  # the paper's


def test_law_no_target_is_longer_than_the_positions():
    model = scripted([5])
    assert greedy_search(model, pad([[4] * 90])).shape == (1, SHAPE.max_length)


@pytest.mark.parametrize("training", [True, False])
def test_law_dropout_is_off_meanwhile_and_the_mode_comes_back(model: Transformer, training: bool):
    model.train(training)
    first, again = (greedy_search(model, pad(SOURCES)) for _ in range(2))
    assert torch.equal(first, again)
    assert model.training is training
    assert not first.requires_grad


def test_law_the_models_own_ids_are_used(model: Transformer):
    other_id = torch.tensor([7, 8, 9, 3, 4, 5, 6, 0, 1, 2, 10])  # of each of the first model's ids
    other = Transformer(dataclasses.replace(SHAPE, max_length=23, pad_id=7, bos_id=8, eos_id=9)).double()
    other.load_state_dict(model.state_dict())
    with torch.no_grad():
        other.embedding.weight[other_id] = model.embedding.weight
    assert torch.equal(
        greedy_search(other, other_id[pad(SOURCES)]), other_id[greedy_search(model, pad(SOURCES))]
    )


@pytest.mark.message
@pytest.mark.parametrize("src", [torch.zeros(2, 0, dtype=torch.long), torch.tensor([[4, 2], [0, 0]])])
def test_message_an_empty_source(model: Transformer, src: torch.Tensor):
    shape = r"\(2, 0\)" if src.numel() == 0 else r"\(2, 2\)"
    with pytest.raises(
        ValueError, match=rf"src of shape {shape} holds an empty source: .* \(pad_id=0\), EOS at least"
    ):
        greedy_search(model, src)


@pytest.mark.message
def test_message_the_mode_comes_back_after_an_error(model: Transformer):
    with pytest.raises(ValueError, match="a sequence of 29 tokens is longer than the 23 positions"):
        greedy_search(model.train(), torch.full((1, 29), 4))
    assert model.training
