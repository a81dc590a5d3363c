"""The checks of the exercises on scaled dot-product attention (chapter 3)."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, allclose, equal

from annotated_transformer.book.exercises.answers import Answer, Answers, formula, predictions
from annotated_transformer.book.exercises.inputs import draw_normal, mistaken_attention
from annotated_transformer.book.exercises.rules import PACKAGE, expect_without
from annotated_transformer.book.exercises.verdict import expect, expect_close, explained, judge

Attention = Callable[[Tensor, Tensor, Tensor], Tensor]
CHANGES = ("unchanged", "sharper", "flatter", "other")


@predictions(
    put="one of unchanged, sharper, flatter, and other",
    shows="only differences between scores count; their size decides how sharp the weights are.",
)
def check_predictions() -> Answers:
    """Judge the predictions about the weights, exercise ex-predict."""
    scores = torch.tensor([2.0, 0.0, 1.0], dtype=torch.float64)
    before = scores.softmax(dim=0)
    factor = "a factor is taken to cancel; a softmax forgets only what is added to all scores"

    def change(after: Tensor, clue: str, **mistakes: str) -> Answer:
        named = {why: name for name, why in mistakes.items()}
        return Answer(_change(before, after.softmax(dim=0)), clue, named, choices=CHANGES)

    differences = "What happens to the differences between the scores?"
    return {
        "add 5 to every score": change(scores + 5, "By what are all exponentials multiplied then?",
            sharper="larger scores are taken for larger differences"),
        "double the query": change(2 * scores, differences, unchanged=factor,
            flatter="the differences are taken to shrink"),
        "halve every key": change(scores / 2, differences, unchanged=factor,
            sharper="the differences are taken to grow"),
        "replace the values": change(scores, "From what are the weights computed?",
            other="values are taken to decide what is read; queries and keys do"),
        "scale one key": change(scores * torch.tensor([1, 1, 3]), "Which score is the largest afterwards?",
            sharper="the best key is taken to stay the same", flatter="the order is taken to stay the same"),
    }  # fmt: skip


def _change(before: Tensor, after: Tensor) -> str:
    """Name how the weights changed: sharper and flatter keep the order of the keys."""
    if allclose(before, after):
        return "unchanged"
    if not equal(before.argsort(), after.argsort()):
        return "other"
    return "sharper" if after.max() > before.max() else "flatter"


@judge
def check_softmax(answer: Callable[[list[float]], list[float]]) -> str:
    """Check `answer(scores)`, a softmax in plain Python: exercise ex-softmax."""
    expect_without(answer, "torch")
    ordinary = [0.0, 1.0, -2.0, 0.5], [3.0], [2.0, 2.0]
    for scores in (
        *ordinary,
        [0.0, 1000.0, 999.0],
        [-1000.0, -1001.0],
        [-1000.0, 5.0],
        [1000.0, 0.0, 0.0, 0.0],
    ):
        what = f"the result for {scores}"
        with (
            explained(OverflowError, f"{what}: the exponential of a large score is too large for a float."),
            explained(ZeroDivisionError, f"{what}: all exponentials are rounded to 0, and so is their sum."),
        ):
            result = answer(list(scores))
        given = torch.tensor(scores, dtype=torch.float64)
        mistakes = {
            "the scores are divided by their sum, without exponentials": given / given.sum(),
            "the exponentials are not divided by their sum": given.exp(),
        }
        expect_close(result, given.softmax(0), what=what, mistakes=mistakes)
    return "subtracting the largest score leaves each weight as it is, and no exponential overflows."


@judge
def check_attention(answer: Attention) -> str:
    """Check `answer(query, key, value)`, attention written from scratch: exercise ex-from-scratch."""
    expect_without(answer, "softmax", "scaled_dot_product_attention", "torch.nn", PACKAGE)
    _expect_attention(answer, "the output")
    return "one weighted average for each query, in every batch, and finite for large scores."


@judge
def check_debugged(answer: Attention) -> str:
    """Check `answer(query, key, value)`, the repaired function: exercise ex-debug."""
    _expect_attention(answer, "the output of the repaired function")
    return "the width is the last axis of the keys, and the softmax runs over the keys of each query."


def _expect_attention(answer: Attention, what: str) -> None:
    """Compare with PyTorch's kernel: different numbers of queries, keys and features; then large scores."""
    for shape, width in (((2,), 4), ((), 4), ((2, 3), 9)):
        query, key, value = (
            draw_normal(0, *shape, 3, width),
            draw_normal(1, *shape, 5, width),
            draw_normal(2, *shape, 5, 6),
        )
        wanted = F.scaled_dot_product_attention(query, key, value)
        sizes = f"query {tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}"
        result = answer(query, key, value)
        scores = query @ key.mT
        mistakes = mistaken_attention(query, key, value) | {
            "an axis was added that the inputs do not have": wanted[None],
            "the scores are divided by √4, whatever the width": (scores / 2).softmax(dim=-1) @ value,
        }
        both = "the width is taken from the number of keys, and the softmax runs over the queries"
        both = "neither bug is repaired" if "repaired" in what else both
        by_keys = scores / key.size(-2) ** 0.5
        mistakes |= {
            "the width is taken from the number of keys": by_keys.softmax(dim=-1) @ value,
            both: by_keys.softmax(dim=-2) @ value,
        }
        expect_close(result, wanted, what=f"{what} for {sizes}", mistakes=mistakes)
    query, key, value = 1e3 * draw_normal(0, 3, 4), draw_normal(1, 5, 4), draw_normal(2, 5, 6)
    result = answer(query, key, value)
    expect(
        bool(torch.as_tensor(result).isfinite().all()),
        "scores in the thousands give NaN or infinity: subtract the largest score of each row first.",
    )
    wanted = F.scaled_dot_product_attention(query, key, value)
    scores = query @ key.mT / 2
    cut = {
        f"scores beyond {limit} are cut off": scores.clamp(-limit, limit).softmax(dim=-1) @ value
        for limit in (10, 20, 30, 50, 80, 88, 100, 500, 700)
    }
    expect_close(result, wanted, what=f"{what} for large scores", mistakes=cut)


