"""The loss: the values and gradients of PyTorch, and no influence of padding."""

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.fast.loss import smoothed_losses_in_place
from annotated_transformer.training.loss import label_smoothed_cross_entropy

BATCH, TOKENS, VOCAB, PAD_ID = 3, 5, 11, 0


@pytest.fixture
def logits() -> torch.Tensor:
    rng = torch.Generator().manual_seed(0)
    return 3 * torch.randn(BATCH, TOKENS, VOCAB, generator=rng, dtype=torch.float64)


@pytest.fixture
def labels() -> torch.Tensor:
    labels = torch.randint(1, VOCAB, (BATCH, TOKENS), generator=torch.Generator().manual_seed(1))
    labels[0, 3:], labels[2, 1:] = PAD_ID, PAD_ID
    return labels


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_oracle_values_and_gradients_match_pytorch(
    logits: torch.Tensor, labels: torch.Tensor, smoothing: float
):
    ours, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    loss = label_smoothed_cross_entropy(ours, labels, smoothing=smoothing, pad_id=PAD_ID)
    expected = F.cross_entropy(
        theirs.flatten(0, 1), labels.flatten(), ignore_index=PAD_ID, label_smoothing=smoothing
    )
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=1e-12)
    loss.backward()
    expected.backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_oracle_the_in_place_loss_leaves_the_gradient_of_the_sum(logits: torch.Tensor, smoothing: float):
    labels = torch.randint(1, VOCAB, (BATCH, TOKENS), generator=torch.Generator().manual_seed(1))
    logits[1, 2] *= 300  # so far apart that probabilities underflow to 0
    leaf = logits.clone().requires_grad_()
    mean = label_smoothed_cross_entropy(leaf, labels, smoothing=smoothing, pad_id=PAD_ID)
    expected = labels.numel() * mean
    (gradient,) = torch.autograd.grad(expected, leaf)
    found = smoothed_losses_in_place(logits, labels, smoothing=smoothing)
    torch.testing.assert_close(found, expected.detach(), rtol=1e-12, atol=0)
    torch.testing.assert_close(logits, gradient, rtol=1e-12, atol=1e-14)


def test_law_padding_does_not_affect_the_loss(logits: torch.Tensor, labels: torch.Tensor):
    def loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return label_smoothed_cross_entropy(logits, labels, smoothing=0.1, pad_id=PAD_ID)

    before = loss(logits, labels)
    wider = F.pad(logits, (0, 0, 0, 2), value=9.0), F.pad(labels, (0, 2), value=PAD_ID)
    torch.testing.assert_close(loss(*wider), before, rtol=1e-14, atol=0)
    changed = logits.clone()
    changed[labels == PAD_ID] = 1e6
    assert loss(changed, labels) == before
    changed[0, 0, 3] += 1
    assert loss(changed, labels) != before


def test_law_half_precision_logits_are_summed_in_float32(logits: torch.Tensor, labels: torch.Tensor):
    half = logits.to(torch.bfloat16)
    ours = label_smoothed_cross_entropy(half, labels, smoothing=0.1, pad_id=PAD_ID)
    assert ours.dtype == torch.float32
    assert ours == label_smoothed_cross_entropy(half.float(), labels, smoothing=0.1, pad_id=PAD_ID)


def test_law_huge_logits_stay_finite(labels: torch.Tensor):
    logits = torch.full((BATCH, TOKENS, VOCAB), -1e4)
    logits[..., 3] = 1e4
    assert label_smoothed_cross_entropy(logits, labels, smoothing=0.1, pad_id=PAD_ID).isfinite()


@pytest.mark.message
def test_message_only_padding(logits: torch.Tensor):
    with pytest.raises(ValueError, match=r"all 15 labels are padding \(pad_id=0\); give at least one other"):
        label_smoothed_cross_entropy(
            logits, torch.zeros(BATCH, TOKENS, dtype=torch.long), smoothing=0.1, pad_id=PAD_ID
        )


@pytest.mark.message
@pytest.mark.parametrize("smoothing", [-0.1, 1.0])
def test_message_smoothing_out_of_range(logits: torch.Tensor, labels: torch.Tensor, smoothing: float):
    with pytest.raises(ValueError, match=f"smoothing={smoothing} is not a probability; give 0 ≤ "):
        label_smoothed_cross_entropy(logits, labels, smoothing=smoothing, pad_id=PAD_ID)
