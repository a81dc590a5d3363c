"""Checks of the exercises of the chapter on training (section 5 of the paper)."""

import math
from collections.abc import Callable
from itertools import pairwise
from math import isclose

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotated_transformer.book.exercises.answers import Answer, Answers, formula, predictions
from annotated_transformer.book.exercises.rules import PACKAGE, expect_without
from annotated_transformer.book.exercises.verdict import (
    expect,
    expect_close,
    expect_tensor,
    expect_tuple,
    judge,
    plural,
)
from annotated_transformer.training.schedule import BETAS, EPS, learning_rate

Step = Callable[..., tuple[Tensor, Tensor, Tensor]]
Update = Callable[[nn.Module, torch.optim.Optimizer, Tensor, Tensor], Tensor]
PEAK = 4000


@predictions(
    put="four numbers",
    shows="the rate rises with the step and falls with its root, from a peak of (d_model · w)^−0.5.",
)
def check_schedule() -> Answers:
    """Judge four predictions about the schedule, exercise ex-predict-peak."""
    peak = learning_rate(PEAK)
    before, after = (
        next(step for step in steps if isclose(learning_rate(step), peak / 2, rel_tol=1e-9))
        for steps in (range(1, PEAK), range(PEAK, 10 * PEAK))
    )
    wider = learning_rate(PEAK, d_model=2048) / peak
    longer = learning_rate(4 * PEAK, warmup_steps=4 * PEAK) / peak
    factors = {
        "the peak falls with the root, not in proportion": 0.25,
        "the peak is taken to grow": 2.0,
        "the peak is taken to stay": 1.0,
    }
    return {
        "half of the peak, before it": Answer(before, "It rises in a straight line.",
            {"it is taken to rise with the root of the steps": 1000, "this step is after the peak": after}),
        "half of the peak, after it": Answer(after, "It falls with the root of the steps.",
            {"it is taken to fall in proportion to the steps": 8000, "it is taken to fall as it rose": 6000}),
        "four times as wide: the peak's factor": Answer(wider, "How does the peak depend on d_model?",
            factors, 1e-6),
        "a warm-up four times as long: the peak's factor": Answer(longer,
            "How does it depend on the warm-up?", factors, 1e-6),
    }  # fmt: skip


@judge
def check_smoothed_loss(answer: Callable[..., Tensor]) -> str:
    """Judge `answer(logits, labels, smoothing, pad_id)`, exercise ex-smoothed-loss, by explicit targets."""
    expect_without(answer, PACKAGE, "cross_entropy", "torch.nn.modules.loss.CrossEntropyLoss")
    rng = torch.Generator().manual_seed(0)
    for smoothing in (0.1, 0.0, 0.7):
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
        log_p, real = logits.log_softmax(dim=-1), labels != 0
        of_label = log_p.gather(-1, labels[..., None]).squeeze(-1)
        losses = -(1 - smoothing) * of_label - smoothing * log_p.mean(dim=-1)
        of_others = (log_p.sum(dim=-1) - of_label) / 6
        shared = -(1 - smoothing) * of_label - smoothing * of_others
        each = [row[kept].mean() for row, kept in zip(losses, real, strict=True)]
        undivided = -(1 - smoothing) * of_label - smoothing * log_p.sum(dim=-1)
        mistakes = {
            "padding counts as a label": losses.mean(),
            "padding adds no loss, but is counted in the mean": losses[real].sum() / losses.numel(),
            "the losses are added; their mean over the labels is asked for": losses[real].sum(),
            "the sentences are averaged one by one, so that labels of short ones count more": (
                torch.stack(each).mean()
            ),
            "the other classes share the smoothing; the label gets its part, too": shared[real].mean(),
            "the smoothing is not used": -of_label[real].mean(),
            "the smoothing is not divided by the number of classes": undivided[real].mean(),
            "the sign is reversed": -losses[real].mean(),
        }
        what = f"the loss with smoothing={smoothing}"
        expect_close(result, total / count, what=what, tolerance=1e-9, mistakes=mistakes)
    huge = answer(torch.tensor([[[0.0, 1e4, 0.0], [0.0, 0.0, 1e4]]]), torch.tensor([[2, 1]]), 0.1, 0)
    expect(
        bool(torch.as_tensor(huge).isfinite().all()),
        "logits of 10,000 give a loss that is not finite: a probability was rounded to 0.",
    )
    return "it agrees with explicit targets, ignores padding, and stays finite for large logits."


