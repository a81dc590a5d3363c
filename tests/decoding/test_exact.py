"""Exact search finds the most likely of all targets, and continues few prefixes."""

import math
from collections.abc import Callable

import pytest
import torch

from annotated_transformer.decoding.beam import beam_search
from annotated_transformer.decoding.exact import exact_search
from annotated_transformer.decoding.kv_cache import MakeDecoder
from annotated_transformer.decoding.length_penalty import PlainLength
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import pad
from annotated_transformer.text.tokenizer import EOS_ID
from tests.decoding.conftest import all_targets, log_probs

A, B, C = 3, 4, 5
IMPOSSIBLE = -1e9


@pytest.mark.equation("eq-most-likely")
def test_oracle_the_target_is_the_most_likely_of_all(stirred: Callable[..., Transformer]):
    source, limit = [A, C, EOS_ID], 4
    targets = list(all_targets([EOS_ID, A, B, C], limit))
    beaten, truncated = False, False
    for seed in range(24):
        model = stirred(seed, vocab_size=6, max_length=limit, num_layers=1)
        each = log_probs(model, source, targets)
        found = exact_search(model, pad([source]))
        assert found.ids.tolist() == targets[each.argmax()]
        assert found.log_prob == pytest.approx(each.max().item(), abs=1e-9)
        beam = beam_search(model, pad([source]), beam_size=1, length_penalty=PlainLength(0.0))
        beaten = beaten or beam.log_probs.item() < found.log_prob - 1e-6
        truncated = truncated or found.ids[-1] != EOS_ID
    assert beaten
    assert truncated  # otherwise the limit is untested


@pytest.mark.equation("eq-prefixes")
def test_law_fewer_prefixes_than_the_inverse_probability_are_continued(stirred: Callable[..., Transformer]):
    src, most = torch.tensor([[A, B, C, EOS_ID]]), 0
    for seed in range(5):
        model = stirred(seed, vocab_size=7, max_length=8, num_layers=1).double()
        found = exact_search(model, src)
        start = beam_search(model, src, length_penalty=PlainLength(0.0)).log_probs.item()
        assert found.prefixes[0] == 1
        assert all(count < math.exp(-start) for count in found.prefixes[1:])
        most = max(most, *found.prefixes)
    assert most > 4  # more than the beam kept


@pytest.mark.message
def test_message_more_than_one_source(model: Transformer):
    with pytest.raises(ValueError, match="src has 2 sources; exact search takes one"):
        exact_search(model, torch.tensor([[A, EOS_ID], [B, EOS_ID]]))


def scores_of(tokens: dict[int, float]) -> list[float]:
    return [tokens.get(token, IMPOSSIBLE) for token in range(11)]


@pytest.mark.message
def test_message_more_prefixes_than_allowed(model: Transformer, script: Callable[..., MakeDecoder]):
    row = scores_of({3: 0.0, 4: 0.0, 5: 0.0, EOS_ID: -9.0})  # three equally likely, and the end is unlikely
    with pytest.raises(ValueError, match=r"3 prefixes of 1 tokens are more likely .* most_prefixes=2; give"):
        exact_search(model, torch.tensor([[A, EOS_ID]]), most_prefixes=2, decoder=script(lambda tgt: row))


@pytest.mark.message
def test_message_exact_search_with_damaged_weights(model: Transformer, script: Callable[..., MakeDecoder]):
    rows = iter([scores_of({EOS_ID: 0.0}), scores_of({EOS_ID: math.nan})])  # for the beam, then exact
    with pytest.raises(FloatingPointError, match="the model's logits are NaN"):
        exact_search(model, torch.tensor([[A, EOS_ID]]), decoder=script(lambda tgt: next(rows)))
