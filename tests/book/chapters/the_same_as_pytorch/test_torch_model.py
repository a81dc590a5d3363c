"""The two models have the same weights, outputs, and gradients."""

import torch

from annotated_transformer.book.chapters.the_same_as_pytorch.torch_model import (
    Sinusoids,
    our_names,
    pair,
    passes_gradcheck,
    randomize,
    without_gradients,
)
from annotated_transformer.model.transformer import Transformer
from tests.book.chapters.the_same_as_pytorch.conftest import CONFIG


def test_oracle_logits_and_gradients_are_pytorchs(twins, ids):
    ours, theirs = twins
    results = [model(*ids) for model in twins]
    torch.testing.assert_close(*results, rtol=1e-12, atol=1e-12)
    for model, result in zip(twins, results, strict=True):
        model.zero_grad()
        result.logsumexp(-1).sum().backward()
    grads = our_names({name: p.grad for name, p in theirs.named_parameters()})
    assert grads.keys() == {name for name, _ in ours.named_parameters()}
    assert grads["embedding.weight"].abs().max() > 1
    for name, parameter in ours.named_parameters():
        torch.testing.assert_close(parameter.grad, grads[name], rtol=1e-11, atol=1e-11)


def test_law_the_fused_matrix_is_cut_into_queries_keys_and_values():
    fused = torch.arange(18.0).view(9, 2)
    cut = our_names({"stacks.encoder.layers.0.self_attn.in_proj_weight": fused})
    place = "encoder.layers.0.self_attention"
    assert list(cut) == [f"{place}.to_{part}.weight" for part in ("query", "key", "value")]
    assert torch.equal(torch.cat(list(cut.values())), fused)


def test_law_no_parameter_keeps_a_value_that_a_mistake_would_give_it(twins):
    for model in twins:
        for name, parameter in model.named_parameters():
            assert not ((parameter == 0) | (parameter == 1)).any(), name


def test_law_a_seed_gives_the_same_pair_and_leaves_the_global_generator_alone(ids):
    before = torch.get_rng_state()
    one, other, third = (pair(CONFIG, seed)[0](*ids) for seed in (5, 5, 6))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(one, other)
    assert not torch.equal(one, third)


def test_oracle_positions_are_the_packages_but_for_rounding():
    table = Transformer(CONFIG).positions.get_buffer("table")
    torch.testing.assert_close(
        Sinusoids(CONFIG.d_model, CONFIG.max_length).get_buffer("table").float(), table
    )


def test_law_noise_is_added_in_place():
    layer = torch.nn.Linear(2, 3)
    before = layer.weight.detach().clone()
    randomize(layer, 0)
    assert 0.01 < (layer.weight - before).abs().mean() < 0.3


def test_law_without_gradients_real_tokens_stay_the_same(twins, ids):
    src, _ = ids
    slow, fast = without_gradients(twins[1], src)
    torch.testing.assert_close(slow[src != 0], fast[src != 0], rtol=1e-12, atol=1e-12)
    assert (slow - fast)[src == 0].abs().max() > 0.1


def test_law_gradcheck_accepts_right_gradients_in_float64_only():
    assert passes_gradcheck(torch.float64)
    assert not passes_gradcheck(torch.float32)
