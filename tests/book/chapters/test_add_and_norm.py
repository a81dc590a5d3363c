"""The residual stream is the sum of its parts, for pre-norm and post-norm, with learned gains and biases."""

import pytest
import torch

from annotated_transformer.book.chapters.add_and_norm.residual_stream import shares, split_stream
from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer

BATCH, TOKENS, D_MODEL, LAYERS = 2, 5, 6, 3


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_law_the_parts_sum_to_the_output_and_their_shares_to_one(draw, randomized, norm):
    sizes = {"d_model": D_MODEL, "d_ff": 7, "num_heads": 2, "num_layers": LAYERS, "dropout": 0.0}
    encoder = randomized(Transformer(TransformerConfig(vocab_size=11, norm=norm, **sizes))).encoder
    x = draw(BATCH, TOKENS, D_MODEL)
    parts = split_stream(encoder, x)
    assert parts.shape == (1 + 2 * LAYERS + 1, BATCH, TOKENS, D_MODEL)
    torch.testing.assert_close(parts.sum(dim=0), encoder(x), rtol=1e-12, atol=1e-12)
    assert (parts.flatten(1).norm(dim=1) > 0).all()
    torch.testing.assert_close(shares(parts).sum().item(), 1.0)
    assert shares(torch.tensor([[[3.0, 0.0]], [[1.0, 2.0]], [[0.0, -2.0]]])).tolist() == [0.75, 0.25, 0.0]
