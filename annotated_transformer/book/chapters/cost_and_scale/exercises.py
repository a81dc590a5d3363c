"""Checks of the exercises of the chapter on cost and scale."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from annotated_transformer.book.exercises.answers import Answer, Answers, formula, predictions
from annotated_transformer.book.exercises.inputs import draw_normal
from annotated_transformer.book.exercises.rules import PACKAGE, expect_without
from annotated_transformer.book.exercises.verdict import expect, expect_close, expect_tensor, judge

Partial = tuple[Tensor, Tensor, Tensor]  # of a softmax: the largest score, the sum, and the sum of values


@predictions(
    put="a factor",
    shows="scores grow with n² and d, projections with n and d², and each head keeps weights of its own.",
)
def check_growth() -> Answers:
    """Judge by which factor each quantity is predicted to grow, exercise ex-predict-growth."""

    def twice(clue: str, squared: str, fixed: str) -> Answer:
        return Answer(2, clue, {squared: 4, fixed: 1})

    still = "this quantity is taken to stay"
    return {
        "scores and averages, n doubled": Answer(4, "There are n² scores, of width d each.",
            {"each token is taken to have one score; it has n": 2}),
        "projections, n doubled": twice("Each token is projected by itself.",
            "each token is taken to be projected for each other one", still),
        "scores and averages, d doubled": twice("Each of the n² scores is a sum over d features.",
            "scores are taken to have d × d matrices", still),
        "projections, d doubled": Answer(4, "The matrices are d × d.",
            {"only one side of the matrices is taken to grow": 2}),
        "kept attention weights, heads doubled": twice(
            "Each head has its own n² weights, however narrow it is.",
            "the heads are taken to double both sides", "narrower heads are taken to keep fewer weights"),
        "KV cache, n doubled": twice("A token adds one key and one value in each layer.",
            "the cache is taken to hold n² weights", still),
    }  # fmt: skip


def _attended(query: Tensor, key: Tensor, value: Tensor, *, scale: bool = True) -> Tensor:
    root = math.sqrt(query.size(-1)) if scale else 1.0
    return (query @ key.T / root).softmax(dim=-1) @ value


def _in_blocks(query: Tensor, key: Tensor, value: Tensor, block: int, *, mistake: str) -> Tensor:
    """Return what attention in blocks gives with a mistake."""
    highest = query.new_full((len(query), 1), -math.inf)
    total, output = torch.zeros_like(highest), query.new_zeros(len(query), value.size(1))
    for keys, values in zip(key.split(block), value.split(block), strict=True):
        scores = query @ keys.T / math.sqrt(query.size(-1))
        higher = torch.maximum(highest, scores.amax(dim=-1, keepdim=True))
        weights, old = (scores - higher).exp(), (highest - higher).exp()
        total = total * (1.0 if mistake == "total" else old) + weights.sum(dim=-1, keepdim=True)
        output = output * (1.0 if mistake == "output" else old) + weights @ values
        highest = higher
    return output / total


@judge
def check_fused(answer: Callable[[Tensor, Tensor, Tensor, int], Tensor]) -> str:
    """Judge `answer(query, key, value, block)`, exercise ex-fused, by attention with all scores at once."""
    expect_without(answer, PACKAGE, "torch.nn", "softmax")
    for seed, (queries, keys, block, loud) in enumerate(
        ((3, 8, 4, 1), (5, 7, 3, 1), (2, 11, 5, 1000), (2, 9, 4, -1000))
    ):
        query, key, value = (
            draw_normal(10 * seed + place, tokens, width)
            for place, (tokens, width) in enumerate(((queries, 6), (keys, 6), (keys, 2)))
        )
        if loud < 0:  # all scores are far below 0
            query, key = query.abs(), key.abs()
        query = query * loud
        result = answer(query, key, value, block)
        wanted, unscaled = _attended(query, key, value), _attended(query, key, value, scale=False)

        names = {
            "total": "the sum is not rescaled when a larger score comes",
            "output": "the output is not rescaled when a larger score comes",
        }
        mistakes = {why: _in_blocks(query, key, value, block, mistake=name) for name, why in names.items()}
        mistakes["the scores are not divided by the root of the width"] = unscaled
        last = key.split(block)[-1], value.split(block)[-1]
        mistakes["only the last block counts"] = _attended(query, *last)
        loudly = ", with large scores" if loud > 1 else ", with scores far below 0" if loud < 0 else ""
        what = f"for {keys} keys in blocks of {block}{loudly}, the output"
        tensor = expect_tensor(result, what=what)
        reason = (
            "does the largest score so far begin at 0?" if loud < 0 else "subtract the largest score first."
        )
        expect(not bool(tensor.isnan().any()), f"{what} is NaN: {reason}")
        expect_close(tensor, wanted, what=what, tolerance=1e-8, mistakes=mistakes)
    _expect_narrow(answer)
    return "it agrees with attention on all keys at once, and its tensors are no larger than a block."


def _expect_narrow(answer: Callable[[Tensor, Tensor, Tensor, int], Tensor]) -> None:
    """Stop the check if the answer makes a tensor with a number for each query and key."""
    queries, keys, block = 23, 29, 3
    seen: list[int] = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found = func(*args, **(kwargs or {}))
            seen.extend(t.numel() for t in (found if isinstance(found, list | tuple) else [found])
                        if isinstance(t, Tensor))  # fmt: skip
            return found

    query, key, value = draw_normal(1, queries, 2), draw_normal(2, keys, 2), draw_normal(3, keys, 2)
    with Watch():  # type: ignore[no-untyped-call]
        answer(query, key, value, block)
    expect(
        max(seen) < queries * keys,
        f"the answer makes a tensor of {max(seen)} numbers for {queries} queries and {keys} keys. "
        "The point is not to have all scores at once.",
    )


@judge
def check_int8(answer: Callable[[Tensor], tuple[Tensor, Tensor]]) -> str:
    """Judge `answer(weight)`, exercise ex-debug-int8: whole numbers and a step for each row."""
    for seed, shape in enumerate(((3, 7), (5, 11))):
        weight = draw_normal(seed, *shape)
        numbers, step = answer(weight)
        what = f"for checks.draw_normal({seed}, {shape[0]}, {shape[1]})"
        numbers = expect_tensor(numbers, what=f"{what}, the first result")
        kind = f"the numbers have dtype {numbers.dtype}. Convert them to torch.int8, after rounding."
        expect(numbers.dtype == torch.int8, f"{what}, {kind}")
        shaped = f"the steps should have shape {(shape[0], 1)}, one for each row, not {tuple(step.shape)}."
        expect(tuple(step.shape) == (shape[0], 1), f"{what}, {shaped}")
        most = weight.abs().amax(dim=1, keepdim=True) / 127
        mistakes = {
            "the largest number is taken without its sign being dropped": weight.amax(dim=1, keepdim=True)
            / 127,
            "the step is that of the whole matrix": weight.abs().amax().expand_as(most) / 127,
            "the step is for 128, which int8 does not have": most * 127 / 128,
        }
        expect_close(step, most, what=f"{what}, the steps", tolerance=1e-9, mistakes=mistakes)
        off = ((numbers * step - weight).abs() / most).max().item()
        expect(
            off <= 0.5 + 1e-6,
            f"{what}, a number is {off:.2f} steps away from its weight, but rounding to the nearest gives at "
            "most half a step. Does something cut off the digits?",
        )
    return "each weight is within half a step."


@formula((512, 1536), (64, 100), (7, 5), shows="at this length, both parts take as many FLOPs.")
def check_crossing(d_model: int, d_ff: int) -> Answer:
    """Judge `answer(d_model, d_ff)`, the length where both parts take as much, exercise ex-crossing."""
    length = (8 * d_model**2 + 4 * d_model * d_ff) / (4 * d_model)
    mistakes = {
        "the feed-forward network is left out": 2 * d_model,
        "the projections are left out": d_ff,
        "only the scores count, and the averages of the values are left out": 2 * length,
        "the feed-forward network has one matrix": (8 * d_model**2 + 2 * d_model * d_ff) / (4 * d_model),
    }
    return Answer(length, "Set both parts of the formula equal.", mistakes)


@formula(
    *((7e9, 1e12, 256, 312e12, 0.4), (1e8, 3e9, 1, 1e12, 0.25)),
    shows="each weight takes six FLOPs for each token, two forward and four backward.",
)
def check_days(weights: float, tokens: float, cards: int, peak: float, utilization: float) -> Answer:
    """Judge `answer(weights, tokens, cards, peak, utilization)`, exercise ex-days."""
    wanted = 6 * weights * tokens / (cards * peak * utilization) / 86_400
    mistakes = {
        "only the forward pass is counted": wanted / 3,
        "this is in hours": wanted * 24,
        "this is in seconds": wanted * 86_400,
        "the cards are taken to reach their peak": wanted * utilization,
        "there is one card": wanted * cards,
    }
    return Answer(wanted, "How many FLOPs does training take, and how many does a day give?", mistakes, 0.005)


@judge
def check_merge(answer: Callable[[Partial, Partial], Partial]) -> str:
    """Judge `answer(one, other)`, exercise ex-merge: two parts of a softmax put together."""
    expect_without(answer, PACKAGE, "softmax")
    for seed, (left, right, loud) in enumerate(((3, 5, 1), (4, 2, 1), (2, 3, 500))):
        scores, values = loud * draw_normal(seed, left + right), draw_normal(seed + 50, left + right, 3)
        parts = [
            _partial(s, v)
            for s, v in zip(scores.split([left, right]), values.split([left, right]), strict=True)
        ]
        merged = answer(parts[0], parts[1])
        what = f"of {left} and {right} keys{', with large scores' if loud > 1 else ''}"
        expect(
            isinstance(merged, Sequence) and len(merged) == 3, "the result should be a triple like the two."
        )
        highest, total, output = (expect_tensor(part, what=f"{what}, each part") for part in merged)
        for name, number in {"largest score": highest, "sum": total, "output": output}.items():
            bad = not bool(number.isfinite().all())
            expect(not bad, f"{what}, the {name} is not finite: is an exponential taken of a large score?")
        wanted = scores.softmax(dim=0) @ values
        mistakes = {
            "the two sums of values are added without rescaling": (parts[0][2] + parts[1][2])
            / (parts[0][1] + parts[1][1]),
            "the two outputs are averaged": (parts[0][2] / parts[0][1] + parts[1][2] / parts[1][1]) / 2,
        }
        found = output / total
        expect_close(found, wanted, what=f"{what}, output / sum", tolerance=1e-9, mistakes=mistakes)
        zero = {"all exponentials are taken relative to 0": torch.zeros_like(highest)}
        expect_close(highest, scores.max(), what=f"{what}, the largest score", tolerance=1e-9, mistakes=zero)
        again = answer((highest, total, output), _partial(scores[:1], values[:1]))
        both = torch.cat([scores, scores[:1]]).softmax(dim=0) @ torch.cat([values, values[:1]])
        alike = torch.stack([scores.max(), scores[0]]).softmax(dim=0) @ torch.stack([wanted, values[0]])
        divided = {"the first result was already divided by its sum": alike}
        what = f"{what} and one more, output / sum"
        expect_close(again[2] / again[1], both, what=what, tolerance=1e-9, mistakes=divided)
    return "the two halves give what all keys give, in any order, and can be merged again."


def _partial(scores: Tensor, values: Tensor) -> Partial:
    """Return the largest score, the sum of the exponentials below it, and the values weighted by these."""
    weights = (scores - scores.max()).exp()
    return scores.max(), weights.sum(), weights @ values
