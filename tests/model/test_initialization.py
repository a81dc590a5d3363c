"""Initial weights: their scales, and that the generator determines them."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.initialization import initialize
from annotated_transformer.model.transformer import Transformer

SMALL = TransformerConfig(
    vocab_size=23, max_length=11, num_layers=2, d_model=12, d_ff=17, num_heads=3, dropout=0.0
)


@pytest.mark.equation("eq-xavier")
def test_law_every_matrix_starts_at_its_documented_scale():
    shape = {"vocab_size": 2_000, "d_model": 64, "d_ff": 96, "num_heads": 4, "num_layers": 1}
    model = Transformer(TransformerConfig(**shape, tied_output=False))
    checked = 0
    for name, weight in model.named_parameters():
        if name.endswith("bias"):
            assert (weight == 0).all()
        elif name.endswith("gain"):
            assert (weight == 1).all()
        elif name in ("embedding.weight", "output.weight"):
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


def test_law_the_generator_decides_every_weight():
    models = [Transformer(replace(SMALL, positions="learned")) for _ in range(2)]
    for model in models:
        initialize(model, torch.Generator().manual_seed(5))
    first, second = (nn.utils.parameters_to_vector(model.parameters()) for model in models)
    assert torch.equal(first, second)
    initialize(models[0], torch.Generator().manual_seed(6))
    both = zip(models[0].parameters(), models[1].parameters(), strict=True)
    assert all((p != q).float().mean() > 0.99 for p, q in both if p.ndim > 1)
