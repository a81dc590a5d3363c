"""Inference: modules return to their modes afterwards, and targets contain no padding and no BOS."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from annotated_transformer.decoding.greedy import greedy_search
from annotated_transformer.model.inference import evaluating, suppress_tokens
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import pad
from annotated_transformer.text.tokenizer import EOS_ID

VOCAB = 11


def test_law_each_module_is_evaluated_until_the_last_context_ends_and_returns_to_its_own_mode():
    model = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout())).eval()
    model[0].train()
    with ThreadPoolExecutor(1) as other:
        with evaluating(model):
            assert not torch.is_grad_enabled()
            longer = evaluating(model[0])
            other.submit(longer.__enter__).result()
        assert torch.is_grad_enabled()
        assert not any(module.training for module in model.modules())
        other.submit(longer.__exit__, None, None, None).result()
    assert [module.training for module in model.modules()] == [False, True, False, False]
    with evaluating(model):
        assert not any(module.training for module in model.modules())
    assert [module.training for module in model.modules()] == [False, True, False, False]


def test_law_targets_contain_no_padding_and_no_bos(model: Transformer):
    config = dataclasses.replace(model.config, pad_id=3, bos_id=1)
    logits = suppress_tokens(torch.zeros(2, VOCAB), config)
    assert logits.isneginf().sum(dim=0).tolist() == [0, 2, 0, 2, 0, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_law_probabilities_of_half_precision_are_summed_in_float32(model: Transformer, dtype: torch.dtype):
    logits = suppress_tokens(torch.ones(1, VOCAB, dtype=dtype), model.config)
    torch.testing.assert_close(logits.logsumexp(1), 1 + torch.tensor([VOCAB - 2]).log())


def test_law_the_special_ids_of_the_model_are_used(stirred, sources):
    other_id = torch.tensor([7, 8, 9, 3, 4, 5, 6, 0, 1, 2, 10])  # for each id of the first model
    model = stirred(norm="pre")
    other = stirred(norm="pre", pad_id=7, bos_id=8, eos_id=9)
    with torch.no_grad():
        other.embedding.weight[other_id] = model.embedding.weight
    found = greedy_search(model, pad(sources))
    assert torch.equal(greedy_search(other, other_id[pad(sources)]), other_id[found])
    assert (found == EOS_ID).any()
