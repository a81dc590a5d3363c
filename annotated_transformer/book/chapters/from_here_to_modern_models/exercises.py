"""Checks of the exercises of chapter 22, on the changes since 2017."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import torch
from torch import Tensor, allclose

from annotated_transformer.book.exercises.answers import Answer, Answers, formula, predictions
from annotated_transformer.book.exercises.inputs import draw_normal
from annotated_transformer.book.exercises.rules import PACKAGE, expect_without
from annotated_transformer.book.exercises.verdict import expect, expect_close, judge

Past = Any


@predictions(
    put="three numbers", shows="a cache is as much smaller as there are fewer heads of keys and values."
)
def check_cache() -> Answers:
    """Judge three sizes of a cache, exercise ex-predict-cache."""
    heads_of = {"multi-head attention": 16, "4 heads of keys and values": 4, "multi-query attention": 1}
    answers = {}
    for name, heads in heads_of.items():
        right = 2 * 24 * heads * 64 * 2 / 1024
        mistakes = {
            "a number has one byte there, or values are left out": right / 2,
            "only one layer is counted": right / 24,
            "the numbers are counted, not their bytes": right * 1024 / 2,
            "these are bytes; a KiB is 1,024 of them": right * 1024,
            "a KiB is 1,024 bytes, not 1,000": right * 1.024,
        }
        answers[name] = Answer(right, "Each token has a key and a value in each layer.", mistakes)
    return answers


@judge
def check_rotary(answer: Callable[[Tensor, Tensor, float], Tensor]) -> str:
    """Judge `answer(x, positions, base)`, exercise ex-rotary, by matrices of 2 by 2."""
    expect_without(answer, PACKAGE)
    for base, places in ((100.0, (0, 1, 2, 5)), (10_000.0, (7, 3, 40, 41))):
        x = draw_normal(0, len(places), 6)
        position = torch.tensor(places)
        result = answer(x, position, base)
        wanted, overwritten = _rotated(x, places, base), _overwritten(x, places, base)
        halves = [wanted[:, 0::2], wanted[:, 1::2]]
        apart = torch.tensor([0, 3, 1, 4, 2, 5])  # pairs of features half the width apart
        mistakes = {
            "it turns in the other direction": _rotated(x, [-place for place in places], base),
            "features i and i + d/2 are taken as a pair": (
                _rotated(x[:, apart], places, base)[:, apart.argsort()]
            ),
            "the first feature of a pair is overwritten before the second is computed": overwritten,
            "the first features of all pairs stand before the second ones": torch.cat(halves, dim=1),
            "the given positions are not used": _rotated(x, range(len(places)), base),
            "all pairs turn at the same speed": _rotated(x, places, 1.0),
            "the exponent is i/d instead of 2i/d": _rotated(x, places, math.sqrt(base)),
        }
        what = f"with positions {list(places)} and base {base:g}, the result"
        expect_close(result, wanted, what=what, tolerance=1e-6, mistakes=mistakes)
    return "each pair turns by its angle."


def _rotated(x: Tensor, places: Iterable[int], base: float) -> Tensor:
    """Turn each pair by a matrix."""
    rows = []
    for row, place in zip(x, places, strict=True):
        pairs = []
        for i in range(0, len(row), 2):
            angle = torch.tensor(place / base ** (i / len(row)), dtype=x.dtype)
            cosine, sine = angle.cos(), angle.sin()
            turn = torch.stack([torch.stack([cosine, -sine]), torch.stack([sine, cosine])])
            pairs.append(turn @ row[i : i + 2])
        rows.append(torch.cat(pairs))
    return torch.stack(rows)


def _overwritten(x: Tensor, places: Iterable[int], base: float) -> Tensor:
    """Turn each pair in place, so that its second feature is computed from the new first one."""
    result = _rotated(x, places, base)
    for row, (old, place) in zip(result, zip(x, places, strict=True), strict=True):
        for i in range(0, len(row), 2):
            angle = place / base ** (i / len(row))
            row[i + 1] = row[i] * math.sin(angle) + old[i + 1] * math.cos(angle)
    return result


def _read(query: Tensor, key: Tensor, value: Tensor, scale: float = 2.0) -> Tensor:
    return (query @ key.mT / scale).softmax(dim=-1) @ value


@judge
def check_grouped(answer: Callable[[Tensor, Tensor, Tensor], Tensor]) -> str:
    """Judge `answer(query, key, value)`, exercise ex-debug-grouped, head by head."""
    for heads, shared in ((6, 2), (6, 3), (4, 1)):
        query = draw_normal(heads, heads, 5, 7)
        key, value = draw_normal(1, shared, 5, 7), draw_normal(2, shared, 5, 7)
        owners = [number // (heads // shared) for number in range(heads)]
        in_turn = [number % shared for number in range(heads)]
        root, other = math.sqrt(7), math.sqrt(heads)
        wanted = _read(query, key[owners], value[owners], root)
        mistakes = {
            "neither bug is repaired": _read(query, key[in_turn], value[in_turn], other),
            "the heads are still repeated as a, b, a, b": _read(query, key[in_turn], value[in_turn], root),
            "the scores are still divided by the root of the number of heads": (
                _read(query, key[owners], value[owners], other)
            ),
        }
        what = f"with {heads} heads of queries and {shared} of keys, the output"
        expect_close(answer(query, key, value), wanted, what=what, tolerance=1e-6, mistakes=mistakes)
    return "all groups read their own keys and values."


@formula(
    *((64, 256, 0.5), (64, 256, 1.0), (96, 100, 0.25)), shows="the layers have as many weights as before."
)
def check_gated_width(d_model: int, d_ff: int, g: float) -> Answer:
    """Judge `answer(d_model, d_ff, g)`, exercise ex-width, by counting weights."""
    before, attention = 4 * d_model**2 + 2 * d_model * d_ff, (2 + 2 * g) * d_model**2
    width = (before - attention) / (3 * d_model)
    mistakes = {
        "what grouped queries save is not used": 2 / 3 * d_ff,
        "queries and the output are grouped, too": 2 / 3 * (d_ff + 2 * (1 - g) * d_model),
        "only the keys, or only the values, are grouped": 2 / 3 * (d_ff + (1 - g) * d_model / 2),
        "the gate is not counted": d_ff + (1 - g) * d_model,
    }
    clue = "Count the weights before and after: two maps shrink, and a third joins the network."
    return Answer(width, clue, mistakes, 1e-4)


@formula(
    *product(((3, 3, 3), (2, 0), (3,), (4, 2), (1, 5), (0,), (9, 9)), (12, 5)),
    shows="each layer reaches a window, less the token itself, further back.",
)
def check_seen(windows: tuple[int, ...], n: int) -> Answer:
    """Judge `answer(windows, n)`, exercise ex-reach, by going back layer by layer."""
    reached = {n - 1}
    for window in windows:
        reached = {k for q in reached for k in range(0 if window == 0 else max(0, q - window + 1), q + 1)}
    steps = 1 + sum(window - 1 for window in windows)
    largest, added = (n if 0 in windows else min(n, most) for most in (max(windows), sum(windows)))
    mistakes = {
        "a window of 0 is counted as −1 token; it stands for a layer that sees everything": min(n, steps),
        "each window counts the token itself again": added,
        "only the largest window is counted; the reach of the layers adds up": largest,
        "the last token itself is missing": len(reached) - 1,
        "the result can be larger than n": steps,
    }
    return Answer(len(reached), "Go back from the last token, layer by layer.", mistakes)


@judge
def check_rolling(answer: Callable[[Tensor, Tensor, Tensor, Past, int], tuple[Tensor, Past]]) -> str:
    """Judge `answer(query, key, value, past, window)`, exercise ex-rolling, and how much it keeps."""
    for window in (1, 3):
        query, key, value = draw_normal(0, 9, 4), draw_normal(1, 9, 4), draw_normal(2, 9, 4)
        past: Past = None
        outputs = []
        for place in range(9):
            result: Any = answer(query[place], key[place], value[place], past, window)
            pair = isinstance(result, tuple | list) and len(result) == 2
            expect(pair, "return two things: the output, and what the next step gets as `past`.")
            output, past = result
            outputs.append(output)
        for place in reversed(range(9)):  # at the last token, the mistakes differ most
            end = place + 1
            first = max(0, end - window)
            asks, past_keys, past_values = query[place], key[first:end], value[first:end]
            wanted = _read(asks, past_keys, past_values)
            wider, old = slice(max(0, first - 1), end), slice(max(0, place - window), max(1, place))
            mistakes = {
                "the window is not applied": _read(asks, key[:end], value[:end]),
                "one token too many is kept": _read(asks, key[wider], value[wider]),
                "the newest token does not see itself": _read(asks, key[old], value[old]),
                "the scores are not divided by √d": _read(asks, past_keys, past_values, 1.0),
            }
            different = {name: wrong for name, wrong in mistakes.items() if not allclose(wrong, wanted)}
            what = f"with a window of {window}, the output of token {place + 1}"
            expect_close(outputs[place], wanted, what=what, tolerance=1e-6, mistakes=different)
        held = _count(past)
        holds = f"with a window of {window}, the cache holds {held} numbers after 9 tokens"
        needed = f"{2 * window * 4} are needed. Drop what has left the window."
        expect(held <= 2 * window * 4 + 1, f"{holds}; {needed}")
    return "it agrees with one pass under the window's mask, and the cache does not grow."


def _count(past: Past) -> int:
    """Count the numbers in nested tensors and lists."""
    if isinstance(past, Tensor):
        return past.numel()
    if isinstance(past, dict):
        return _count(list(past.values()))
    return sum(map(_count, past)) if isinstance(past, Sequence) and not isinstance(past, str) else 1
