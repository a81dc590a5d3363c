"""The checks of the exercises on training reject wrong answers."""

import math

import torch
import torch.nn.functional as F

from annotated_transformer.book.chapters.training.exercises import (
    check_accumulate,
    check_adam,
    check_optimum,
    check_schedule,
    check_smoothed_loss,
    check_update,
)


def smoothed(logits, labels, smoothing, pad_id, *, padding=False, own_share=True):
    log_p = logits.log_softmax(dim=-1)
    of_label = log_p.gather(-1, labels[..., None]).squeeze(-1)
    others = log_p.mean(dim=-1)
    if not own_share:
        others = (log_p.sum(dim=-1) - of_label) / (logits.size(-1) - 1)
    losses = -(1 - smoothing) * of_label - smoothing * others
    return losses.mean() if padding else losses[labels != pad_id].mean()


def through_probabilities(logits, labels, smoothing, pad_id):
    log_p = logits.softmax(-1).log()
    of_label = log_p.gather(-1, labels[..., None]).squeeze(-1)
    losses = -(1 - smoothing) * of_label - smoothing * log_p.mean(dim=-1)
    return losses[labels != pad_id].mean()


def adam(w, g, m, v, step, lr, betas, eps, *, correct=True, inside=False, first=False):
    m = betas[0] * m + (1 - betas[0]) * g
    v = betas[1] * v + (1 - betas[1]) * g**2
    step = 1 if first else step
    m_hat, v_hat = (m / (1 - betas[0] ** step), v / (1 - betas[1] ** step)) if correct else (m, v)
    root = (v_hat + eps).sqrt() if inside else v_hat.sqrt() + eps
    return w - lr * m_hat / root, m, v


def update(model, optimizer, src, tgt, *, clear=True, shift=True, ignore=0):
    if clear:
        optimizer.zero_grad()
    inputs, labels = (tgt[:, :-1], tgt[:, 1:]) if shift else (tgt, tgt)
    loss = F.cross_entropy(model(src, inputs).flatten(0, 1), labels.flatten(), ignore_index=ignore)
    loss.backward()
    optimizer.step()
    return loss.detach()


def optimum(classes, smoothing, *, own_share=True):
    other = smoothing / classes if own_share else smoothing / (classes - 1)
    best = 1 - (classes - 1) * other
    loss = -best * math.log(best) - (classes - 1) * other * math.log(other)
    return best, math.log(best / other), loss


def accumulate(model, parts, *, weigh="labels"):
    labels = [int((tgt[:, 1:] != 0).sum()) for _, tgt in parts]
    for (src, tgt), count in zip(parts, labels, strict=True):
        loss = F.cross_entropy(model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=0)
        factor = {"labels": count / sum(labels), "parts": 1 / len(parts), "none": 1.0}[weigh]
        (loss * factor).backward()


def smoothed_targets(logits, labels, smoothing, pad_id):
    classes = logits.shape[-1]
    target = torch.full_like(logits, smoothing / classes)
    target.scatter_add_(-1, labels.unsqueeze(-1), torch.full_like(target[..., :1], 1 - smoothing))
    log_p = logits - torch.logsumexp(logits, -1, keepdim=True)
    kept = labels.ne(pad_id)
    return float(-(target * log_p).sum(-1).mul(kept).sum() / kept.sum())


def adam_in_place(w, g, m, v, step, lr, betas, eps):
    m.lerp_(g, 1 - betas[0])
    v.mul_(betas[1]).addcmul_(g, g, value=1 - betas[1])
    root = v.sqrt().div_((1 - betas[1] ** step) ** 0.5).add_(eps)
    return w.addcdiv_(m, root, value=-lr / (1 - betas[0] ** step)), m, v


def update_by_rows(model, optimizer, src, tgt):
    model.zero_grad()
    log_p = model(src, tgt[:, :-1]).log_softmax(dim=-1)
    real = tgt[:, 1:] != 0
    loss = -log_p.gather(2, tgt[:, 1:, None])[..., 0][real].sum() / real.sum()
    loss.backward()
    optimizer.step()
    return loss.item()


def accumulate_sums(model, parts):
    total = sum((tgt[:, 1:] != 0).sum() for _, tgt in parts)
    for src, tgt in parts:
        log_p = model(src, tgt[:, :-1]).log_softmax(dim=-1)
        F.nll_loss(log_p.mT, tgt[:, 1:], ignore_index=0, reduction="sum").div(total).backward()


RIGHT = {
    check_schedule: [[2000, 16_000, 0.5, 0.5], ((2000.0, 16_000.0, 1 / 2, 1 / 2),)],
    check_smoothed_loss: [smoothed, smoothed_targets],
    check_adam: [adam, adam_in_place],
    check_update: [update, update_by_rows],
    check_optimum: [optimum, lambda classes, e: torch.tensor(optimum(classes, e), dtype=torch.float64)],
    check_accumulate: [accumulate, accumulate_sums],
}


WRONG = {
    check_schedule: [
        ("at step 8000, after the peak, the rate is not half of its", [2000, 8000, 0.5, 0.5]),
        ("the peak of a model four times as wide does not change by a", [2000, 16_000, 2.0, 0.5]),
        ("step 2000 is not after the peak, which is at step 4,000", [2000, 2000, 0.5, 0.5]),
        ("with a warm-up four times as long, the peak does not", [2000, 16_000, 0.5, 0.25]),
        ("give four numbers, one for each question", [2000, 16_000]),
    ],
    check_smoothed_loss: [
        ("padding counts as a label", lambda *args: smoothed(*args, padding=True)),
        ("the other classes share the smoothing", lambda *args: smoothed(*args, own_share=False)),
        ("logits of 10,000 give a loss that is not finite:", through_probabilities),
    ],
    check_adam: [
        ("the means are not corrected for their start at 0", lambda *args: adam(*args, correct=False)),
        ("the means are corrected as at the first step, whatever", lambda *args: adam(*args, first=True)),
        ("ε is inside the root", lambda *args: adam(*args, inside=True)),
    ],
    check_update: [
        ("the gradients of the first update are added", lambda *args: update(*args, clear=False)),
        (
            "each position predicts its own input: the shift is missing",
            lambda *args: update(*args, shift=False),
        ),
        ("padding counts as a label", lambda *args: update(*args, ignore=-1)),
    ],
    check_optimum: [
        ("the label has no part in the smoothing", lambda *args: optimum(*args, own_share=False)),
        (
            "the label's target is taken to be 1 − ε",
            lambda classes, e: (1 - e, math.log((1 - e) * classes / e), 0.0),
        ),
        ("the label's own share ε / n is missing", lambda classes, e: (1 - e, *optimum(classes, e)[1:])),
        ("this is the perplexity", lambda *args: (*optimum(*args)[:2], math.exp(optimum(*args)[2]))),
    ],
    check_accumulate: [
        ("the means of the parts are averaged", lambda *args: accumulate(*args, weigh="parts")),
        ("the means of the parts are added", lambda *args: accumulate(*args, weigh="none")),
    ],
}


def test_law_the_smoothed_loss_in_the_test_is_pytorchs():
    logits = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = torch.tensor([[1, 2, 0], [3, 0, 0]])
    theirs = F.cross_entropy(logits.mT, labels, ignore_index=0, label_smoothing=0.3)
    torch.testing.assert_close(smoothed(logits, labels, 0.3, 0), theirs)
