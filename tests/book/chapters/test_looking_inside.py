"""What a patch restores."""

from collections.abc import Callable

import pytest
import torch

from annotated_transformer.book.chapters.looking_inside.patching import restored
from annotated_transformer.book.toy.probe import layer_outputs
from annotated_transformer.model.masks import decoder_mask, padding_mask
from annotated_transformer.model.transformer import Transformer

CLEAN, OTHER = torch.tensor([[4, 5, 6, 7, 2]]), torch.tensor([[4, 8, 6, 7, 2]])
WORDS = 9, 10


@pytest.mark.equation("eq-restored")
def test_law_the_token_that_differs_restores_all_at_depth_zero(stirred: Callable[..., Transformer]):
    model = stirred().eval()
    shares = restored(model, CLEAN, OTHER, WORDS)
    assert shares.shape == (3, 5)
    wanted = torch.tensor([0.0, 1.0, 0.0, 0.0, 0.0], dtype=shares.dtype)
    torch.testing.assert_close(shares[0], wanted, rtol=0, atol=1e-9)
    pad_id, start = model.config.pad_id, torch.tensor([[model.config.bos_id]])

    def contrast(memory):
        seen = padding_mask(CLEAN, pad_id)
        logits = model.logits(model.decode(start, memory, decoder_mask(start, pad_id), seen))[0, 0]
        return logits[WORDS[0]] - logits[WORDS[1]]

    with torch.no_grad():
        runs = [layer_outputs(model.encoder, model.embed(ids)) for ids in (CLEAN, OTHER)]
        high, low = (contrast(model.encoder(model.embed(ids))) for ids in (CLEAN, OTHER))
        mixed = runs[1][1].clone()  # the output of layer 1
        mixed[0, 3] = runs[0][1, 0, 3]
        patched = model.encoder.final_norm(model.encoder.layers[1](mixed))
        assert shares[1, 3].item() == pytest.approx(((contrast(patched) - low) / (high - low)).item())
        logits = model(CLEAN, start)[0, 0]
    torch.testing.assert_close(high, logits[9] - logits[10], rtol=0, atol=1e-12)
    assert (shares[2] - shares[0]).abs().max() > 0.01
