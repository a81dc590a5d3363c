"""The checks of the exercises on queries, keys, and values reject wrong answers."""

import numpy as np
import torch

from annotated_transformer.book.chapters.queries_keys_values import exercises as checks
from annotated_transformer.book.chapters.queries_keys_values.scenes import SCENE_WORDS, VERBS
from tests.solutions import Solutions

solved = Solutions("queries_keys_values")
edited = solved.edited


def matrices_by_word():
    w_query, w_key, w_value = solved.matrices()
    w_key = torch.zeros_like(w_key)
    w_key[4:, 0] = w_key[4:, 2] = 1
    w_key[[4 + SCENE_WORDS.index(verb) for verb in VERBS], 1] = 1
    return w_query, w_key, w_value


def halves(query, key, width):
    """Give the queries a constant, and the keys the other half of the distance."""
    constant = -torch.ones(len(query), 1, dtype=query.dtype)
    norms = key.square().sum(dim=-1, keepdim=True) / (2 * width**2)
    return torch.cat([query / width, constant], dim=-1), torch.cat([key / width, norms], dim=-1)


RIGHT = {
    "soft_lookup": [lambda *given: np.float64(solved.soft_lookup(*given))],
    "extended": [halves],
    "matrices": [lambda: [1000 * matrix.double() for matrix in solved.matrices()]],
}
NOT_FED = (
    "last = captioner(last, cells).argmax(dim=-1)\n        said.append(last)",
    "said.append(captioner(last, cells).argmax(dim=-1))",
)
WRONG = {
    "answers": [
        (
            "Which key is closest, and how much weight is left for the",
            checks.ANSWERS | {"narrow, query 9.4": 12},
        ),
        (
            "The query lies outside all keys, but one of them is closest",
            checks.ANSWERS | {"narrow, query 13": 0},
        ),
    ],
    "soft_lookup": [
        ("for query 9, keys [8.0, 10.0, 12.0] and width 1, the", edited("soft_lookup", " / sum(raised)", "")),
        ("for query 500, keys [8.0, 10.0, 12.0] and width", edited("soft_lookup", " - max(exponents)", "")),
        ("the width is not squared", edited("soft_lookup", "width**2", "width")),
    ],
    "additive": [
        ("tanh is missing", edited("additive", "pairs.tanh()", "pairs")),
        ("the scores are divided by a root", edited("additive", "@ w_score", "@ w_score / 11**0.5")),
    ],
    "writer": [
        ("no word becomes the next query", edited("repaired", *NOT_FED)),
        ("should have the shape (6, 3), not (6, 39)", edited("repaired", "dim=-1", "dim=1")),
    ],
    "extended": [
        ("half of the keys' squared length is enough", edited("extended", "-norms / 2", "-norms")),
        ("the width is not squared", edited("extended", "width**2", "width")),
    ],
    "matrices": [
        ("57 captions of 300 should be different, such as 'dog cat", edited("matrices", "] = 20", "] = 2")),
        ("300 captions of 300 should be different, such as 'lamp", matrices_by_word),
    ],
}
