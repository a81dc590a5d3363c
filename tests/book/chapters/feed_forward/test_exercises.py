"""The checks of the exercises on the feed-forward network reject wrong answers."""

import torch

from tests.solutions import Solutions

solved = Solutions("feed_forward")
edited = solved.edited


def reshaped(x, expand, contract):
    batch, tokens, width = x.shape
    return contract(expand(x.reshape(batch, width, tokens)).relu()).reshape(x.shape)


def weights(*rows):
    """Return weights whose second matrix has two equal columns."""
    w1 = torch.tensor([row[:2] for row in rows]).T
    return lambda: (w1, torch.tensor([[row[2], row[2]] for row in rows]))


def by_matrices(x, expand, contract):
    inner = x @ expand.weight.squeeze(-1).T + expand.bias
    return inner.clamp(min=0) @ contract.weight[..., 0].T + contract.bias


RIGHT = {
    "identities": [((1, 0, 0, 1),)],
    "convolutions": [by_matrices],
    "maximum": [weights((0.5, 0.5, 1.0), (-0.5, -0.5, -1.0), (0.5, -0.5, 1.0), (-0.5, 0.5, 1.0))],
}
WRONG = {
    "identities": [
        ("your prediction for FFN(−X) = −FFN(X) is wrong:", [True, True, False, True]),
        ("what does ReLU do to a number that is three times as large?", [False, False, False, True]),
        ("your prediction for the reversed sentence is wrong:", [True, False, False, False]),
        ("give four answers, one for each identity", [True, False, False]),
    ],
    "feed_forward": [
        ("the ReLU is missing", edited("feed_forward", ".clamp(min=0)", "")),
        ("the ReLU comes last", lambda x, w1, b1, w2, b2: ((x @ w1 + b1) @ w2 + b2).relu()),
    ],
    "convolutions": [
        ("the last word of the sentence changed, and the output of", reshaped),
        ("the ReLU comes last", lambda x, e, c: c(e(x.transpose(1, 2))).relu().transpose(1, 2)),
        ("the ReLU is missing", edited("repaired", ".relu()", "")),
        ("the axes are not swapped back", lambda x, e, c: c(e(x.transpose(1, 2)).relu())),
    ],
    "width": [
        ("the number of attentions is not used", edited("ratio", "attentions * ", "")),
        ("one of the network's two matrices is left out", edited("ratio", "2 *", "4 *")),
    ],
    "maximum": [
        ("a ReLU alone gives back the second number", weights((1.0, -1.0, 1.0), (0.0, 1.0, 1.0))),
        ("(3, 2) and (2, 3), are transposed;", lambda: [w.T for w in solved.maximum_weights()]),
    ],
    "largest_value": [
        ("the mean of γ ⊙ k", edited("largest_value", "scaled - scaled.mean(dim=0)", "scaled")),
        ("the gain is not used", edited("largest_value", "gain[:, None] * w1", "w1")),
    ],
}
