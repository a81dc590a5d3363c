"""Checks of the exercises of the chapter on the feed-forward network (section 3.3 of the paper)."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, allclose, nn

from annotated_transformer.book.exercises.answers import Answer, Answers, formula, predictions
from annotated_transformer.book.exercises.inputs import normal_draws
from annotated_transformer.book.exercises.rules import PACKAGE, expect_without
from annotated_transformer.book.exercises.verdict import (
    expect,
    expect_close,
    expect_no_mistake,
    expect_number,
    expect_shape,
    expect_tensor,
    expect_tuple,
    judge,
    plural,
)

Convolutions = Callable[[Tensor, nn.Conv1d, nn.Conv1d], Tensor]


@predictions(
    put="four times True or False",
    shows="a ReLU lets a positive factor through, but no sign and no sum; each row is processed by itself.",
)
def check_identities() -> Answers:
    """Judge which identities are predicted to hold, exercise ex-predict-identities, by random weights."""
    draw, turned = normal_draws(0), torch.arange(5).flip(0)
    w1, w2, x, y = draw(4, 9), draw(9, 4), draw(5, 4), draw(5, 4)

    def network(x: Tensor) -> Tensor:
        return (x @ w1).relu() @ w2

    def holds(left: Tensor, right: Tensor, clue: str) -> Answer:
        return Answer(allclose(left, right), clue)

    return {
        "FFN(3X) = 3 FFN(X)": holds(network(3 * x), 3 * network(x),
            "What does ReLU do to a number that is three times as large?"),
        "FFN(−X) = −FFN(X)": holds(network(-x), -network(x), "Which units are active for −X?"),
        "FFN(X + Y) = FFN(X) + FFN(Y)": holds(network(x + y), network(x) + network(y),
            "Would this hold for max(0, ·) itself?"),
        "the reversed sentence": holds(network(x[turned]), network(x)[turned],
            "Does a row depend on the others?"),
    }  # fmt: skip


@judge
def check_feed_forward(answer: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]) -> str:
    """Judge `answer(x, w1, b1, w2, b2)`, exercise ex-feed-forward, by the sum over single units."""
    expect_without(answer, PACKAGE, "torch.nn")
    draw = normal_draws(0)
    for shape, d_ff in (((3,), 5), ((4, 3), 7), ((2, 5, 4), 1)):
        width = shape[-1]
        x, w1, b1, w2, b2 = draw(*shape), draw(width, d_ff), draw(d_ff), draw(d_ff, width), draw(width)
        wanted = b2.expand(shape).clone()
        for i in range(d_ff):
            strength = ((x * w1[:, i]).sum(dim=-1, keepdim=True) + b1[i]).clamp(min=0)
            wanted += strength * w2[i]
        result, inner = answer(x, w1, b1, w2, b2), x @ w1 + b1
        mistakes = {
            "the ReLU is missing": inner @ w2 + b2,
            "the ReLU comes last; it belongs between the two maps": (inner @ w2 + b2).relu(),
            "ReLU comes before the first bias is added": ((x @ w1).relu() + b1) @ w2 + b2,
            "the second bias is missing": inner.relu() @ w2,
            "the first bias is missing": (x @ w1).relu() @ w2 + b2,
            "x is added; the residual connection is not part of the network": x + wanted,
        }
        what = f"the output for x of shape {shape}"
        expect_close(result, wanted, what=what, tolerance=1e-9, mistakes=mistakes)
    return "it is the sum of its units, for any leading axes."


@judge
def check_convolutions(answer: Convolutions) -> str:
    """Judge `answer(x, expand, contract)`, exercise ex-debug-convolution, by matrix products."""
    draw = normal_draws(0)
    w1, b1, w2, b2 = draw(6, 4), draw(6), draw(4, 6), draw(4)
    expand, contract = nn.Conv1d(4, 6, 1).double(), nn.Conv1d(6, 4, 1).double()
    expand.load_state_dict({"weight": w1[..., None], "bias": b1})
    contract.load_state_dict({"weight": w2[..., None], "bias": b2})
    with torch.no_grad():
        for shape in ((2, 5, 4), (3, 4, 4)):
            x = draw(*shape)
            wanted, moved = (x @ w1.T + b1).relu() @ w2.T + b2, x.clone()
            moved[:, -1] += 1
            result, then = (
                expect_tensor(answer(given, expand, contract), what="the output") for given in (x, moved)
            )
            inner = x @ w1.T + b1
            mistakes = {
                "the axes are not swapped back": wanted.transpose(1, 2),
                "the ReLU is missing": inner @ w2.T + b2,
                "the ReLU comes last; it belongs between the two maps": (inner @ w2.T + b2).relu(),
            }
            what = f"the output for x of shape {shape}"
            expect_no_mistake(result, mistakes, what=what)
            expect_shape(result, wanted, what=what)
            apart = allclose(result[:, :-1], then[:, :-1])
            expect(apart, "the last word of the sentence changed, and the output of another word with it.")
            expect(bool((result < 0).any()), "no output is negative; where does the ReLU belong?")
            expect_close(result, wanted, what=what, tolerance=1e-9)
    return "each word is by itself, and it agrees with the matrix products."


@formula(
    *((0.75, 1), (2 / 3, 2), (1 / 3, 3), (0.2, 1)),
    shows="the network has 2 · d · d_ff weights, and each attention 4 · d².",
)
def check_width(share: float, attentions: int) -> Answer:
    """Judge `answer(share, attentions)`, exercise ex-share."""
    odds = share / (1 - share)
    mistakes = {
        "the number of attentions is not used": 2 * odds,
        "one of the network's two matrices is left out": 4 * attentions * odds,
        "two of an attention's four matrices are left out": attentions * odds,
        "the share is not divided by what is left for attention": 2 * attentions * share,
    }
    return Answer(
        2 * attentions * odds, "Which matrices do the network and an attention have?", mistakes, 1e-3
    )


@judge
def check_maximum(answer: Callable[[], tuple[Tensor, Tensor]]) -> str:
    """Judge the weights that `answer()` returns, exercise ex-maximum."""
    w1, w2 = (torch.as_tensor(w, dtype=torch.float64) for w in expect_tuple(answer(), 2))
    right = w1.dim() == w2.dim() == 2 and w1.size(0) == w2.size(1) == 2 and w1.size(1) == w2.size(0)
    shapes = f"{tuple(w1.shape)} and {tuple(w2.shape)}"
    turned = tuple(w1.T.shape) == tuple(w2.shape) and w2.size(0) == 2 != w2.size(1)
    expect(not turned, f"the weights, {shapes}, are transposed; they should be (2, d_ff) and (d_ff, 2).")
    expect(right, f"the weights should have the shapes (2, d_ff) and (d_ff, 2), not {shapes}.")
    for pair in ((2.0, 1.0), (1.0, 2.0), (-1.0, -3.0), (-3.0, -1.0), (2.0, -1.0), (-1.0, 2.0), (-2.0, 0.0)):
        for output in ((torch.tensor(pair, dtype=torch.float64) @ w1).relu() @ w2).tolist():
            mistakes = {
                "a ReLU alone gives back the second number, which may be negative": max(pair[0] - pair[1], 0)
                + max(pair[1], 0),
                "this is the smaller of the two": min(pair),
            }
            what = f"for x = ({pair[0]:g}, {pair[1]:g}), each output"
            expect_number(output, max(pair), what=what, mistakes=mistakes)
    return f"it is the maximum, with {plural(w1.size(1), 'hidden unit')}."


@judge
def check_largest_value(answer: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> str:
    """Judge `answer(w1, b1, gain, bias)`, exercise ex-provably-dead, by climbing to the largest value."""
    draw = normal_draws(0)
    for width, d_ff in ((3, 5), (8, 4)):
        w1, b1, gain, bias = draw(width, d_ff), draw(d_ff), draw(width), draw(width)
        x = draw(d_ff, width)  # one vector for each unit, which climbs on its sphere
        for _ in range(500):
            x = x + (gain[:, None] * w1).T
            x = x - x.mean(dim=1, keepdim=True)
            x = x * (math.sqrt(width) / x.norm(dim=1, keepdim=True))
        reached = torch.stack([(gain * x[i] + bias) @ w1[:, i] + b1[i] for i in range(d_ff)])
        scaled, rest = gain[:, None] * w1, bias @ w1 + b1
        root, centered = math.sqrt(width), scaled - scaled.mean(dim=0)
        plain = w1 - w1.mean(dim=0)
        mistakes = {
            "the mean of γ ⊙ k is not subtracted": scaled.norm(dim=0) * root + rest,
            "the gain is not used": plain.norm(dim=0) * root + rest,
            "the mean is subtracted before the gain is multiplied": (gain[:, None] * plain).norm(dim=0) * root
            + rest,
            "the length of x̂ is taken to be 1, not √d_model": centered.norm(dim=0) + rest,
            "β is not used": centered.norm(dim=0) * root + b1,
            "the unit's own bias is missing": centered.norm(dim=0) * root + bias @ w1,
        }
        what = f"the tensor of largest values for d_model={width}"
        expect_close(answer(w1, b1, gain, bias), reached, what=what, tolerance=1e-4, mistakes=mistakes)
    return "we looked for the largest values step by step, and found the same."
