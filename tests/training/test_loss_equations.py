"""The equations of the chapter on training, each against another route to the same numbers."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from annotated_transformer.model.initialization import PROJECTION_GAIN, initialize
from annotated_transformer.model.loss import label_smoothed_cross_entropy
from annotated_transformer.model.multi_head_attention import MultiHeadAttention


@pytest.fixture
def logits() -> torch.Tensor:
    return 3 * torch.randn(5, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


LABELS = torch.tensor([3, 6, 2, 0, 0])


@pytest.mark.equation("eq-cross-entropy")
def test_oracle_cross_entropy_is_the_mean_negative_log_probability(logits: torch.Tensor):
    probabilities = [logits[t].exp()[LABELS[t]] / logits[t].exp().sum() for t in range(3)]
    expected = -sum(math.log(p) for p in probabilities) / 3
    loss = label_smoothed_cross_entropy(logits, LABELS, smoothing=0.0, pad_id=0)
    assert loss.item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.equation("eq-perplexity")
def test_law_perplexity_is_the_inverse_geometric_mean_and_that_of_a_guess_is_the_vocabulary(logits):
    loss = label_smoothed_cross_entropy(logits, LABELS, smoothing=0.0, pad_id=0)
    product = math.prod(logits[t].softmax(-1)[LABELS[t]].item() for t in range(3))
    assert math.exp(loss) == pytest.approx(product ** (-1 / 3))
    guess = label_smoothed_cross_entropy(torch.zeros(5, 7), LABELS, smoothing=0.0, pad_id=0)
    assert math.exp(guess) == pytest.approx(7)


@pytest.mark.equation("eq-smoothed-loss")
@pytest.mark.parametrize("smoothing", [0.1, 0.7])
def test_oracle_the_smoothed_loss_is_the_cross_entropy_with_the_smoothed_target(logits, smoothing):
    target = (1 - smoothing) * F.one_hot(LABELS[:3], 7).double() + smoothing / 7
    expected = F.cross_entropy(logits[:3], target)
    loss = label_smoothed_cross_entropy(logits, LABELS, smoothing=smoothing, pad_id=0)
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.equation("eq-adam")
def test_oracle_adam_is_pytorchs():
    rng = torch.Generator().manual_seed(0)
    theirs = torch.randn(5, generator=rng, dtype=torch.float64).requires_grad_()
    optimizer = torch.optim.Adam([theirs], lr=0.1, betas=(0.9, 0.98), eps=1e-3)
    ours = theirs.detach().clone()
    m = v = torch.zeros(5, dtype=torch.float64)
    for t in range(1, 12):
        theirs.grad = torch.randn(5, generator=rng, dtype=torch.float64)
        optimizer.step()
        m, v = 0.9 * m + 0.1 * theirs.grad, 0.98 * v + 0.02 * theirs.grad**2
        ours = ours - 0.1 * (m / (1 - 0.9**t)) / ((v / (1 - 0.98**t)).sqrt() + 1e-3)
        torch.testing.assert_close(ours, theirs.detach(), rtol=1e-12, atol=1e-12)


@pytest.mark.equation("eq-xavier")
def test_law_initialization_has_xaviers_range_and_variance():
    linear, attention = nn.Linear(211, 401), MultiHeadAttention(212, 4)
    for module in (linear, attention):
        initialize(module, torch.Generator().manual_seed(0))
    cases = [
        (linear.weight, 1.0),
        (attention.to_key.weight, PROJECTION_GAIN),
        (attention.to_output.weight, 1.0),
    ]
    for weight, gain in cases:
        variance = gain**2 * 2 / sum(weight.shape)
        assert weight.var().item() == pytest.approx(variance, rel=0.03)
        assert 0.99 * (3 * variance) ** 0.5 < weight.abs().max().item() <= (3 * variance) ** 0.5