@judge
def check_adam(answer: Step) -> str:
    """Judge `answer(w, g, m, v, step, lr, betas, eps)`, exercise ex-adam, by PyTorch's optimizer."""
    rng = torch.Generator().manual_seed(0)
    for betas, eps in ((BETAS, EPS), ((0.5, 0.9), 0.1)):
        w = torch.randn(5, generator=rng, dtype=torch.float64)
        theirs = w.clone().requires_grad_()
        optimizer = torch.optim.Adam([theirs], lr=0.1, betas=betas, eps=eps)
        m, v = torch.zeros_like(w), torch.zeros_like(w)
        for step in range(1, 8):
            g = torch.randn(5, generator=rng, dtype=torch.float64)
            theirs.grad = g.clone()
            optimizer.step()
            mistakes = _mistaken_adam(w, g, m, v, step, betas, eps)
            what = f"after {plural(step, 'step')} with eps={eps:g}, the tensor of weights"
            parts = expect_tuple(answer(w, g, m, v, step, 0.1, betas, eps), 3)
            w, m, v = (expect_tensor(part, what=what) for part in parts)
            expect_close(w, theirs.detach(), what=what, tolerance=1e-9, mistakes=mistakes)
    return "seven steps with each of two settings agree with torch.optim.Adam."


def _mistaken_adam(
    w: Tensor, g: Tensor, m: Tensor, v: Tensor, step: int, betas: tuple[float, float], eps: float
) -> dict[str, Tensor]:
    """Return the weights after a step of Adam with a mistake."""
    m = betas[0] * m + (1 - betas[0]) * g
    v = betas[1] * v + (1 - betas[1]) * g**2
    first, second = (1 - beta**step for beta in betas)
    m_hat, v_hat = m / first, v / second
    return {
        "the means are not corrected for their start at 0": w - 0.1 * m / (v.sqrt() + eps),
        "ε is inside the root; it belongs outside": w - 0.1 * m_hat / (v_hat + eps).sqrt(),
        "the means are corrected as at the first step, whatever `step` is": (
            w - 0.1 * m / (1 - betas[0]) / ((v / (1 - betas[1])).sqrt() + eps)
        ),
        "the root is missing in the denominator": w - 0.1 * m_hat / (v_hat + eps),
        "the sign of the step is reversed": w + 0.1 * m_hat / (v_hat.sqrt() + eps),
        "the gradient is used instead of its mean": w - 0.1 * g / (v_hat.sqrt() + eps),
        "steps are counted from 0 in the correction": (
            w - 0.1 * m / (1 - betas[0] ** (step + 1)) / ((v / (1 - betas[1] ** (step + 1))).sqrt() + eps)
        ),
    }


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
    earlier = torch.zeros(6, 6, dtype=torch.float64)
    for number in (1, 2):
        src = torch.randint(3, 6, (2, 3), generator=rng)
        tgt = torch.tensor([[1, 3, 4, 5, 2], [1, 5, 2, 0, 0]])
        labels = tgt[:, 1:]
        losses = F.cross_entropy(right(src, tgt[:, :-1]).transpose(1, 2), labels, reduction="none")
        wanted = losses[labels != 0].mean()
        (gradient,) = torch.autograd.grad(wanted, right.table)
        before = right.table.detach().clone()
        result = answer(model, optimizer, src, tgt)
        whole = F.cross_entropy(right(src, tgt).transpose(1, 2), tgt, reduction="none")
        mistakes = {
            "padding counts as a label": losses.mean(),
            "none of the bugs that change the loss is repaired": whole.mean(),
            "each position predicts its own input: the shift is missing": whole[tgt != 0].mean(),
            "the losses are added instead of averaged": losses[labels != 0].sum(),
        }
        expect_close(result, wanted, what=f"the loss of update {number}", tolerance=1e-9, mistakes=mistakes)
        with torch.no_grad():
            right.table.sub_(0.5 * gradient)
        slow = {
            "no update was made": before,
            "the gradients of the first update are added; clear them": right.table - 0.5 * earlier,
        }
        what = f"after update {number}, the tensor of weights"
        expect_close(model.table, right.table, what=what, tolerance=1e-9, mistakes=slow)
        earlier = gradient
    return "two updates have the right losses, and each uses its own gradient."


