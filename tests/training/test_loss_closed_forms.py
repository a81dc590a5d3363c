"""Label smoothing in closed form: the probability, the logit gap, and the loss at the optimum."""

import math

import pytest
import torch
from torch import Tensor

from annotated_transformer.training.loss import label_smoothed_cross_entropy

LABEL = 4
CASES = [(10, 0.1), (37, 0.5)]


def smoothed_label(vocab: int, smoothing: float) -> Tensor:
    """Return the smoothed target distribution."""
    target = torch.full((vocab,), smoothing / vocab, dtype=torch.float64)
    target[LABEL] += 1 - smoothing
    return target


def loss_at(logits: Tensor, smoothing: float) -> Tensor:
    label = torch.tensor([LABEL])
    return label_smoothed_cross_entropy(logits.unsqueeze(0), label, smoothing=smoothing, pad_id=0)


def optimize(vocab: int, smoothing: float) -> tuple[Tensor, float]:
    """Return the logits that L-BFGS finds, starting from equal ones, and their loss."""
    logits = torch.zeros(vocab, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [logits], max_iter=500, tolerance_grad=1e-12, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = loss_at(logits, smoothing)
        loss.backward()
        return loss

    optimizer.step(closure)
    return logits.detach(), loss_at(logits, smoothing).item()


def floor(vocab: int, smoothing: float) -> float:
    """Return the entropy of the smoothed label in closed form."""
    best, other = 1 - smoothing + smoothing / vocab, smoothing / vocab
    return -best * math.log(best) - (vocab - 1) * other * math.log(other)


@pytest.mark.equation("eq-smoothed-optimum")
@pytest.mark.parametrize(("vocab", "smoothing"), CASES)
def test_law_optimization_converges_to_the_closed_forms(vocab: int, smoothing: float):
    logits, loss = optimize(vocab, smoothing)
    best = 1 - smoothing + smoothing / vocab
    assert logits.softmax(-1)[LABEL].item() == pytest.approx(best, abs=1e-6)
    others = torch.cat([logits[:LABEL], logits[LABEL + 1 :]])
    gap = math.log(best / (smoothing / vocab))
    torch.testing.assert_close(logits[LABEL] - others, torch.full_like(others, gap), rtol=0, atol=1e-4)
    assert loss == pytest.approx(floor(vocab, smoothing), abs=1e-9)


@pytest.mark.parametrize(("smoothing", "nats", "perplexity"), [(0.1, 1.3769, 3.96), (0.2, 2.604, 13.5)])
def test_law_at_the_papers_vocabulary_the_smoothed_loss_has_a_high_floor(smoothing, nats, perplexity):
    """The loss of the best possible prediction; its exponential would look like a bad perplexity."""
    target = smoothed_label(37_000, smoothing)
    loss = loss_at(target.log(), smoothing).item()
    assert loss == pytest.approx(floor(37_000, smoothing), abs=1e-12)
    assert loss == pytest.approx(nats, abs=5e-4)
    assert math.exp(loss) == pytest.approx(perplexity, rel=5e-3)
    unsmoothed = loss_at(target.log(), 0.0).item()  # the same prediction, evaluated without smoothing
    assert math.exp(unsmoothed) == pytest.approx(1 / (1 - smoothing), rel=1e-4)
