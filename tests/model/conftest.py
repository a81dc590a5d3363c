"""Fixtures for the model tests: random tensors, comparison with an oracle, and copying of weights."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from annotated_transformer.interop.torch_weights import parameter_pairs

EXACT = {"rtol": 1e-12, "atol": 1e-12}
# Of the attention tests, a different prime for every axis: a swapped or transposed axis cannot fit by luck.
BATCH, HEADS, QUERIES, KEYS, D_K, D_V = 2, 3, 5, 7, 11, 13
D_MODEL = 12  # = HEADS · 4

Pair = tuple[Tensor, list[Tensor]]  # one of PyTorch's parameters, and those of ours that it stacks


@pytest.fixture(autouse=True)
def one_thread(one_thread: None) -> None:
    """Use one thread in every model test, because the tensors are tiny."""


@pytest.fixture
def draw() -> Callable[..., Tensor]:
    rng = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(*shape, generator=rng, dtype=torch.float64)


@pytest.fixture
def randomized() -> Callable[[nn.Module], nn.Module]:
    """Return a function that makes a module float64 and randomizes it: no parameter stays at 0 or 1."""
    rng = torch.Generator().manual_seed(1)

    @torch.no_grad()
    def randomize(module: nn.Module) -> nn.Module:
        module.double()
        for parameter in module.parameters():
            parameter.normal_(generator=rng)
            parameter.mul_(parameter.size(-1) ** -0.5 if parameter.ndim > 1 else 1)
        return module

    return randomize


@pytest.fixture
def tokens(draw):
    return tuple(draw(BATCH, n, D_MODEL) for n in (QUERIES, KEYS, KEYS))


def some_mask(*shape):
    """Return a mask with holes in which every query sees at least one key."""
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(3)) > 0.4
    mask[..., 2] = True
    assert not mask.all()
    return mask


MASKS = {
    "none": None,
    "queries and keys": some_mask(QUERIES, KEYS),
    "keys": some_mask(BATCH, 1, 1, KEYS),
    "all four": some_mask(BATCH, HEADS, QUERIES, KEYS),
}
with_masks = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())


@pytest.fixture
def copied() -> Callable[..., list[Pair]]:
    """Return a function that copies our weights into PyTorch's module and returns the parameter pairs.

    Parameters that ours lacks, the biases in attention, are set to 0 in PyTorch's.
    """

    @torch.no_grad()
    def copy(ours: nn.Module, theirs: nn.Module) -> list[Pair]:
        theirs.double()
        for parameter in theirs.parameters():
            parameter.zero_()
        pairs: list[Pair] = [pair for pair in parameter_pairs(ours, theirs) if pair[1][0] is not None]
        for their_parameter, our_parameters in pairs:
            their_parameter.copy_(torch.cat(our_parameters))
        assert sum(p.numel() for p in ours.parameters()) == sum(t.numel() for t, _ in pairs)
        return pairs

    return copy


@pytest.fixture
def assert_same() -> Callable[..., Tensor]:
    """Return a function that compares two functions: values, and gradients of inputs and parameters."""
    rng = torch.Generator().manual_seed(2)

    def compare(
        ours: Callable[..., Tensor],
        theirs: Callable[..., Tensor],
        inputs: tuple[Tensor, ...],
        found: Iterable[Pair] = (),
        **tolerance: Any,
    ) -> Tensor:
        mine, yours = ([x.clone().requires_grad_() for x in inputs] for _ in range(2))
        out, expected = ours(*mine), theirs(*yours)
        assert out.isfinite().all()
        assert out.abs().max() > 1e-3, "two zeros are equal, but prove nothing"
        torch.testing.assert_close(out, expected, **(EXACT | tolerance))
        cotangent = torch.randn(out.shape, generator=rng, dtype=out.dtype)
        out.backward(cotangent)
        expected.backward(cotangent)
        for x, y in zip(mine, yours, strict=True):
            assert x.grad.abs().max() > 1e-3, "two zero gradients are equal, but prove nothing"
            torch.testing.assert_close(x.grad, y.grad, **(EXACT | tolerance))
        for their_parameter, our_parameters in found:
            gradient = torch.cat([parameter.grad for parameter in our_parameters])
            torch.testing.assert_close(gradient, their_parameter.grad, **(EXACT | tolerance))
        return out.detach()

    return compare
