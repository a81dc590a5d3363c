"""The checks of the exercises on Add & Norm reject wrong answers."""

import torch

from tests.solutions import Solutions

solved = Solutions("add_and_norm")
edited = solved.edited
ROW = [1.67, -1, -0.33, -0.33]
SCALES = [ROW, [-number for number in ROW], [0, 0, 0, 0]]


RIGHT = {
    "scales": [SCALES, torch.tensor(SCALES)],
    "pre_norm": [lambda x, sublayer, norm, dropout: dropout(sublayer(norm(x))).add_(x)],
    "folded": [lambda norm, linear: [linear.weight @ norm.gain.diag(), linear(norm.bias)]],
}
SAMPLE = "y.square().mean(dim=-1, keepdim=True)", "y.var(dim=-1, keepdim=True)"
MEAN, DEVIATION = " - 1 / d", " - torch.outer(hat, hat) / d"
WRONG = {
    "scales": [
        ("nothing is divided by the deviation", [[10 * number for number in ROW], *SCALES[1:]]),
        ("the sign is lost", [ROW, ROW, SCALES[2]]),
        ("the variance is divided by 3 instead of 4", [[0.87 * number for number in row] for row in SCALES]),
    ],
    "add_and_norm": [
        ("the variance is divided by d − 1 instead of d", edited("add_and_norm", *SAMPLE)),
        (
            "the root is missing: centered features are divided by the variance",
            edited("add_and_norm", "(variance + eps).sqrt()", "(variance + eps)"),
        ),
    ],
    "pre_norm": [
        ("the stream itself is normalized", edited("repaired", "return x +", "return norm(x) +")),
        ("dropout is not used", edited("repaired", "dropout(sublayer(norm(x)))", "sublayer(norm(x))")),
    ],
    "norm_derivative": [
        ("the mean and the deviation are taken as", edited("norm_derivative", MEAN, "", DEVIATION, "")),
        ("divided by d − 1 instead of d", edited("norm_derivative", "x.std(correction=0)", "x.std()")),
    ],
    "last_token": [
        ("the mean is multiplied by the number of given", edited("last_token", "(len(x) + 1)", "len(x)")),
        ("this is the last token's output", lambda x, y: -y.sum(dim=0)),  # makes the outputs sum to 0
    ],
    "folded": [
        ("β is not folded into the bias", edited("folded", " + linear.weight @ norm.bias", "")),
        ("the weight is scaled by the mean of γ", edited("folded", "norm.gain", "norm.gain.mean()")),
    ],
}
