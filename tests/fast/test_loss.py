"""The chunked loss: the same loss and gradients as for all logits at once, with less memory."""

import pytest
import torch
from torch import Tensor

from annotated_transformer.fast import loss as module
from annotated_transformer.fast.loss import loss_in_chunks
from annotated_transformer.model.loss import label_smoothed_cross_entropy

D_MODEL, VOCAB, PAD_ID = 7, 11, 0


@pytest.mark.parametrize("tokens", [1, 5, 6, 13])
def test_oracle_loss_and_gradients_equal_those_of_all_logits_at_once(monkeypatch, tokens):
    rng = torch.Generator().manual_seed(0)
    hidden = torch.randn(tokens, D_MODEL, generator=rng, dtype=torch.float64).requires_grad_()
    weight = torch.randn(VOCAB, D_MODEL, generator=rng, dtype=torch.float64).requires_grad_()
    labels = torch.randint(1, VOCAB, (tokens,), generator=rng)
    sizes = []

    def sized(logits: Tensor, labels: Tensor, **options: float) -> Tensor:
        sizes.append(len(logits))
        return label_smoothed_cross_entropy(logits, labels, **options)

    monkeypatch.setattr(module, "ROWS", 6)
    monkeypatch.setattr(module, "label_smoothed_cross_entropy", sized)
    expected = label_smoothed_cross_entropy(hidden @ weight.T, labels, smoothing=0.2, pad_id=PAD_ID)
    loss = loss_in_chunks(hidden, weight, labels, smoothing=0.2, dtype=torch.float64)
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=0)
    assert max(sizes) <= 6  # rows of logits at a time
    assert sum(sizes) == tokens
    for ours, theirs in zip(
        torch.autograd.grad(3 * loss, (hidden, weight)),
        torch.autograd.grad(3 * expected, (hidden, weight)),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-14)
