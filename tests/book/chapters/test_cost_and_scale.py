"""What the chapter on cost counts and fits: FLOPs, kept bytes, and power laws."""

import numpy as np
import pytest
import torch
from torch import nn

from annotated_transformer.book.chapters.cost_and_scale import machine_figures
from annotated_transformer.book.chapters.cost_and_scale.counting import count_flops
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


def shape_of(**changes: float | int) -> TransformerConfig:
    sizes = {"vocab_size": 101, "num_layers": 2, "d_model": 42, "d_ff": 65, "num_heads": 3, "max_length": 40}
    return TransformerConfig(**{**sizes, "dropout": 0.0, **changes})


@pytest.mark.parametrize("changes", [{}, {"dropout": 0.1}, {"num_heads": 7, "num_layers": 3}])
@pytest.mark.parametrize(("src", "tgt"), [(37, 11), (13, 31)])
def test_oracle_each_part_keeps_what_is_predicted_but_for_masks(
    changes: dict[str, float | int], src: int, tgt: int
):
    shape = shape_of(**changes)
    (batch,) = make_batches([([5] * src, [7] * (tgt + 1))] * 5, batch_tokens=10**6)
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


@pytest.mark.equation("eq-power-law")
def test_oracle_the_fit_is_that_of_numpy():
    sizes, losses = [30, 110, 500, 7000], [3.0, 2.5, 1.1, 0.9]
    law = fit_power_law(sizes, losses)
    slope, height = np.polyfit(np.log(sizes), np.log(losses), 1)
    assert law.exponent == pytest.approx(-slope, rel=1e-12)
    assert law(123) == pytest.approx(np.exp(height) * 123**slope, rel=1e-12)


@pytest.mark.equation("eq-roofline")
def test_law_no_point_is_above_the_roof():
    points = {"linear": {"flops": 100e6, "bytes": 4e6, "seconds": 2e-3}}
    roof = {"flops_per_second": 90e9, "by_onednn": 80e9, "bytes_per_second": 30e9, "points": points}
    assert machine_figures.roof_of(roof) == (90e9, 30e9)
    assert machine_figures.roof_of(roof | {"by_onednn": 100e9}) == (100e9, 30e9)
    points |= {
        "sum": {"flops": 1e9, "bytes": 40e9, "seconds": 1.0},
        "product": {"flops": 96e9, "bytes": 1, "seconds": 1.0},
    }
    assert machine_figures.roof_of(roof) == (96e9, 40e9)
