"""The fast path: the losses and gradients of the plain path, and correct dropout."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from annotated_transformer.fast.modules import ByteDropout, FastAttention, FusedLayerNorm, fast_modules
from annotated_transformer.model.attention import ScaledDotProductAttention
from annotated_transformer.model.normalization import LayerNorm
from annotated_transformer.model.transformer import Transformer

MakeModel = Callable[..., Transformer]


def test_law_the_plain_modules_are_restored_even_after_an_error(make_model: MakeModel):
    model = make_model()
    before, names = list(model.modules()), list(model.state_dict())
    with fast_modules(model):
        kinds = {type(module) for module in model.modules()}
        assert {ByteDropout, FastAttention, FusedLayerNorm} <= kinds
        assert not {nn.Dropout, LayerNorm, ScaledDotProductAttention} & kinds
        assert list(model.state_dict()) == names
    assert list(model.modules()) == before

    def stop() -> None:
        with fast_modules(model):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert list(model.modules()) == before


MASKS = {
    "none": lambda rng, keys: None,
    "causal": lambda rng, keys: torch.ones(7, keys, dtype=torch.bool).tril(),
    "padding": lambda rng, keys: (
        torch.arange(keys).view(1, 1, 1, -1) < torch.tensor([1, keys]).view(-1, 1, 1, 1)
    ),
    "blind queries": lambda rng, keys: torch.rand(2, 1, 7, keys, generator=rng) < 0.3,
    "nothing": lambda rng, keys: torch.zeros(7, keys, dtype=torch.bool),
}


@pytest.mark.parametrize("keys", [1, 15, 16])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_oracle_fast_attention_matches_plain_attention(keys, mask, scale):
    rng = torch.Generator().manual_seed(keys)
    query, key, value = (
        torch.randn(2, 3, rows, width, generator=rng, dtype=torch.float64).requires_grad_()
        for rows, width in ((7, 4), (keys, 4), (keys, 5))
    )
    allowed, plain, results = mask(rng, keys), ScaledDotProductAttention(), []
    for attention in (plain, FastAttention(plain)):
        seen: list[torch.Tensor] = []
        handle = plain.weights.register_forward_hook(lambda _, __, weights, seen=seen: seen.append(weights))
        read = attention(scale * query, key, value, allowed)
        handle.remove()
        gradients = torch.autograd.grad((read * torch.arange(5)).sin().sum(), (query, key, value))
        results.append((read, *seen, *gradients))
    assert len(results[0]) == 5
    torch.testing.assert_close(results[1], results[0], rtol=1e-12, atol=1e-12 * scale)


def test_law_byte_dropout_keeps_its_fraction_and_the_mean():
    torch.manual_seed(0)
    p = 0.3
    dropout, x = ByteDropout(p), torch.ones(1009, 997, dtype=torch.float64, requires_grad=True)
    y = dropout(x)
    share = round(256 * p) / 256
    dropped = (y == 0).double()
    assert abs(share - p) <= 1 / 512
    assert dropped.mean().item() == pytest.approx(share, abs=0.002)  # at most 4 sigma
    assert torch.equal(y[y != 0].unique(), torch.tensor([1 / (1 - share)], dtype=torch.float64))
    for axis in (0, 1):  # no row or column is favored: less than 6 sigma
        assert (dropped.mean(axis) - share).abs().max() < 6 * (share * (1 - share) / 997) ** 0.5
    neighbors = (dropped[:, 1:] * dropped[:, :-1]).mean().item()
    assert neighbors == pytest.approx(share**2, abs=0.002)  # the bytes of one word are independent
    y.backward(2 * torch.ones_like(y))
    torch.testing.assert_close(x.grad, 2 * y.detach())  # the backward pass uses the same mask
    assert not torch.equal(dropout(x), y)


def test_law_byte_dropout_is_off_in_evaluation_and_at_zero():
    x = torch.randn(3, 5)
    assert ByteDropout(0.3).eval()(x) is x
    assert ByteDropout(0.0)(x) is x
    torch.manual_seed(0)
    first = ByteDropout(0.3)(x)
    torch.manual_seed(0)
    assert torch.equal(ByteDropout(0.3)(x), first)  # it draws from PyTorch's global generator
