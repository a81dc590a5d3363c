"""Rounding of weights: how far, in which steps, and what it does to a model's layers."""

import pytest
import torch
from torch import nn

from annotated_transformer.book.chapters.cost_and_scale.int8 import (
    by_matrix,
    by_row,
    matrices,
    output_errors,
    with_weights,
)
from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer


@pytest.fixture
def weight() -> torch.Tensor:
    return torch.randn(5, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("bits", [8, 4])
def test_law_each_row_has_its_own_step(weight: torch.Tensor, bits: int):
    rounded, most = by_row(weight, bits=bits), 2 ** (bits - 1) - 1
    step = weight.abs().amax(dim=1, keepdim=True) / most
    numbers = rounded / step
    assert torch.allclose(numbers, numbers.round())
    assert numbers.abs().amax(dim=1).tolist() == pytest.approx([most] * 5)
    assert ((rounded - weight).abs() <= 0.5000001 * step).all()
    assert not torch.equal(rounded, weight)


def test_law_a_matrix_has_one_step(weight: torch.Tensor):
    numbers = by_matrix(weight) / (weight.abs().max() / 127)
    assert torch.allclose(numbers, numbers.round())
    assert torch.equal(by_matrix(weight[:1]), by_row(weight[:1]))
    assert (by_matrix(weight) - weight).norm() > (by_row(weight) - weight).norm() > 0


def test_law_a_row_of_zeros_stays(weight: torch.Tensor):
    weight[2] = 0
    assert torch.equal(by_row(weight)[2], weight[2])


def test_law_the_model_itself_is_unchanged_and_only_matrices_are_rounded():
    model = nn.Linear(7, 5)
    before = [p.clone() for p in model.parameters()]
    rounded = with_weights(model, by_row)
    assert all(torch.equal(*pair) for pair in zip(before, model.parameters(), strict=True))
    assert torch.equal(rounded.bias, model.bias)
    assert torch.equal(rounded.weight, by_row(model.weight))
    assert [name for name, _ in matrices(model)] == ["weight"]


def test_law_errors_are_those_of_the_layers_outputs():
    shape = TransformerConfig(vocab_size=19, max_length=8, num_layers=2, d_model=12, d_ff=7, num_heads=3)
    model = Transformer(shape).eval()
    ids = torch.tensor([[4, 5, 6, 2]])
    same = output_errors(model, model, lambda each: each(ids, ids))
    assert list(same.values()) == [0.0] * 4
    off = output_errors(model, with_weights(model, lambda w: by_row(w, bits=3)), lambda each: each(ids, ids))
    assert list(off) == [f"{stack}.layers.{i}" for stack in ("encoder", "decoder") for i in (0, 1)]
    assert min(off.values()) > 0.001
    with torch.no_grad():
        x = model.encode(ids)
        y = with_weights(model, lambda w: by_row(w, bits=3)).encode(ids)
    assert off["encoder.layers.1"] == pytest.approx(float((y - x).norm() / x.norm()), rel=1e-5)