@formula(
    *((10, 0.1), (7, 0.5), (37_000, 0.1)),
    shows="the loss is smallest where the probabilities are the smoothed targets: their entropy.",
)
def check_optimum(classes: int, smoothing: float) -> Answer:
    """Judge `answer(classes, smoothing)`, three numbers, exercise ex-smoothed-optimum."""
    other, alone = smoothing / classes, smoothing / (classes - 1)
    best = 1 - smoothing + other
    lead, own = math.log(best / other), -best * math.log(best)
    loss = own - (classes - 1) * other * math.log(other)
    mistakes = {
        "the label's own share ε / n is missing in its probability": [1 - smoothing, lead, loss],
        "the probability is that of one other class": [other, lead, loss],
        "the label has no part in the smoothing; it gets ε / n, too": [
            best,
            math.log((1 - smoothing) / alone),
            loss,
        ],
        "the label's target is taken to be 1 − ε in the lead": [
            best,
            math.log((1 - smoothing) / other),
            loss,
        ],
        "the loss is turned into a perplexity": [best, lead, math.exp(loss)],
        "only the label's part of the loss is counted": [best, lead, own],
        "one of the other classes is counted in the loss; there are n − 1": [
            best,
            lead,
            own - other * math.log(other),
        ],
    }
    return Answer([best, lead, loss], "Set the derivative with respect to z to 0.", mistakes, 1e-4)


@judge
def check_accumulate(answer: Callable[..., Tensor]) -> str:
    """Judge `answer(model, parts)`, exercise ex-accumulate, by the gradient of one large batch."""
    rng = torch.Generator().manual_seed(0)
    model = _Lookup(rng)
    src = torch.randint(3, 6, (4, 3), generator=rng)
    tgt = torch.tensor([[1, 3, 4, 5, 2], [1, 4, 4, 3, 2], [1, 5, 2, 0, 0], [1, 2, 0, 0, 0]])
    logits = model(src, tgt[:, :-1]).flatten(0, 1)
    whole = F.cross_entropy(logits, tgt[:, 1:].flatten(), ignore_index=0)
    (wanted,) = torch.autograd.grad(whole, model.table, retain_graph=True)
    each = F.cross_entropy(logits.unflatten(0, (4, 4)).transpose(1, 2), tgt[:, 1:], reduction="none")
    each, counts = each * (tgt[:, 1:] != 0), (tgt[:, 1:] != 0).sum(dim=1)
    for cuts in ((2,), (1, 3), (1, 2, 3)):
        bounds = [0, *cuts, 4]
        parts = [(src[a:b], tgt[a:b]) for a, b in pairwise(bounds)]
        model.zero_grad()
        answer(model, parts)
        expect(model.table.grad is not None, "there is no gradient; call backward() for each part.")
        means = [each[a:b].sum() / counts[a:b].sum() for a, b in pairwise(bounds)]
        slips = {
            "the means of the parts are averaged; parts with fewer labels then count as much as others": (
                sum(means) / len(means)
            ),
            "the means of the parts are added": sum(means),
            "the losses are added, without a division by the number of all labels": each.sum(),
            "the losses are divided by the number of places, padding included": each.sum() / each.numel(),
            "the losses are divided by the number of sentences": each.sum() / 4,
            "only the last part has a gradient": each[bounds[-2] :].sum() / counts.sum(),
        }
        mistakes = {
            slip: torch.autograd.grad(torch.as_tensor(loss), model.table, retain_graph=True)[0]
            for slip, loss in slips.items()
        }
        what = f"the gradient from {len(parts)} parts"
        expect_close(model.table.grad, wanted, what=what, tolerance=1e-9, mistakes=mistakes)
    return "the parts together have the gradient of the whole batch, however it is cut."
