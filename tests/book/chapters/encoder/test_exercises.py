"""The checks of the exercises on the encoder reject wrong answers."""

import math
from collections import defaultdict
from functools import reduce

import torch
import torch.nn.functional as F
from torch import Tensor

from annotated_transformer.book.chapters.encoder.exercises import (
    check_best_accuracy,
    check_change,
    check_count,
    check_encoder_layer,
    check_mean_of_words,
    check_stack,
)

ALL, LATER, ONE = [True] * 4, [False, False, True, True], [False, False, True, False]


def varied(*, pre=False, residual=True):
    """Return an encoder layer, optionally with one deliberate change."""

    def layer(x: Tensor, w: dict[str, Tensor], heads: int) -> Tensor:
        n, width = x.shape

        def norm(y):
            return F.layer_norm(y, (width,))

        def attend(x):
            parts = (x @ w[name] for name in ("query", "key", "value"))
            query, key, value = (part.view(n, heads, -1).transpose(0, 1) for part in parts)
            weights = (query @ key.transpose(-2, -1) / math.sqrt(width // heads)).softmax(dim=-1)
            return (weights @ value).transpose(0, 1).flatten(1) @ w["output"]

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


def one_call_more(x, layers, mask):
    layers[0](x, mask)
    return stack(x, layers, mask)


def same_input(x, layers, mask):
    return [layer(x, mask) for layer in layers][-1]


def count(N, d_model, d_ff, h, d_k, d_v, *, biases=1, norms=2):
    heads = 2 * d_model * h * (d_k + d_v)
    return N * (heads + 2 * d_model * d_ff + biases * (d_ff + d_model) + norms * 2 * d_model)


def best_accuracy(texts, labels, *, bag=sorted):
    found = defaultdict(list)
    for text, label in zip(texts, labels, strict=True):
        found[tuple(bag(text))].append(label)
    return sum(max(map(group.count, group)) for group in found.values()) / len(texts)


def layer_by_heads(x: Tensor, w: dict[str, Tensor], heads: int) -> Tensor:
    parts = [w[name].chunk(heads, dim=1) for name in ("query", "key", "value")]
    read = []
    for q, k, v in zip(*parts, strict=True):
        scores = (x @ q) @ (x @ k).T * q.size(1) ** -0.5
        read.append(torch.softmax(scores, dim=1) @ (x @ v))
    y = F.layer_norm(torch.cat(read, dim=1) @ w["output"] + x, x.shape[1:])
    return F.layer_norm(torch.relu(y @ w["expand"]) @ w["contract"] + y, x.shape[1:])


def counted(text):
    return sorted((word, text.count(word)) for word in {*text})


RIGHT = {
    check_change: [[ALL, LATER, ONE], torch.tensor([ALL, LATER, ONE])],
    check_encoder_layer: [varied(), layer_by_heads],
    check_mean_of_words: [
        mean_of_words,
        lambda z, is_word: torch.stack([row[keep].mean(0) for row, keep in zip(z, is_word, strict=True)]),
    ],
    check_stack: [
        stack,
        lambda x, layers, mask: reduce(lambda y, layer: layer(y, mask=mask.clone()), layers, x),
    ],
    check_count: [count, lambda N, d, ff, h, k, v: N * (2 * d * (h * (k + v) + ff + 2) + ff + d)],
    check_best_accuracy: [best_accuracy, lambda texts, labels: best_accuracy(texts, labels, bag=counted)],
}


WRONG = {
    check_change: [
        ("for the layer with a causal mask, position 0 does not", [ALL, [True, True, True, False], ONE]),
        ("for the layer without a mask, position 0 changes", [ONE, ONE, ONE]),
        ("for the feed-forward network, position 0 does not change", [ALL, LATER, ALL]),
        ("give three rows of four, one for each stack", [ALL, LATER]),
    ],
    check_encoder_layer: [
        ("the norms come before the sub-layers", varied(pre=True)),
        ("the residual connections are missing", varied(residual=False)),
    ],
    check_mean_of_words: [
        ("padding is averaged, too", lambda z, is_word: z.mean(dim=1)),
        ("0 · NaN is NaN, so a product does not remove it", by_product),
    ],
    check_stack: [
        ("a layer did not get the mask", without_mask),
        ("each layer reads the embeddings", same_input),
        ("three layers were called 4 times;", one_call_more),
    ],
    check_count: [
        ("the biases of the feed-forward network are missing", lambda *sizes: count(*sizes, biases=0)),
        ("half of the norms' parameters are missing: two norms", lambda *sizes: count(*sizes, norms=1)),
    ],
    check_best_accuracy: [
        (
            "how often a word occurs is lost, as in a set",
            lambda t, ls: best_accuracy(t, ls, bag=lambda x: sorted(set(x))),
        ),
        ("the order of the words is used", lambda texts, ls: best_accuracy(texts, ls, bag=list)),
    ],
}
