"""What the loss in chunks promises: the loss of the whole, its gradients, and little memory."""

import pytest
import torch
from torch import Tensor

from annotated_transformer.training import chunks
from annotated_transformer.training.chunks import loss_in_chunks
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.objective import loss_in_place, loss_of

PASSES, D_MODEL, VOCAB = 2, 7, 11


@pytest.mark.parametrize("tokens", [1, 5, 6, 13])
@pytest.mark.parametrize("r_drop", [0.0, 1.7])
def test_oracle_value_and_gradients_of_the_whole(monkeypatch: pytest.MonkeyPatch, tokens: int, r_drop: float):
    monkeypatch.setattr(chunks, "ROWS", 6)
    passes = PASSES if r_drop else 1
    rng = torch.Generator().manual_seed(0)
    hidden = torch.randn(passes, tokens, D_MODEL, generator=rng, dtype=torch.float64).requires_grad_()
    weight = torch.randn(VOCAB, D_MODEL, generator=rng, dtype=torch.float64).requires_grad_()
    labels = torch.randint(1, VOCAB, (tokens,), generator=rng)
    config = TrainingConfig(r_drop=r_drop)
    in_place, sizes = loss_in_place(config), []

    def seen(logits: Tensor, labels: Tensor) -> Tensor:
        sizes.append(logits.numel() // VOCAB)
        return in_place(logits, labels)

    expected = loss_of(config)(hidden @ weight.T, labels)
    found = loss_in_chunks(seen, hidden, weight, labels, dtype=torch.float64)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    assert max(sizes) <= 6  # rows of scores at a time
    assert sum(sizes) == passes * tokens
    for ours, theirs in zip(
        torch.autograd.grad(3 * found, (hidden, weight)),
        torch.autograd.grad(3 * expected, (hidden, weight)),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-14)
