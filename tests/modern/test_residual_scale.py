"""GPT-2's initialization: the factor, which matrices it scales, and the variance that it keeps."""

import pytest
import torch

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.modern.residual_scale import scale_residual_projections

LAYERS = 8


def new_model(num_layers: int = LAYERS) -> Transformer:
    torch.manual_seed(0)
    return Transformer(
        TransformerConfig(
            vocab_size=11,
            max_length=17,
            num_layers=num_layers,
            d_model=36,
            d_ff=72,
            num_heads=3,
            dropout=0.0,
            norm="pre",
        )
    )


def test_law_only_the_last_matrix_of_each_sublayer_is_scaled():
    model, before = new_model(), new_model().state_dict()
    assert scale_residual_projections(model.encoder) == pytest.approx((2 * LAYERS) ** -0.5)
    assert scale_residual_projections(model.decoder) == pytest.approx((3 * LAYERS) ** -0.5)
    for name, weight in model.state_dict().items():
        last = name.endswith(("to_output.weight", "contract.weight"))
        additions = {"encoder": 2, "decoder": 3}.get(name.partition(".")[0], 1) * LAYERS
        expected = before[name] * additions**-0.5 if last else before[name]
        torch.testing.assert_close(weight, expected)


def growth(model: Transformer) -> float:
    """Return the variance that the encoder's layers add to the residual stream."""
    x = torch.randn(64, 13, 36, generator=torch.Generator().manual_seed(1))
    y = x
    for layer in model.encoder.layers:
        y = layer(y)
    return (y - x).var().item()


@torch.no_grad()
def test_law_the_variance_that_is_added_no_longer_grows_with_the_depth():
    plain, scaled = [], []
    for layers in (2, 8, 32):
        model = new_model(layers)
        plain.append(growth(model))
        scale_residual_projections(model.encoder)
        scaled.append(growth(model))
    assert plain[2] > 8 * plain[0]
    assert max(scaled) < 1.5 * min(scaled)
