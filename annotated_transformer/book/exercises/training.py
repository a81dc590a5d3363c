"""Checks of the exercises of the chapter on training (section 5 of the paper)."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotated_transformer.book.exercises.verdict import expect, expect_close, judge
from annotated_transformer.training.schedule import learning_rate

Step = Callable[..., tuple[Tensor, Tensor, Tensor]]
Update = Callable[[nn.Module, torch.optim.Optimizer, Tensor, Tensor], Tensor]
PEAK = 4000


@judge
def check_schedule(answer: Sequence[int | float] | None) -> str:
    """Judge four predictions about the schedule, exercise ex-predict-peak."""
    expect(answer is not None, "your answer is still empty; put four numbers in its place.")
    given = [float(number) for number in answer or ()]
    expect(len(given) == 4, "give four numbers, one for each question.")
    peak = learning_rate(PEAK)
    for number, (name, lowest, highest) in zip(
        given, (("before", 1, PEAK), ("after", PEAK, 100_000)), strict=False
    ):
        whole = number == int(number) and lowest <= number <= highest
        half = whole and math.isclose(learning_rate(int(number)), peak / 2, rel_tol=1e-9)
        expect(half, f"at step {number:g}, {name} the peak, the rate is not half of its peak.")
    wider = learning_rate(PEAK, d_model=2048) / peak
    expect(math.isclose(given[2], wider, rel_tol=1e-6), "how does the peak depend on d_model?")
    longer = learning_rate(4 * PEAK, warmup_steps=4 * PEAK) / peak
    expect(math.isclose(given[3], longer, rel_tol=1e-6), "how does the peak depend on the warm-up?")
    return "the schedule agrees with all four predictions."


@judge
def check_smoothed_loss(answer: Callable[..., Tensor]) -> str:
    """Judge `answer(logits, labels, smoothing, pad_id)`, exercise ex-smoothed-loss, by explicit targets."""
    rng = torch.Generator().manual_seed(0)
    for smoothing in (0.0, 0.1, 0.7):
        logits = 3 * torch.randn(3, 5, 7, generator=rng, dtype=torch.float64)
        labels = torch.randint(1, 7, (3, 5), generator=rng)
        labels[0, 3:], labels[2, 1:] = 0, 0
        total, count = torch.zeros((), dtype=torch.float64), 0
        for row, label in zip(logits.reshape(-1, 7), labels.flatten().tolist(), strict=True):
            if label != 0:
                target = torch.full((7,), smoothing / 7, dtype=torch.float64)
                target[label] += 1 - smoothing
                total, count = total - (target * row.log_softmax(0)).sum(), count + 1
        result = answer(logits, labels, smoothing, 0)
        expect_close(result, total / count, what=f"the loss with smoothing={smoothing}", tolerance=1e-9)
    huge = answer(torch.tensor([[0.0, 1e4, 0.0]]), torch.tensor([2]), 0.1, 0)
    expect(bool(torch.as_tensor(huge).isfinite()), "logits of 10,000 give a loss that is not finite.")
    return "it agrees with explicit targets, ignores padding, and stays finite for large logits."


@judge
def check_adam(answer: Step) -> str:
    """Judge `answer(w, g, m, v, step, lr, betas, eps)`, exercise ex-adam, by PyTorch's optimizer."""
    rng = torch.Generator().manual_seed(0)
    for betas, eps in (((0.9, 0.98), 1e-9), ((0.5, 0.9), 0.1)):
        w = torch.randn(5, generator=rng, dtype=torch.float64)
        theirs = w.clone().requires_grad_()
        optimizer = torch.optim.Adam([theirs], lr=0.1, betas=betas, eps=eps)
        m, v = torch.zeros_like(w), torch.zeros_like(w)
        for step in range(1, 8):
            g = torch.randn(5, generator=rng, dtype=torch.float64)
            theirs.grad = g.clone()
            optimizer.step()
            w, m, v = answer(w, g, m, v, step, 0.1, betas, eps)
            expect_close(w, theirs.detach(), what=f"the weights after step {step}", tolerance=1e-9)
    return "seven steps with each of two settings agree with torch.optim.Adam."


