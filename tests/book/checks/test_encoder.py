"""The checks of the exercises on the encoder reject wrong answers."""

import math
from collections import defaultdict

import pytest
import torch.nn.functional as F
from torch import Tensor

from annotated_transformer.book.checks.encoder import (
    check_best_accuracy,
    check_change,
    check_count,
    check_encoder_layer,
    check_mean_of_words,
    check_stack,
)
from tests.answers import assert_refused, assert_refused_as_empty, unanswered

ALL, LATER, ONE = [True] * 4, [False, False, True, True], [False, False, True, False]


def varied(*, pre=False, residual=True, scale=True, mixed=False, same_norm=True):
    """Return an encoder layer, optionally with one deliberate change."""

    def layer(x: Tensor, w: dict[str, Tensor], heads: int) -> Tensor:
        n, width = x.shape
        norm = (lambda y: F.layer_norm(y, (width,))) if same_norm else (lambda y: F.layer_norm(y, (n, width)))

        def attend(x):
            parts = (x @ w[name] for name in ("query", "key", "value"))
            if mixed:
                query, key, value = (part.view(heads, n, -1) for part in parts)
            else:
                query, key, value = (part.view(n, heads, -1).transpose(0, 1) for part in parts)
            scores = query @ key.transpose(-2, -1) / (math.sqrt(width // heads) if scale else 1)
            return (scores.softmax(dim=-1) @ value).transpose(0, 1).flatten(1) @ w["output"]

        def network(y):
            return (y @ w["expand"]).relu() @ w["contract"]

        if pre:
            y = x + attend(norm(x))
            return y + network(norm(y))
        y = norm(attend(x) + (x if residual else 0))
        return norm(network(y) + (y if residual else 0))

    return layer


def mean_of_words(z: Tensor, is_word: Tensor) -> Tensor:
    return z.masked_fill(~is_word[..., None], 0.0).sum(dim=1) / is_word.sum(dim=1, keepdim=True)


def by_product(z: Tensor, is_word: Tensor) -> Tensor:
    return (z * is_word[..., None]).sum(dim=1) / is_word.sum(dim=1, keepdim=True)


def stack(x, layers, mask):
    for layer in layers:
        x = layer(x, mask)
    return x


def without_mask(x, layers, mask):
    return stack(x, layers, None)


def same_input(x, layers, mask):
    return [layer(x, mask) for layer in layers][-1]


def top_down(x, layers, mask):
    return stack(x, layers[::-1], mask)


def count(N, d_model, d_ff, h, d_k, d_v, *, biases=1, norms=2, attention=2):
    heads = attention * d_model * h * (d_k + d_v)
    return N * (heads + 2 * d_model * d_ff + biases * (d_ff + d_model) + norms * 2 * d_model)


def best_accuracy(texts, labels, *, bag=sorted):
    found = defaultdict(list)
    for text, label in zip(texts, labels, strict=True):
        found[tuple(bag(text))].append(label)
    return sum(max(map(group.count, group)) for group in found.values()) / len(texts)


RIGHT = {
    check_change: [ALL, LATER, ONE],
    check_encoder_layer: varied(),
    check_mean_of_words: mean_of_words,
    check_stack: stack,
    check_count: count,
    check_best_accuracy: best_accuracy,
}


@pytest.mark.parametrize(("check", "answer"), RIGHT.items())
def test_law_the_right_answer_passes(check, answer):
    assert check(answer).passed, repr(check(answer))


WRONG = {
    "change: the mask lets earlier words see": (check_change, [ALL, [True, True, True, False], ONE]),
    "change: only the word itself": (check_change, [ONE, ONE, ONE]),
    "change: the feed-forward network mixes": (check_change, [ALL, LATER, ALL]),
    "change: two rows": (check_change, [ALL, LATER]),
    "layer: pre-norm": (check_encoder_layer, varied(pre=True)),
    "layer: no residual": (check_encoder_layer, varied(residual=False)),
    "layer: no scale": (check_encoder_layer, varied(scale=False)),
    "layer: heads by view": (check_encoder_layer, varied(mixed=True)),
    "layer: norm over the sentence": (check_encoder_layer, varied(same_norm=False)),
    "mean: over the padding": (check_mean_of_words, lambda z, is_word: z.mean(dim=1)),
    "mean: by a product": (check_mean_of_words, by_product),
    "mean: divided by all": (check_mean_of_words, lambda z, m: z.masked_fill(~m[..., None], 0).mean(dim=1)),
    "mean: the first word": (check_mean_of_words, lambda z, is_word: z[:, 0]),
    "stack: no mask": (check_stack, without_mask),
    "stack: each reads x": (check_stack, same_input),
    "stack: top down": (check_stack, top_down),
    "count: no biases": (check_count, lambda *sizes: count(*sizes, biases=0)),
    "count: one norm": (check_count, lambda *sizes: count(*sizes, norms=1)),
    "count: three projections": (check_count, lambda *sizes: int(count(*sizes, attention=1.5))),
    "count: one layer": (check_count, lambda N, *sizes: count(1, *sizes)),
    "bag: a set of words": (
        check_best_accuracy,
        lambda t, ls: best_accuracy(t, ls, bag=lambda x: sorted(set(x))),
    ),
    "bag: in order": (check_best_accuracy, lambda texts, ls: best_accuracy(texts, ls, bag=list)),
    "bag: the majority": (check_best_accuracy, lambda t, labels: max(map(labels.count, labels)) / len(t)),
}


@pytest.mark.parametrize(("check", "wrong"), WRONG.values(), ids=WRONG)
def test_law_a_wrong_answer_is_rejected_with_an_explanation(check, wrong):
    assert_refused(check, wrong)


def test_law_an_empty_answer_is_reported_as_empty():
    for check in RIGHT:
        assert_refused_as_empty(check, None if check is check_change else unanswered)


def test_law_multiplying_by_the_mask_gets_a_hint_about_nan():
    assert "NaN in the padding" in check_mean_of_words(by_product).message
