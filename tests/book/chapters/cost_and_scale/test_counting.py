"""What the chapter on cost counts: FLOPs, paths, and kept bytes."""

from itertools import pairwise

import pytest
import torch
from torch import nn

from annotated_transformer.book.chapters.cost_and_scale.counting import (
    count_flops,
    kept_bytes,
    reads_from,
    shortest_path,
)
from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding.kv_cache import KeyValueCache
from annotated_transformer.model.encoder import EncoderLayer
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import PostNorm
from annotated_transformer.model.transformer import Transformer


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
    stored = sum(part.numel() for layer in cache.layers for part in layer.self_attention.pairs)
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


def test_law_patterns_take_turns():
    near, far = (torch.eye(9, dtype=torch.bool) | torch.eye(9).bool().roll(by, 0) for by in (1, 3))
    assert shortest_path([near, far], start=0, end=4) == [0, 1, 4]


@pytest.mark.message
def test_message_nothing_connects_the_positions():
    with pytest.raises(
        ValueError, match="position 2 never reads position 0; give patterns that connect them"
    ):
        shortest_path([torch.eye(3, dtype=torch.bool)], start=0, end=2)


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
