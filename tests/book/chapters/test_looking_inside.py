"""What is measured inside models: weights on a diagonal, and patches."""

from collections.abc import Callable

import pytest
import torch

from annotated_transformer.book.chapters.looking_inside.induction import diagonal_weight
from annotated_transformer.book.chapters.looking_inside.patching import (
    first_word_contrast,
    patched_outputs,
    restored,
)
from annotated_transformer.book.toy.probe import layer_outputs
from annotated_transformer.model.transformer import Transformer


def test_oracle_the_weight_on_a_diagonal_is_a_sum_over_cells():
    weights = torch.rand(2, 3, 5, 5, generator=torch.Generator().manual_seed(0))
    offset = torch.tensor([[1], [3]])
    wanted = []
    for head in range(3):
        cells = [
            weights[row, head, query, query - back].item()
            for row, back in ((0, 1), (1, 3))
            for query in range(back, 5)
        ]
        wanted.append(sum(cells) / len(cells))
    assert diagonal_weight(weights, offset).tolist() == pytest.approx(wanted, abs=1e-6)


CLEAN, OTHER = torch.tensor([[4, 5, 6, 7, 2]]), torch.tensor([[4, 8, 6, 7, 2]])
WORDS = 9, 10


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_oracle_a_patch_is_a_run_with_one_vector_exchanged(stirred: Callable[..., Transformer], norm: str):
    encoder = stirred(norm=norm).encoder.eval()
    rng = torch.Generator().manual_seed(0)
    clean, corrupted = torch.randn(2, 1, 5, 12, generator=rng, dtype=torch.float64)
    found = patched_outputs(encoder, clean, corrupted)
    assert found.shape == (3, 5, 5, 12)
    mixed = layer_outputs(encoder, corrupted)[1].clone()
    mixed[0, 3] = layer_outputs(encoder, clean)[1][0, 3]
    torch.testing.assert_close(
        found[1, 3], encoder.final_norm(encoder.layers[1](mixed))[0], rtol=0, atol=1e-12
    )
    assert (found[1, 3] - encoder(corrupted)[0]).abs().max() > 0.01
    last = encoder(corrupted)[0].clone()
    last[4] = encoder(clean)[0, 4]
    torch.testing.assert_close(found[2, 4], last, rtol=0, atol=1e-12)


@pytest.mark.equation("eq-restored")
def test_law_the_token_that_differs_restores_all_at_depth_zero(stirred: Callable[..., Transformer]):
    model = stirred().eval()
    shares = restored(model, CLEAN, OTHER, WORDS)
    assert shares.shape == (3, 5)
    wanted = torch.tensor([0.0, 1.0, 0.0, 0.0, 0.0], dtype=shares.dtype)
    torch.testing.assert_close(shares[0], wanted, rtol=0, atol=1e-9)
    with torch.no_grad():
        memories = [model.encoder(model.embed(ids)) for ids in (CLEAN, OTHER)]
        patched = memories[1].clone()
        patched[0, 1] = memories[0][0, 1]
        clean, corrupted, mixed = (
            first_word_contrast(model, memory, WORDS) for memory in (*memories, patched)
        )
        logits = model(CLEAN, torch.tensor([[model.config.bos_id]]))[0, 0]
    torch.testing.assert_close(clean[0], logits[9] - logits[10], rtol=0, atol=1e-12)
    share = (mixed - corrupted) / (clean - corrupted)
    torch.testing.assert_close(shares[2, 1], share[0], rtol=0, atol=1e-9)
    assert (shares[2] - shares[0]).abs().max() > 0.01