class _Lookup(nn.Module):
    """A model whose logits depend on the decoder's input and the source, simply enough to work out."""

    def __init__(self, rng: torch.Generator) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(6, 6, generator=rng, dtype=torch.float64))

    def forward(self, src: Tensor, decoder_input: Tensor) -> Tensor:
        logits: Tensor = self.table[decoder_input] + self.table[src].mean(dim=1, keepdim=True)
        return logits


@judge
def check_update(answer: Update) -> str:
    """Judge `answer(model, optimizer, src, tgt)`, exercise ex-debug-loop, by two updates with SGD."""
    rng = torch.Generator().manual_seed(0)
    model, right = _Lookup(rng), _Lookup(rng)
    right.load_state_dict(model.state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for number in (1, 2):
        src = torch.randint(3, 6, (2, 3), generator=rng)
        tgt = torch.tensor([[1, 3, 4, 5, 2], [1, 5, 2, 0, 0]])
        labels = tgt[:, 1:]
        losses = F.cross_entropy(right(src, tgt[:, :-1]).transpose(1, 2), labels, reduction="none")
        wanted = losses[labels != 0].mean()
        (gradient,) = torch.autograd.grad(wanted, right.table)
        result = answer(model, optimizer, src, tgt)
        if number == 1:
            unshifted = F.cross_entropy(right(src, tgt).flatten(0, 1), tgt.flatten(), ignore_index=0)
            same = torch.allclose(torch.as_tensor(result).detach(), unshifted.detach())
            expect(not same, "each position predicts its own input; where is the shift?")
        expect_close(result, wanted.detach(), what=f"the loss of update {number}", tolerance=1e-9)
        with torch.no_grad():
            right.table.sub_(0.5 * gradient)
        what = f"the weights after update {number}" + " (whose gradients are these?)" * (number == 2)
        expect_close(model.table.detach(), right.table.detach(), what=what, tolerance=1e-9)
    return "two updates have the right losses, and each uses its own gradient."


@judge
def check_optimum(answer: Callable[[int, float], Sequence[float]]) -> str:
    """Judge `answer(classes, smoothing)`, exercise ex-smoothed-optimum, by the slope at the optimum."""
    for classes, smoothing in ((10, 0.1), (7, 0.5), (37_000, 0.1)):
        probability, gap, lowest = (float(number) for number in answer(classes, smoothing))
        logits = torch.zeros(1, classes, dtype=torch.float64)
        logits[0, 3] = gap
        logits.requires_grad_()
        where = f"for {classes} classes and ε = {smoothing}"
        loss = F.cross_entropy(logits, torch.tensor([3]), label_smoothing=smoothing)
        (slope,) = torch.autograd.grad(loss, logits)
        expect(slope.abs().max().item() < 1e-9, f"{where}, the loss is not smallest at your lead {gap:.3f}.")
        found = logits.softmax(-1)[0, 3].item()
        expect(math.isclose(probability, found, rel_tol=1e-6), f"{where}, {found:.4f} is the probability.")
        expect(math.isclose(lowest, loss.item(), rel_tol=1e-6), f"{where}, the loss is {loss.item():.4f}.")
    return "at your optimum, the gradient is 0, and the probability and the loss are right."


@judge
def check_accumulate(answer: Callable[..., Tensor]) -> str:
    """Judge `answer(model, parts)`, exercise ex-accumulate, by the gradient of one large batch."""
    rng = torch.Generator().manual_seed(0)
    model = _Lookup(rng)
    src = torch.randint(3, 6, (4, 3), generator=rng)
    tgt = torch.tensor([[1, 3, 4, 5, 2], [1, 4, 4, 3, 2], [1, 5, 2, 0, 0], [1, 2, 0, 0, 0]])
    logits = model(src, tgt[:, :-1]).flatten(0, 1)
    (wanted,) = torch.autograd.grad(
        F.cross_entropy(logits, tgt[:, 1:].flatten(), ignore_index=0), model.table
    )
    for cuts in ((2,), (1, 3), (1, 2, 3)):
        bounds = [0, *cuts, 4]
        parts = [(src[a:b], tgt[a:b]) for a, b in pairwise(bounds)]
        model.zero_grad()
        answer(model, parts)
        expect(model.table.grad is not None, "there is no gradient; call backward() for each part.")
        what = f"the gradient from {len(parts)} parts"
        expect_close(model.table.grad, wanted, what=what, tolerance=1e-9)
    return "the parts together have the gradient of the whole batch, however it is cut."
