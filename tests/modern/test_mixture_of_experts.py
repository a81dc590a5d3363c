"""Mixture of experts: each token and the balance by hand, and the parameters that compute a token."""

import pytest
import torch
from torch import nn

from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.modern.mixture_of_experts import (
    MixtureOfExperts,
    Router,
    load_balancing_loss,
    observed_routing,
    parameters_per_token,
)
from annotated_transformer.modern.swiglu import SwiGLU

BATCH, TOKENS, D_MODEL, D_FF, EXPERTS = 2, 13, 7, 11, 5
EXACT = {"rtol": 1e-12, "atol": 1e-12}


def mixture(top_k: int, kind=FeedForward) -> MixtureOfExperts:
    router = Router(D_MODEL, EXPERTS, top_k)
    return MixtureOfExperts(router, (kind(D_MODEL, D_FF) for _ in range(EXPERTS)))


@pytest.mark.equation("eq-experts")
@pytest.mark.parametrize("top_k", [1, 2, EXPERTS])
@pytest.mark.parametrize("kind", [FeedForward, SwiGLU])
def test_oracle_each_token_by_itself(draw, randomized, top_k, kind):
    layer, x = randomized(mixture(top_k, kind)), draw(BATCH, TOKENS, D_MODEL)
    outputs = layer(x)
    for token, result in zip(x.flatten(0, 1), outputs.flatten(0, 1), strict=True):
        logits = layer.router.to_logits.weight @ token
        best = logits.argsort(descending=True)[:top_k]
        weights = logits[best].softmax(dim=0)  # of the chosen alone: as in Mixtral
        outputs = torch.stack([layer.experts[i](token) for i in best.tolist()])
        torch.testing.assert_close(result, weights @ outputs, **EXACT)
        torch.testing.assert_close(layer(token), result, **EXACT)


@pytest.mark.parametrize("autocast", [None, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_law_types_and_autocast_change_only_the_rounding(draw, randomized, dtype, autocast):
    layer, x = randomized(mixture(EXPERTS)), draw(BATCH, TOKENS, D_MODEL)
    exact = layer(x)
    with torch.autocast("cpu", autocast, enabled=autocast is not None):
        rounded = layer.to(dtype)(x.to(dtype))
    rounding = max(torch.finfo(one).eps for one in (dtype, autocast or dtype))
    assert rounded.dtype == dtype
    torch.testing.assert_close(rounded.double(), exact, rtol=0, atol=4 * rounding * exact.abs().max().item())
    rounded.square().sum().backward()
    assert all(weight.grad.isfinite().all() for weight in layer.parameters())


def test_law_an_expert_computes_only_the_tokens_that_are_sent_to_it(draw, randomized):
    layer, seen = randomized(mixture(2)), []
    for expert in layer.experts:
        expert.register_forward_hook(lambda _, inputs, output: seen.append(len(inputs[0])))
    with observed_routing(layer) as routings:
        layer(draw(BATCH, TOKENS, D_MODEL))
    assert sum(seen) == 2 * BATCH * TOKENS
    assert seen == routings[0].chosen.flatten().bincount(minlength=EXPERTS).tolist()
    assert not layer.router._forward_hooks


def test_oracle_the_balancing_loss_by_hand(draw, randomized):
    router, x = randomized(Router(D_MODEL, EXPERTS, 2)), draw(BATCH, TOKENS, D_MODEL)
    routing = router(x)
    expected = 0.0
    for expert in range(EXPERTS):
        share = (routing.chosen == expert).sum() / (BATCH * TOKENS * 2)
        expected += EXPERTS * share * routing.probabilities[..., expert].mean()
    torch.testing.assert_close(load_balancing_loss(routing), expected, rtol=1e-6, atol=1e-6)


def test_law_memory_holds_all_experts_and_a_token_meets_few():
    layer = nn.Sequential(nn.Linear(3, D_MODEL), mixture(2))
    expert = D_MODEL * D_FF * 2 + D_FF + D_MODEL
    others = 3 * D_MODEL + D_MODEL + D_MODEL * EXPERTS
    assert sum(p.numel() for p in layer.parameters()) == others + EXPERTS * expert
    assert parameters_per_token(layer) == others + 2 * expert
    assert parameters_per_token(nn.Linear(3, 5)) == 20
