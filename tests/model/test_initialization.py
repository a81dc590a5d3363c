"""Initial weights: their scales, and that the generator determines them."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.initialization import initialize
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.transformer import Transformer

SMALL = TransformerConfig(
    vocab_size=23, max_length=11, num_layers=2, d_model=12, d_ff=17, num_heads=3, dropout=0.0
)


def test_law_every_matrix_starts_at_its_documented_scale():
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(vocab_size=2_000, d_model=64, d_ff=96, num_heads=4, num_layers=1))
    checked = 0
    for name, weight in model.named_parameters():
        if name.endswith("bias"):
            assert (weight == 0).all()
        elif name.endswith("gain"):
            assert (weight == 1).all()
        elif name == "embedding.weight":
            assert weight.std().item() == pytest.approx(64**-0.5, rel=0.02)
            assert weight.abs().max() > 3 * 64**-0.5  # normal, not uniform
        else:
            bound = math.sqrt(6 / sum(weight.shape))  # Xavier uniform
            if any(part in name for part in ("to_query", "to_key", "to_value")):
                bound = math.sqrt(6 / (64 + 3 * 64))  # as if the three were one matrix
            assert 0.99 * bound < weight.abs().max() <= bound
            assert weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)
            checked += 1
    assert checked == 3 * 4 + 2 * 2


def test_law_learned_positions_start_at_the_embeddings_scale():
    torch.manual_seed(0)
    model = Transformer(replace(SMALL, positions="learned", d_model=64, num_heads=4, max_length=1000))
    assert model.positions.table.std().item() == pytest.approx(64**-0.5, rel=0.02)
    assert model.positions.table.abs().max() > 3 * 64**-0.5  # normal, not uniform


def test_law_the_generator_decides_every_weight():
    models = [Transformer(replace(SMALL, positions="learned")) for _ in range(2)]
    for model in models:
        initialize(model, torch.Generator().manual_seed(5))
    first, second = (nn.utils.parameters_to_vector(model.parameters()) for model in models)
    assert torch.equal(first, second)
    initialize(models[0], torch.Generator().manual_seed(6))
    both = zip(models[0].parameters(), models[1].parameters(), strict=True)
    assert all((p != q).float().mean() > 0.99 for p, q in both if p.ndim > 1)


def spread_after_training(gain):
    """Train six post-norm layers briefly to reverse words; return 1 − the mean cosine between positions.

    `gain` multiplies the query, key, and value matrices drawn by `initialize`.
    """
    torch.manual_seed(0)
    model = Transformer(replace(SMALL, vocab_size=9, num_layers=6, d_model=64, d_ff=64, num_heads=4))
    with torch.no_grad():
        for layer in (m for m in model.modules() if isinstance(m, MultiHeadAttention)):
            for projection in (layer.to_query, layer.to_key, layer.to_value):
                projection.weight *= gain
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    rng = torch.Generator().manual_seed(0)
    for step in range(40):
        optimizer.param_groups[0]["lr"] = 1e-3 * min(1, (step + 1) / 10)
        src = torch.randint(3, 9, (16, 6), generator=rng)
        loss = F.cross_entropy(model.logits(model.encode(src)).flatten(0, 1), src.flip(1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        directions = F.normalize(model.encode(torch.randint(3, 9, (64, 6), generator=rng)), dim=-1)
    cosines = directions @ directions.mT
    return 1 - cosines[:, ~torch.eye(6, dtype=torch.bool)].mean().item()


@pytest.mark.usefixtures("unchecked")
def test_law_our_gain_keeps_the_encoder_further_from_collapse_than_gain_one():
    ours, one = (spread_after_training(gain) for gain in (1, 2**0.5))
    assert 0 < 2 * one < ours