@formula(
    *((64, 3.0, 1.0), (64, 1.0, 1.0), (256, 0.5, 2.0), (16, 2.0, 5.0)),
    shows="the width and both standard deviations enter.",
)
def check_scale(d_k: int, query_std: float, key_std: float) -> Answer:
    """Judge `answer(d_k, query_std, key_std)`, the factor that gives unit variance, exercise ex-scale."""
    both, root = query_std * key_std, math.sqrt(d_k)
    mistakes = {
        "the factor is that for unit variances": 1 / root,
        "the variances are divided by, not their roots": 1 / (both**2 * d_k),
        "the root of the width is missing": 1 / both,
        "this is what the scores deviate by; divide by it": both * root,
    }
    return Answer(1 / (both * root), "By how much does q · k deviate?", mistakes)


@judge
def check_gradient(answer: Callable[[Tensor], Tensor]) -> str:
    """Check `answer(weights)`, the derivatives of a softmax: exercise ex-gradient."""
    for scores in ([2.0, 0.0, 1.0], [0.0, 0.0], [30.0, 0.0, 0.0, 0.0], [0.3, -1.2, 0.8, 2.0, 0.1]):
        at = torch.tensor(scores, dtype=torch.float64)
        wanted = torch.autograd.functional.jacobian(lambda x: x.softmax(dim=0), at)
        right, w = torch.as_tensor(wanted), at.softmax(dim=0)
        mistakes = {
            "only the entries on the diagonal are filled": right.diagonal().diag(),
            "the sign is reversed": -right,
            "the diagonal lacks w_i": -torch.outer(w, w),
            "only the diagonal of the matrix is returned": right.diagonal(),
        }
        expect_close(answer(w), right, what=f"the matrix at scores {scores}", mistakes=mistakes)
    return "raising one score takes weight from the other keys, and nothing moves where one weight is 1."


@judge
def check_temperature(answer: Callable[[Tensor, Tensor, Tensor, float], Tensor]) -> str:
    """Check `answer(query, key, value, temperature)`, attention at a temperature: exercise ex-temperature."""
    value = draw_normal(2, 2, 5, 6)
    for temperature, width in ((1.0, 4), (5.0, 4), (0.5, 3)):
        query, key = draw_normal(0, 2, 3, width), draw_normal(1, 2, 5, width)
        scores = query @ key.mT / math.sqrt(width) / temperature
        wanted = torch.einsum("bqk,bkd->bqd", scores.softmax(dim=-1), value)
        result = answer(query, key, value, temperature)
        plain, root = scores * temperature, math.sqrt(width)
        averaged = plain.softmax(dim=-1) @ value
        mistakes = {
            "the scores are multiplied by the temperature": (plain * temperature).softmax(dim=-1) @ value,
            "the scores are divided by the temperature, but not by √d_k": (
                (scores * root).softmax(dim=-1) @ value
            ),
            "the temperature is not used": averaged,
            "queries and keys are both divided by the temperature": (scores / temperature).softmax(-1)
            @ value,
            "the weights are divided by the temperature after the softmax": averaged / temperature,
        }
        expect_close(result, wanted, what=f"the output at temperature {temperature:g}", mistakes=mistakes)
    cold = answer(query, key, value, 1e-5)
    best = (query @ key.mT).argmax(dim=-1, keepdim=True).expand(-1, -1, 6)
    what = "at temperature 0.00001 the output, which is the value of the best key,"
    warm = {
        f"the temperature is never below {low:g}": (query @ key.mT / math.sqrt(3) / low).softmax(-1) @ value
        for low in (1e-4, 1e-3, 1e-2, 0.1, 1.0)
    }
    expect_close(cold, value.gather(1, best), what=what, mistakes=warm)
    tied = answer(query, key[:, :1].expand(-1, 5, -1), value, 1e-5)
    mean = value.mean(dim=1, keepdim=True).expand(-1, 3, -1)
    first = {"the first of several equal keys gets all the weight": value[:, :1].expand(-1, 3, -1)}
    expect_close(tied, mean, what="at temperature 0.00001, the output for five equal keys", mistakes=first)
    hot = answer(query, key, value, 1e7)
    cool = {
        f"the temperature is never above {high:g}": (query @ key.mT / math.sqrt(3) / high).softmax(-1) @ value
        for high in (1, 10, 100, 1000, 10_000)
    }
    what = "at temperature 10,000,000 the output, which is the mean of the values,"
    expect_close(hot, mean, what=what, mistakes=cool)
    for wrong in (0.0, -1.0):
        try:
            answer(query, key, value, wrong)
        except ValueError:
            continue
        expect(
            False,
            f"temperature {wrong:g} should raise a ValueError: it would divide by 0 or prefer bad matches.",
        )
    return "cold attention picks the best match, ties included; hot attention averages."
