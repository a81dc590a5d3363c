"""Greedy search: the most likely token at each step until EOS, regardless of the rest of the batch."""

import math
from collections.abc import Callable
from functools import partial

import pytest
import torch

from annotated_transformer.decoding.beam import beam_search
from annotated_transformer.decoding.greedy import EXTRA_TOKENS, greedy_search
from annotated_transformer.decoding.kv_cache import MakeDecoder
from annotated_transformer.decoding.sampling import sample
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import pad
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID, PAD_ID
from tests.decoder_steps import CACHES

VOCAB = 11


def one_hot(token: int) -> list[float]:
    return [float(i == token) for i in range(VOCAB)]


@pytest.mark.usefixtures("unchecked")
def test_law_each_token_is_the_most_likely_after_those_before_it(stirred, sources):
    said = set()
    for seed in (19, 22):
        model = stirred(seed)
        for source in sources:
            src = pad([source])
            found = greedy_search(model, src)[0].tolist()
            logits = model.eval()(src, torch.tensor([[BOS_ID, *found[:-1]]]))
            logits[..., [PAD_ID, BOS_ID]] = -math.inf  # a target contains neither
            assert logits[0].argmax(dim=-1).tolist() == found
            said |= set(found)
    assert len(said) > 2  # otherwise a model that repeats one token would pass


def test_law_a_target_ends_with_eos_and_padding_follows(model: Transformer, script: Callable[..., object]):
    first, after, steps = iter([5, EOS_ID, 8]), {(5,): EOS_ID, (8,): 9, (8, 9): 10, (8, 9, 10): EOS_ID}, []

    def scores(said: list[int]) -> list[float]:
        steps.append(len(said))
        return one_hot(after[tuple(said)] if said else next(first))

    found = greedy_search(model, pad([[4, EOS_ID]] * 3), decoder=script(scores))
    assert found.tolist() == [[5, EOS_ID, 0, 0], [EOS_ID, 0, 0, 0], [8, 9, 10, EOS_ID]]
    assert steps == [0, 0, 0, 1, 1, 2, 3]  # finished rows take no more steps


def test_law_a_target_without_eos_ends_50_tokens_after_its_sources_length_or_at_the_last_position(
    model: Transformer, stirred: Callable[..., Transformer], script: Callable[..., object]
):
    decoder, src = script(lambda said: one_hot(5)), pad([[4] * 18 + [EOS_ID]])
    assert greedy_search(model, src, decoder=decoder).shape == (1, model.config.max_length)
    model, src = stirred(max_length=101), pad([[4, EOS_ID], [4, 4, 4, 4, EOS_ID]])
    found = greedy_search(model, src, decoder=decoder)
    assert (found != PAD_ID).sum(dim=1).tolist() == [2 + EXTRA_TOKENS, 5 + EXTRA_TOKENS]
    assert EXTRA_TOKENS == 50  # the paper's


@pytest.mark.message
@pytest.mark.parametrize(
    "search",
    [greedy_search, beam_search, partial(sample, generator=torch.Generator())],
    ids=["greedy", "beam", "sample"],
)
@pytest.mark.parametrize(
    ("src", "sentence"),
    [
        (torch.tensor([4, EOS_ID]), r"source ids have shape \(2,\); give \(batch, tokens\)"),
        (torch.zeros(0, 3, dtype=torch.long), r"src of shape \(0, 3\) has no sources; give at"),
        (torch.zeros(2, 0, dtype=torch.long), r"src of shape \(2, 0\) has an empty source: eve"),
        (torch.tensor([[4, 2], [0, 0]]), r"shape \(2, 2\) has an empty source: .*pad_id=0"),
        (torch.tensor([[4, 2], [0, 2]]), "source 2 of 2 has padding .* as token 1, before a"),
        (torch.full((1, 29), EOS_ID), "a sequence of 29 tokens is longer than the 23 positions"),
        (torch.tensor([[11, EOS_ID]]), "token ids 2 to 11 do not fit a vocabulary of 11"),
    ],
)
def test_message_sources_that_are_not_a_batch_of_ids(model, search, src, sentence):
    with pytest.raises(ValueError, match=sentence):
        search(model.train(), src)
    assert model.training


@pytest.mark.message
@pytest.mark.parametrize("search", [greedy_search, beam_search, sample])
def test_message_a_source_without_eos(model: Transformer, search: Callable[..., object]):
    with pytest.warns(
        UserWarning, match="^source 2 of 2 does not end with eos_id=2, so .* unless yours had none$"
    ):
        search(model, pad([[4, EOS_ID], [4]]))


@pytest.mark.message
@pytest.mark.parametrize("broken", ["every weight", "one token", "one position"])
@pytest.mark.parametrize("decoder", CACHES)
def test_message_logits_are_nan(stirred: Callable[..., Transformer], decoder: MakeDecoder, broken: str):
    model, src = stirred(positions="learned"), pad([[4, 5, 6, EOS_ID]])
    with torch.no_grad():
        table = model.positions.table if broken == "one position" else model.embedding.weight
        table[slice(None) if broken == "every weight" else 5] = torch.nan
    generator = torch.Generator().manual_seed(0)
    for search in (greedy_search, partial(sample, generator=generator)):
        with pytest.raises(FloatingPointError, match="the model's logits are NaN; its weights are damaged"):
            search(model, src, decoder=decoder)
