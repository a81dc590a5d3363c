"""The chapter's equation counts the parameters of the model."""

from dataclasses import replace

import pytest
import torch

from annotated_transformer.config import BASE, BIG, TransformerConfig
from annotated_transformer.model.transformer import Transformer

ODD = TransformerConfig(
    vocab_size=17, max_length=9, num_layers=2, d_model=6, d_ff=13, num_heads=2, d_k=5, d_v=4
)


@pytest.mark.equation("eq-parameters")
@pytest.mark.parametrize("config", [replace(BASE, d_k=64, d_v=64), replace(BIG, d_k=64, d_v=64), ODD])
def test_oracle_the_equation_counts_the_parameters_of_the_model(config):
    with torch.device("meta"):
        model = Transformer(config)
    d, h, d_ff = config.d_model, config.num_heads, config.d_ff
    attention = 2 * d * h * config.d_k + 2 * d * h * config.d_v
    network = 2 * d * d_ff + d_ff + d
    layers = config.num_layers * (3 * attention + 2 * network + 5 * 2 * d)
    assert config.vocab_size * d + layers == sum(p.numel() for p in model.parameters())
