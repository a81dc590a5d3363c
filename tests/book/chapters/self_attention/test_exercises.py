"""The checks of the exercises on self-attention reject wrong answers."""

import torch

from annotated_transformer.book.chapters.self_attention import exercises as checks
from annotated_transformer.book.chapters.self_attention.self_attention import SelfAttention
from tests.solutions import Solutions

solved = Solutions("self_attention")
edited = solved.edited


def ratio_of_scores(asking, first, second, w_query, w_key):
    query = asking @ w_query
    return (query @ (first @ w_key)) / (query @ (second @ w_key))


RIGHT = {
    "weight_ratio": [lambda *given: solved.ratio(*given).item()],
    "circle": [lambda: ([[0, 20, 0], [0, 0, 20], [20, 0, 0]], torch.eye(3))],
    "pronouns": [lambda: [*edited("hand_built", "= torch.eye(6)", "= 3 * torch.eye(6)")()]],
}
ROOT = " / query.size(-1) ** 0.5"
WRONG = {
    "sizes": [
        ("Each word has a weight for each word of its own sentence", checks.SIZES | {"weights": (2, 2, 7)}),
        ("The outputs are as wide as the values", checks.SIZES | {"output": (2, 7, 512)}),
        ("'query' should be a shape, such as (2, 3), not str.", checks.SIZES | {"query": "2x7x64"}),
        (
            "'query' should be a shape, such as (2, 3), not Tensor.",
            checks.SIZES | {"query": torch.zeros(2, 7, 64)},
        ),
        ("'parameters' should be a number, not tuple.", checks.SIZES | {"parameters": (512, 160)}),
    ],
    "self_attention": [
        ("the root of d_model instead of d_k", edited("self_attention", ROOT, ROOT.replace("query", "x"))),
        ("the scores are not divided by √d_k", edited("self_attention", ROOT, "")),
        ("over the first axis instead of the keys", edited("self_attention", "dim=-1", "dim=0")),
        ("over the queries instead of the keys", edited("self_attention", "dim=-1", "dim=1")),
        ("made with the matrix of the queries", lambda x, q, k, v: solved.self_attention(x, q, q, v)),
    ],
    "two_sums": [
        ("the weights that a word receives sum to 1, not those that", edited("repaired", "dim=2", "dim=1")),
        ("each word's own vector is summed", edited("repaired", "bij,bjk->bik", "bij,bik->bik")),
    ],
    "weight_ratio": [
        ("this is the ratio of the scores, not that of the weights", ratio_of_scores),
        ("the scores are not divided by √d_k", edited("ratio", " / w_key.size(1) ** 0.5", "")),
        ("by √d_model instead of √d_k", edited("ratio", "w_key.size(1)", "w_key.size(0)")),
    ],
    "circle": [
        ("the scores are symmetric:", lambda: (10 * torch.eye(3), 10 * torch.eye(3))),
        ("return two matrices: first that of the queries", lambda: 10 * torch.eye(3)),
        ("return two matrices: first that of the queries", lambda: None),
        ("should have shape (3, d_k), not (2, 3).", lambda: (torch.ones(2, 3), torch.ones(2, 3))),
        ("each word reads the one that it loses to", edited("circle", "roll(1", "roll(-1")),
    ],
    "pronouns": [
        ('hen because it was tasty"', edited("hand_built", '"tasty", "object"', '"tasty", "subject"')),
        ("there should be two layers, not 1", lambda: solved.hand_built()[:1]),
        ("return a pair of layers, not SelfAttention.", lambda: solved.hand_built()[0]),
        ("there should be two layers, not 3", lambda: (*solved.hand_built(), SelfAttention(14, 1, 14))),
        ("feature is only 0.01 ahead", edited("hand_built", "= torch.eye(6)", "= 0.01 * torch.eye(6)")),
    ],
}
