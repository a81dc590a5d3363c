"""The checks of the exercises on self-attention reject wrong answers."""

import math

import torch
import torch.nn.functional as F

from annotated_transformer.book.chapters.self_attention.exercises import (
    SIZES,
    check_circle,
    check_pronouns,
    check_self_attention,
    check_sizes,
    check_two_sums,
    check_weight_ratio,
)
from annotated_transformer.book.chapters.self_attention.pronouns import PRONOUN_FEATURES
from annotated_transformer.book.chapters.self_attention.self_attention import SelfAttention

FEATURE = PRONOUN_FEATURES.index


def self_attention(x, w_query, w_key, w_value, *, scale=None, dim=-1):
    scores = (x @ w_query) @ (x @ w_key).mT / (scale or math.sqrt(w_query.size(1)))
    return scores.softmax(dim=dim) @ (x @ w_value)


def plain(x, *, dim=2, sums="bij,bjk->bik"):
    return torch.einsum(sums, torch.einsum("bik,bjk->bij", x, x).softmax(dim=dim), x)


def ratio(asking, first, second, w_query, w_key, *, width=None):
    score = (asking @ w_query) @ ((first - second) @ w_key)
    return math.exp(score / math.sqrt(width or w_key.size(1)))


def ratio_of_scores(asking, first, second, w_query, w_key):
    query = asking @ w_query
    return (query @ (first @ w_key)) / (query @ (second @ w_key))


def circle(*, scale=10.0, back=False):
    return scale * torch.eye(3), torch.eye(3).roll(-1 if back else 1, dims=0)


def two_layers(roles=("subject", "object"), *, loudness=1.0):
    first, second = SelfAttention(14, 1, 14), SelfAttention(14, 2, 14)
    with torch.no_grad():
        for parameter in (*first.parameters(), *second.parameters()):
            parameter.zero_()
        first.to_query.weight[0, FEATURE("it")] = 30
        for place, (word, role) in enumerate(zip(("hungry", "tasty"), roles, strict=True)):
            first.to_key.weight[0, FEATURE(word)] = 1
            first.to_value.weight[FEATURE(word), FEATURE(word)] = 1
            second.to_query.weight[place, FEATURE(word)] = 30
            second.to_key.weight[place, FEATURE(role)] = 1
        second.to_value.weight[:6, :6] = loudness * torch.eye(6)
    return first, second


RIGHT = {
    check_sizes: [
        dict(SIZES),
        {name: [*size] if isinstance(size, tuple) else size for name, size in SIZES.items()},
    ],
    check_self_attention: [
        self_attention,
        lambda x, q, k, v: F.scaled_dot_product_attention(x @ q, x @ k, x @ v),
    ],
    check_two_sums: [plain, lambda x: torch.softmax(x @ x.mT, dim=-1) @ x],
    check_weight_ratio: [ratio, lambda a, b, c, q, k: torch.exp((a @ q) @ ((b - c) @ k) / k.size(1) ** 0.5)],
    check_circle: [circle, lambda: ([[0, 20, 0], [0, 0, 20], [20, 0, 0]], torch.eye(3))],
    check_pronouns: [two_layers, lambda: list(two_layers(loudness=3.0))],
}


WRONG = {
    check_sizes: [
        ("Each word has a weight for each word of its own sentence", SIZES | {"weights": (2, 2, 7)}),
        ("The outputs are as wide as the values", SIZES | {"output": (2, 7, 512)}),
        ("'query' should be a shape, such as (2, 3), not str.", SIZES | {"query": "2x7x64"}),
        ("'query' should be a shape, such as (2, 3), not Tensor.", SIZES | {"query": torch.zeros(2, 7, 64)}),
        ("'parameters' should be a number, not tuple.", SIZES | {"parameters": (512, 160)}),
    ],
    check_self_attention: [
        ("the root of d_model instead of d_k", lambda *inputs: self_attention(*inputs, scale=6**0.5)),
        ("the scores are not divided by √d_k", lambda *inputs: self_attention(*inputs, scale=1.0)),
        (
            "the softmax runs over the first axis instead of the keys",
            lambda *inputs: self_attention(*inputs, dim=0),
        ),
        (
            "the softmax runs over the queries instead of the keys",
            lambda *inputs: self_attention(*inputs, dim=1),
        ),
        (
            "the keys are made with the matrix of the queries",
            lambda x, w_query, w_key, w_value: self_attention(x, w_query, w_query, w_value),
        ),
    ],
    check_two_sums: [
        ("the weights that a word receives sum to 1, not those that", lambda x: plain(x, dim=1)),
        ("each word's own vector is summed, not those of the words", lambda x: plain(x, sums="bij,bik->bik")),
    ],
    check_weight_ratio: [
        ("this is the ratio of the scores, not that of the weights", ratio_of_scores),
        ("the scores are not divided by √d_k", lambda *inputs: ratio(*inputs, width=1)),
        ("the scores are divided by √d_model instead of √d_k", lambda *inputs: ratio(*inputs, width=6)),
    ],
    check_circle: [
        (
            "with one matrix for both, the scores are symmetric:",
            lambda: (10 * torch.eye(3), 10 * torch.eye(3)),
        ),
        ("return two matrices: first that of the queries", lambda: 10 * torch.eye(3)),
        ("return two matrices: first that of the queries", lambda: None),
        (
            "the matrix of the queries should have shape (3, d_k), not (2, 3).",
            lambda: (torch.ones(2, 3), torch.ones(2, 3)),
        ),
        ("each word reads the one that it loses to", lambda: circle(back=True)),
    ],
    check_pronouns: [
        ('"fox chased hen because it was tasty"', lambda: two_layers(roles=("subject", "subject"))),
        ("there should be two layers, not 1", lambda: two_layers()[:1]),
        ("return a pair of layers, not SelfAttention.", lambda: two_layers()[0]),
        ("there should be two layers, not 3", lambda: (*two_layers(), SelfAttention(14, 1, 14))),
        ("its largest feature is only 0.01 ahead", lambda: two_layers(loudness=0.01)),
    ],
}
