"""Short reviews in which "not" negates the opinion after it: for the chapter on the encoder."""

from itertools import permutations, product
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from annotated_transformer.text.batching import pad
from annotated_transformer.text.tokenizer import SPECIAL_TOKENS

ASPECTS = ("plot", "acting", "music", "ending")
OPINIONS = {"awful": -2, "bad": -1, "good": 1, "great": 2}
REVIEW_WORDS = (*SPECIAL_TOKENS, *ASPECTS, "not", *OPINIONS)  # in the order of their ids


class Review(NamedTuple):
    """The words of a review, and the sum of its two opinions, from -4 to 4."""

    words: tuple[str, ...]
    rating: int

    def __str__(self) -> str:
        return " ".join(self.words)


def all_reviews() -> list[Review]:
    """Return each review such as "plot good acting not awful", with the rating 1 + 2 = 3.

    A review names two aspects, each with an opinion that may be negated. Those whose two
    opinions cancel are left out, so the sign of a rating is its verdict.
    """
    opinions: list[tuple[tuple[str, ...], int]]
    opinions = [((word,), value) for word, value in OPINIONS.items()]
    opinions += [(("not", word), -value) for word, value in OPINIONS.items()]
    reviews = [
        Review((first, *words, second, *more), value + other)
        for first, second in permutations(ASPECTS, 2)
        for (words, value), (more, other) in product(opinions, repeat=2)
    ]
    return [review for review in reviews if review.rating != 0]


def split_reviews(generator: torch.Generator) -> tuple[list[Review], list[Review]]:
    """Return three quarters of the reviews to train on and the others to test on."""
    reviews = all_reviews()
    order = torch.randperm(len(reviews), generator=generator).tolist()
    cut = 3 * len(reviews) // 4
    return [reviews[i] for i in order[:cut]], [reviews[i] for i in order[cut:]]


def encode_reviews(reviews: list[Review]) -> Int[Tensor, "batch tokens"]:
    """Return the ids of the words, each review padded to the longest.

    Raises:
        ValueError: If a word is unknown.
    """
    unknown = sorted({word for review in reviews for word in review.words} - set(REVIEW_WORDS))
    if unknown:
        raise ValueError(f"reviews do not have the words {unknown}; use {', '.join(REVIEW_WORDS[4:])}")
    return pad([[REVIEW_WORDS.index(word) for word in review.words] for review in reviews])
