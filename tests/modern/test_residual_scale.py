"""GPT-2's initialization: the factor, and which matrices it scales."""

import copy

import pytest
import torch

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.modern.residual_scale import scale_residual_projections

LAYERS = 3


def test_law_only_the_last_matrix_of_each_sublayer_is_scaled():
    model = Transformer(
        TransformerConfig(vocab_size=11, max_length=17, num_layers=LAYERS, d_model=6, d_ff=7, num_heads=3)
    )
    before = copy.deepcopy(model.state_dict())
    assert scale_residual_projections(model.encoder) == pytest.approx((2 * LAYERS) ** -0.5)
    assert scale_residual_projections(model.decoder) == pytest.approx((3 * LAYERS) ** -0.5)
    for name, weight in model.state_dict().items():
        last = name.endswith(("to_output.weight", "contract.weight"))
        additions = {"encoder": 2, "decoder": 3}.get(name.partition(".")[0], 1) * LAYERS
        expected = before[name] * additions**-0.5 if last else before[name]
        torch.testing.assert_close(weight, expected)
