"""Sentences in which the last word decides what "it" refers to: for the chapter on self-attention."""

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

NOUNS = ("fox", "hen", "cat", "dog", "owl", "pig")
ADJECTIVES = ("hungry", "tasty")
PRONOUN_FEATURES = (*NOUNS, "subject", "object", "chased", "because", "it", "was", *ADJECTIVES)
IT = 4  # where "it" stands in each sentence


class PronounSentence(NamedTuple):
    """The words of a sentence, and the noun that "it" refers to, as an index of `NOUNS`."""

    words: tuple[str, ...]
    answer: int

    def __str__(self) -> str:
        return " ".join(self.words)


def pronoun_sentences() -> list[PronounSentence]:
    """Return each sentence such as "fox chased hen because it was hungry", 60 in all.

    The hungry one is the subject, the tasty one the object. Each pair of nouns occurs
    in both orders, with both adjectives.
    """
    sentences = []
    for first, second in permutations(NOUNS, 2):
        for adjective, answer in zip(ADJECTIVES, (first, second), strict=True):
            words = first, "chased", second, "because", "it", "was", adjective
            sentences.append(PronounSentence(words, NOUNS.index(answer)))
    return sentences


def encode_pronouns(sentences: Sequence[PronounSentence]) -> Float[Tensor, "batch tokens d_model"]:
    """Return a vector of zeros and ones per word: which word it is; for nouns also subject or object."""
    x = torch.zeros(len(sentences), 7, len(PRONOUN_FEATURES))
    for number, sentence in enumerate(sentences):
        for place, word in enumerate(sentence.words):
            x[number, place, PRONOUN_FEATURES.index(word)] = 1.0
    x[:, 0, PRONOUN_FEATURES.index("subject")] = 1.0
    x[:, 2, PRONOUN_FEATURES.index("object")] = 1.0
    return x
