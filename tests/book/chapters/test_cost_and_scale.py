"""What the chapter on cost counts and fits: FLOPs, paths, kept bytes, rounded weights, and power laws."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from annotated_transformer.book.chapters.cost_and_scale import machine_figures
from annotated_transformer.book.chapters.cost_and_scale.counting import (
    count_flops,
    kept_bytes,
    reads_from,
    shortest_path,
)
from annotated_transformer.book.chapters.cost_and_scale.int8 import (
    by_row,
)
from annotated_transformer.book.chapters.cost_and_scale.memory import measure_kept, predict_kept
from annotated_transformer.book.chapters.cost_and_scale.power_law import fit_power_law
from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding.kv_cache import KeyValueCache
from annotated_transformer.model.encoder import EncoderLayer
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import PostNorm
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import make_batches


@pytest.mark.equation("eq-layer-flops")
@pytest.mark.parametrize(("tokens", "d_ff"), [(3, 11), (17, 5)])
def test_oracle_pytorch_counts_the_flops_of_a_layer(tokens: int, d_ff: int):
    d = 14
    layer = EncoderLayer(MultiHeadAttention(d, 7), FeedForward(d, d_ff), PostNorm(d, 0.0), PostNorm(d, 0.0))
    by_formula = 8 * tokens * d**2 + 4 * tokens**2 * d + 4 * tokens * d * d_ff
    assert count_flops(lambda: layer(torch.randn(1, tokens, d))) == by_formula


@pytest.mark.equation("eq-training-flops")
def test_oracle_training_takes_six_flops_for_each_weight_and_token():
    layers = nn.Sequential(nn.Linear(7, 11, bias=False), nn.ReLU(), nn.Linear(11, 5, bias=False))
    weights, tokens = sum(p.numel() for p in layers.parameters()), 13
    x = torch.randn(tokens, 7, requires_grad=True)  # as from an embedding, which has a gradient, too
    assert count_flops(lambda: layers(x).sum().backward()) == 6 * weights * tokens


@pytest.mark.equation("eq-cache-per-user")
def test_oracle_a_cache_has_two_vectors_for_each_layer_head_and_token():
    shape = TransformerConfig(
        vocab_size=19, max_length=8, num_layers=2, d_model=30, d_ff=7, num_heads=5, d_k=3
    )
    cache = KeyValueCache(Transformer(shape).eval(), torch.tensor([[4, 5, 2]]))
    with torch.inference_mode():
        for token in (1, 6, 7, 8):
            cache.step(torch.tensor([token]))
    stored = sum(part.numel() for each in cache.caches if not each.cross for part in each.pairs)
    d_k, d_v = 3, 6
    assert stored == 2 * 5 * (d_k + d_v) * 4


def test_law_the_jacobian_shows_who_reads_whom():
    causal = reads_from(lambda x: x.cumsum(dim=0), 5, 3)
    assert torch.equal(causal, torch.ones(5, 5, dtype=torch.bool).tril())
    assert torch.equal(reads_from(lambda x: x**2, 5, 3), torch.eye(5, dtype=torch.bool))
    assert torch.equal(reads_from(lambda x: x[:, :1], 5, 3), torch.eye(5, dtype=torch.bool))  # one feature


def test_oracle_a_path_is_a_power_of_the_pattern():
    pattern = torch.eye(11, dtype=torch.bool) | torch.eye(11).bool().roll(3, 0)
    path = shortest_path([pattern], start=0, end=10)
    power, layers = pattern.double(), 1
    while not power[10, 0]:
        power, layers = power @ pattern.double(), layers + 1
    assert len(path) - 1 == layers > 1
    assert all(pattern[row, place] for place, row in pairwise(path))
    assert (path[0], path[-1]) == (0, 10)


def test_law_kept_bytes_count_each_storage_once_and_no_parameters():
    linear, x = nn.Linear(7, 5), torch.randn(3, 7, requires_grad=True)
    assert kept_bytes(lambda: linear(x), linear.parameters()) == 4 * 3 * 7
    assert kept_bytes(lambda: linear(x) + linear(x), linear.parameters()) == 4 * 3 * 7
    assert kept_bytes(lambda: x.exp() * x.sin()) == 4 * 3 * 7 * 3  # exp keeps its result, sin its input


def test_law_kept_bytes_count_whole_storages_and_those_that_are_freed():
    x = torch.randn(5, 7, requires_grad=True)
    assert kept_bytes(lambda: x[:2].sin()) == 4 * 5 * 7  # the whole storage stays

    large = torch.randn(300, 700, requires_grad=True)

    def repeated() -> None:
        for _ in range(6):
            (2 * large).sin()  # 2 * large is freed, and its address may be used again

    assert kept_bytes(repeated) == 6 * 4 * 300 * 700


def shape_of(**changes: float | int) -> TransformerConfig:
    sizes = {"vocab_size": 101, "num_layers": 2, "d_model": 42, "d_ff": 65, "num_heads": 3, "max_length": 40}
    return TransformerConfig(**{**sizes, "dropout": 0.0, **changes})


@pytest.mark.parametrize("changes", [{}, {"dropout": 0.1}, {"num_heads": 7, "num_layers": 3}])
@pytest.mark.parametrize(("src", "tgt"), [(37, 11), (13, 31)])
def test_oracle_each_part_keeps_what_is_predicted_but_for_masks(
    changes: dict[str, float | int], src: int, tgt: int
):
    shape, rng = shape_of(**changes), torch.Generator().manual_seed(0)
    draw = lambda count: torch.randint(3, 101, (count,), generator=rng).tolist()  # noqa: E731
    pairs = [([*draw(src - 1), 2], [1, *draw(tgt - 1), 2]) for _ in range(5)]
    (batch,) = make_batches(pairs, batch_tokens=10**6)
    predicted = predict_kept(shape, sentences=5, src=src, tgt=tgt)
    measured = measure_kept(Transformer(shape), batch)
    assert list(predicted) == list(measured)
    for part, size in predicted.items():
        assert 0.96 <= size / measured[part] <= 1


@pytest.mark.equation("eq-kept")
def test_law_an_encoder_layer_keeps_what_the_equation_says():
    shape, n = shape_of(num_layers=1), 29
    kept = predict_kept(shape, sentences=1, src=n, tgt=1)["encoder"]
    assert kept == 4 * (n * (10 * 42 + 65 + 2) + 2 * 3 * n**2)


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


@pytest.mark.equation("eq-power-law")
def test_oracle_the_fit_is_that_of_numpy():
    sizes, losses = [30, 110, 500, 7000], [3.0, 2.5, 1.1, 0.9]
    law = fit_power_law(sizes, losses)
    slope, height = np.polyfit(np.log(sizes), np.log(losses), 1)
    assert law.exponent == pytest.approx(-slope, rel=1e-12)
    assert law(123) == pytest.approx(np.exp(height) * 123**slope, rel=1e-12)


ROOF = {
    "flops_per_second": 90e9,
    "by_onednn": 80e9,
    "bytes_per_second": 30e9,
    "points": {
        "linear, 1": {"flops": 2e6, "bytes": 4e6, "seconds": 1e-3},
        "linear, 64": {"flops": 100e6, "bytes": 4e6, "seconds": 2e-3},
        "softmax": {"flops": 5e6, "bytes": 8e6, "seconds": 1e-3},
    },
}


@pytest.mark.equation("eq-roofline")
def test_law_no_point_is_above_the_roof():
    assert machine_figures.roof_of(ROOF) == (90e9, 30e9)
    assert machine_figures.roof_of(ROOF | {"by_onednn": 100e9}) == (100e9, 30e9)
    fast = {
        "sum": {"flops": 1e9, "bytes": 40e9, "seconds": 1.0},
        "product": {"flops": 96e9, "bytes": 1, "seconds": 1.0},
    }
    assert machine_figures.roof_of(ROOF | {"points": fast}) == (96e9, 40e9)
