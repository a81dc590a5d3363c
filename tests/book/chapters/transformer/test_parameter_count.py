"""The computed parameter counts agree with the models."""

from dataclasses import replace

import pytest
import torch

from annotated_transformer.book.chapters.transformer.parameter_count import parameter_counts
from annotated_transformer.config import BASE, BIG, TransformerConfig
from annotated_transformer.model.transformer import Transformer

ODD = TransformerConfig(
    vocab_size=17, max_length=9, num_layers=2, d_model=6, d_ff=13, num_heads=2, d_k=5, d_v=3
)


@pytest.mark.equation("eq-parameters")
@pytest.mark.parametrize(
    "config",
    [
        BASE,
        BIG,
        ODD,
        replace(ODD, norm="pre"),
        replace(ODD, attention_bias=True),
        replace(ODD, positions="learned"),
        replace(ODD, tied_output=False),
    ],
)
def test_oracle_the_parts_sum_to_the_parameters_of_the_model(config):
    with torch.device("meta"):
        model = Transformer(config)
    assert sum(parameter_counts(config).values()) == sum(p.numel() for p in model.parameters())
