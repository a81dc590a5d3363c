"""The chapter's parameter counts and shapes are those of the model."""

from dataclasses import replace

import pytest
import torch

from annotated_transformer.book.chapters.transformer.parameter_count import parameter_counts
from annotated_transformer.book.chapters.transformer.shapes import STATIONS, axis_sizes, record_outputs
from annotated_transformer.config import BASE, BIG, TransformerConfig
from annotated_transformer.model.transformer import Transformer

ODD = TransformerConfig(
    vocab_size=17, max_length=9, num_layers=2, d_model=6, d_ff=13, num_heads=2, d_k=5, d_v=4
)
CHANGES = {}, {"norm": "pre"}, {"attention_bias": True}, {"positions": "learned"}, {"tied_output": False}


@pytest.mark.equation("eq-parameters")
@pytest.mark.parametrize("config", [BASE, BIG, *(replace(ODD, **changes) for changes in CHANGES)])
def test_oracle_the_parts_sum_to_the_parameters_of_the_model(config):
    with torch.device("meta"):
        model = Transformer(config)
    assert sum(parameter_counts(config).values()) == sum(p.numel() for p in model.parameters())


def test_law_each_module_output_has_the_shape_in_the_books_table():
    model = Transformer(ODD)
    src, tgt = torch.randint(3, 17, (1, 7)), torch.randint(3, 17, (1, 8))
    found, sizes = record_outputs(model, src, tgt), axis_sizes(ODD, n_src=7, n_tgt=8)
    for station in STATIONS:
        shape = tuple(found[station.module][station.call].shape)
        assert shape == (1, *(sizes[axis] for axis in station.axes)), station.what
    assert model.training
    assert torch.equal(found[""][0], model.eval()(src, tgt))
