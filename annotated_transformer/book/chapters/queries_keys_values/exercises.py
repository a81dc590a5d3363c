"""Checks of the exercises of the chapter on queries, keys and values."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import equal

from annotated_transformer.book.chapters.queries_keys_values.scenes import (
    FEATURES,
    SCENE_WORDS,
    START,
    caption_text,
    draw_scenes,
)
from annotated_transformer.book.chapters.queries_keys_values.soft_lookup import Captioner, gaussian_average
from annotated_transformer.book.exercises.answers import Answer, Answers, predictions
from annotated_transformer.book.exercises.inputs import draw_normal
from annotated_transformer.book.exercises.verdict import (
    expect,
    expect_close,
    expect_number,
    expect_tensor,
    explained,
    judge,
    plural,
)
from annotated_transformer.book.toy.lookup import LearnedLookup
from annotated_transformer.model.attention import AdditiveAttention

Lookup = Callable[..., Any]


@predictions(
    put="a number", shows="a narrow kernel is a lookup of the nearest key, a wide one the mean of all values."
)
def check_answers() -> Answers:
    """Judge the predicted answers of a soft dictionary, exercise ex-predict-width."""
    off = 0.0015
    nearest, mean = (
        "it is the value of the nearest key, as for a narrow kernel",
        "it is the mean of all values",
    )
    return {
        "narrow, query 9.4": Answer(14.0, "Which key is closest, and how much weight is left for the others?",
            {mean: 44 / 3,
            "it lies between the values of the two nearest keys, as far as the query does": 12.8,
            "it is the closest key; its value is asked for": 10.0}, off),
        "narrow, query 13": Answer(20.0, "The query lies outside all keys, but one of them is closest.",
            {"the values go on rising beyond the last key": 23.0,
            "it is the closest key; its value is asked for": 12.0,
            "nothing is found beyond the keys; a softmax always sums to 1": 0.0}, off),
        "narrow, query 9": Answer(12.0,
            "Two keys are equally close; what does a softmax give to two equal scores?",
            {"only the key 8 is read, and 10 is as close": 10.0,
            "only the key 10 is read, and 8 is as close": 14.0,
            "two values are added; their weights sum to 1": 24.0}, off),
        "wide, query 9.4": Answer(44 / 3, "In a very wide kernel, all keys are about equally close.",
            {nearest: 14.0, "it is the mean of the keys": 10.0,
            "the values are added; their weights sum to 1": 44.0}, off),
        "wide, 12 stored twice": Answer(16.0, "A pair that is stored twice gets two weights.",
            {"the pair that is stored twice gets one weight": 44 / 3,
            "four values are divided by three": 64 / 3, nearest: 20.0}, off),
    }  # fmt: skip


@judge
def check_soft_lookup(answer: Lookup) -> str:
    """Judge `answer(query, keys, values, width)` with plain numbers, exercise ex-soft-lookup."""
    cases: list[tuple[float, list[float], list[float], float]] = [
        (9.0, [8.0, 10.0, 12.0], [10.0, 14.0, 20.0], 1.0),
        (10.5, [8.0, 10.0, 12.0], [10.0, 14.0, 20.0], 0.7),
        (-1.0, [3.0, -2.0, 0.5, 0.25], [1.0, -1.0, 4.0, 8.0], 2.5),
        (7.0, [1.0], [3.0], 1.0),
        (500.0, [8.0, 10.0, 12.0], [10.0, 14.0, 20.0], 1.0),
    ]
    for query, keys, values, width in cases:
        q, k, v = (torch.tensor(row, dtype=torch.float64)[:, None] for row in ([query], keys, values))
        wanted = gaussian_average(q, k, v, width=width).item()
        what = f"for query {query:g}, keys {keys} and width {width:g}"
        with explained(
            ZeroDivisionError, f"{what}, all exponentials round to 0 and so does their sum; see the hint."
        ):
            result = answer(query, list(keys), list(values), width)
        squares = (q - k).square()
        raised = [(squares / -d).softmax(dim=0).T @ v for d in (2 * width, width**2)]
        mistakes = {
            "the width is not squared": raised[0].item(),
            "the 2 in the denominator is missing": raised[1].item(),
            "the exponentials are not divided by their sum": ((squares / (-2 * width**2)).exp().T @ v).item(),
            "the largest exponential is made 1, but nothing is divided by their sum": (
                (squares.min() - squares).div(2 * width**2).exp().T @ v
            ).item(),
            "the distance is not squared": (((q - k).abs() / (-2 * width**2)).softmax(0).T @ v).item(),
        }
        expect_number(result, wanted, what=f"{what}, the answer", tolerance=1e-6, mistakes=mistakes)
    return "it agrees with the package, even for a query that is far from all keys."


@judge
def check_additive(answer: Lookup) -> str:
    """Judge `answer(query, key, value, w_query, w_key, w_score)`, exercise ex-additive."""
    for n, m in ((3, 5), (4, 1), (1, 6)):
        reference = AdditiveAttention(7, 3, hidden=11).double().requires_grad_(False)
        w_query, w_key, w_score = draw_normal(1, 7, 11), draw_normal(2, 3, 11), draw_normal(3, 11)
        reference.to_query.weight.copy_(w_query.T)
        reference.to_key.weight.copy_(w_key.T)
        reference.to_score.weight.copy_(w_score[None])
        query, key, value = draw_normal(4, 2, n, 7), draw_normal(5, 2, m, 3), draw_normal(6, 2, m, 4)
        result = answer(query, key, value, w_query, w_key, w_score)
        pairs = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
        scores = pairs.tanh() @ w_score
        mistakes = {
            "tanh is missing": (pairs @ w_score).softmax(dim=-1) @ value,
            "the scores are divided by a root; additive scores are not": (scores / 11**0.5).softmax(-1)
            @ value,
            "the softmax runs over the queries instead of the keys": scores.softmax(dim=-2) @ value,
        }
        what = f"the output for {plural(n, 'query', 'queries')} and {plural(m, 'key')}"
        expect_close(result, reference(query, key, value), what=what, tolerance=1e-9, mistakes=mistakes)
    return "it agrees with the package for queries of width 7 and keys of width 3."


@judge
def check_writer(answer: Lookup) -> str:
    """Judge `answer(captioner, cells, start, length)`, exercise ex-debug-writer."""
    rng = torch.Generator().manual_seed(0)
    captioner = Captioner(13, LearnedLookup(13, 5, d_k=4, d_v=6)).double().requires_grad_(False)
    for parameter in captioner.parameters():
        torch.nn.init.normal_(parameter, std=3.0, generator=rng)
    cells = draw_normal(1, 6, 7, 5)
    for start, length in ((0, 3), (2, 5)):
        wanted = captioner.write(cells, start=start, length=length)
        what = f"the caption of {length} words after start {start}"
        result = expect_tensor(answer(captioner, cells, start, length), what=what)
        shape = tuple(result.shape)
        expect(shape == (6, length), f"{what} should have the shape {(6, length)}, not {shape}.")
        first = captioner(torch.full((len(cells), 1), start), cells).argmax(dim=-1)
        mistakes = {"no word becomes the next query": first.expand(-1, length).double()}
        expect_close(result.double(), wanted.double(), what=what, tolerance=0.0, mistakes=mistakes)
    return "each word becomes the next query."


@judge
def check_extended(answer: Lookup) -> str:
    """Judge `answer(query, key, width)`, which returns longer queries and keys, exercise ex-derive-extra."""
    value = torch.eye(5, dtype=torch.float64)
    for width in (1.0, 0.6, 2.0):
        query, key = draw_normal(1, 3, 4), draw_normal(2, 5, 4)
        made = answer(query, key, width)
        pair = isinstance(made, Sequence) and len(made) == 2
        expect(pair, "return two tensors: the longer queries and the longer keys.")
        longer_query, longer_key = (expect_tensor(part, what="each of the two") for part in made)
        shapes = tuple(longer_query.shape), tuple(longer_key.shape)
        expect(
            shapes == ((3, 5), (5, 5)), f"with one more feature, (3, 4) and (5, 4) do not become {shapes}."
        )
        weights = (longer_query @ longer_key.T).softmax(dim=-1)
        wanted = gaussian_average(query, key, value, width=width)
        scores, norms = query @ key.T, key.square().sum(dim=-1)
        mistakes = {
            "half of the keys' squared length is enough": (scores - norms).div(width**2).softmax(dim=-1),
            "the width is not squared": (scores - norms / 2).div(width).softmax(dim=-1),
            "the width is not used": (scores - norms / 2).softmax(dim=-1),
            "the additional feature is not used": scores.div(width**2).softmax(dim=-1),
        }
        what = f"the matrix of weights for width {width:g}"
        expect_close(weights, wanted, what=what, tolerance=1e-9, mistakes=mistakes)
    return "one more feature makes dot products give the weights of the Gaussian kernel."


@judge
def check_matrices(answer: Lookup) -> str:
    """Judge `answer()`, which returns three matrices made by hand, exercise ex-by-hand."""
    w_query, w_key, w_value = (expect_tensor(matrix, what="each of the three") for matrix in answer())
    words = len(SCENE_WORDS)
    shapes = [tuple(matrix.shape) for matrix in (w_query, w_key, w_value)]
    d_k = shapes[0][-1]
    expect(
        shapes == [(words, d_k), (FEATURES, d_k), (FEATURES, words)],
        f"the matrices have shapes {shapes}; wanted are ({words}, d_k), ({FEATURES}, d_k) "
        f"and ({FEATURES}, {words}).",
    )
    scenes = draw_scenes(300, generator=torch.Generator().manual_seed(0))
    lookup = LearnedLookup(words, FEATURES, d_k=d_k, d_v=words).requires_grad_(False)
    captioner = Captioner(words, lookup).requires_grad_(False)
    for linear, matrix in (
        (lookup.to_query, w_query),
        (lookup.to_key, w_key),
        (lookup.to_value, w_value),
        (captioner.to_words, torch.eye(words)),
    ):
        linear.weight.copy_(matrix.T)
    captioner.to_words.bias.zero_()
    cells = scenes.features().to(lookup.to_query.weight.dtype)
    captions, wanted = captioner.write(cells, start=START, length=3), scenes.captions()
    wrong = (captions != wanted).any(dim=1).nonzero().flatten().tolist()
    if wrong:
        one = wrong[0]
        lookup.to_query.weight.mul_(100.0)
        sharp = equal(captioner.write(cells, start=START, length=3), wanted)
        hint = " With scores 100 times as large, all would be right." if sharp else ""
        expect(
            False,
            f"{plural(len(wrong), 'caption')} of 300 should be different, such as "
            f"{caption_text(captions[one])!r} instead of {caption_text(wanted[one])!r}.{hint}",
        )
    return "300 captions are right, and nothing was trained."
