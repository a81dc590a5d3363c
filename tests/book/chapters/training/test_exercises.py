"""The checks of the exercises on training reject wrong answers."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.solutions import Solutions

solved = Solutions("training")
edited = solved.edited


def optimum_without_own_share(classes, smoothing):
    other = smoothing / (classes - 1)
    loss = -(1 - smoothing) * math.log(1 - smoothing) - smoothing * math.log(other)
    return 1 - smoothing, math.log((1 - smoothing) / other), loss


def by_layer(logits, labels, smoothing, pad_id):
    return nn.CrossEntropyLoss(ignore_index=pad_id, label_smoothing=smoothing)(logits.mT, labels)


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


def accumulate_means(model, parts, *, weigh=lambda part, labels: part / sum(labels)):
    labels = [int((tgt[:, 1:] != 0).sum()) for _, tgt in parts]
    for (src, tgt), count in zip(parts, labels, strict=True):
        loss = F.cross_entropy(model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=0)
        (loss * weigh(count, labels)).backward()


RIGHT = {
    "smoothed_loss": [lambda *given: solved.smoothed_loss(*given).item()],
    "adam": [adam_in_place],
    "update": [update_by_rows],
    "optimum": [lambda n, e: torch.tensor(solved.optimum(n, e), dtype=torch.float64) + 7e-8],  # a search
    "accumulate": [accumulate_means],
}
OTHERS = "log_p.mean(dim=-1)", "(log_p.sum(dim=-1) - of_label) / (logits.size(-1) - 1)"
UNCORRECTED = "m / (1 - betas[0] ** step), v / (1 - betas[1] ** step)", "m, v"
SHIFT = "model(src, tgt[:, :-1])", "model(src, tgt)", "tgt[:, 1:]", "tgt"
WRONG = {
    "schedule": [
        ("at step 8000, after the peak, the rate is not half of its", [2000, 8000, 0.5, 0.5]),
        ("step 2000 is not after the peak, which is at step 4,000", [2000, 2000, 0.5, 0.5]),
        ("give four numbers, one for each question", [2000, 16_000]),
    ],
    "smoothed_loss": [
        ("your answer uses CrossEntropyLoss, which this exercise rules out", by_layer),
        ("the other classes share the smoothing", edited("smoothed_loss", *OTHERS)),
        (
            "logits of 10,000 give a loss that is not finite:",
            edited(
                "smoothed_loss", "logits - logits.logsumexp(dim=-1, keepdim=True)", "logits.softmax(-1).log()"
            ),
        ),
    ],
    "adam": [
        ("the means are not corrected for their start at 0", edited("adam_step", *UNCORRECTED)),
        ("ε is inside the root", edited("adam_step", "v_hat.sqrt() + eps", "(v_hat + eps).sqrt()")),
    ],
    "update": [
        ("the gradients of the first update are added", edited("repaired", "optimizer.zero_grad()", "pass")),
        ("the shift is missing", edited("repaired", *SHIFT)),
        ("padding counts as a label", edited("repaired", ", ignore_index=0", "")),
    ],
    "optimum": [
        ("the label has no part in the smoothing", optimum_without_own_share),
        ("your lead 4.511: the label's slope there is 1e-05", lambda n, e: (0.91, 4.511, 0.5)),
        ("the label's own share ε / n is missing", lambda n, e: (1 - e, *solved.optimum(n, e)[1:])),
        ("this is the perplexity", lambda *n: (*solved.optimum(*n)[:2], math.exp(solved.optimum(*n)[2]))),
    ],
    "accumulate": [
        (
            "the means of the parts are averaged",
            lambda *given: accumulate_means(*given, weigh=lambda part, labels: 1 / len(labels)),
        ),
        ("the means of the parts are added", lambda *given: accumulate_means(*given, weigh=lambda *_: 1)),
    ],
}
