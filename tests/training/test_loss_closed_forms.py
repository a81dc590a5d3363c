"""Label smoothing in closed form: the probability and the logit gap at the optimum, and its loss."""

import math

import pytest
import torch
from torch import Tensor

from annotated_transformer.model.loss import label_smoothed_cross_entropy

LABEL = 4
CASES = [(10, 0.1), (37, 0.5)]


def loss_at(logits: Tensor, smoothing: float) -> Tensor:
    label = torch.tensor([LABEL])
    return label_smoothed_cross_entropy(logits.unsqueeze(0), label, smoothing=smoothing, pad_id=0)


def optimize(vocab: int, smoothing: float) -> tuple[Tensor, float]:
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
