"""Two models that repeat a sentence: from one vector, and from one per word (chapter 1 of the book)."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class VectorCopier(nn.Module):
    """Repeat a sentence that was encoded in one vector of `size` numbers.

    Each word at each position has a learned code, and the vector is the sum of the codes.
    There is no recurrence: each word is one step from the vector.
    """

    def __init__(self, vocab: int, tokens: int, size: int, *, rng: torch.Generator) -> None:
        super().__init__()
        self.codes = nn.Parameter(torch.randn(tokens, vocab, size, generator=rng))
        self.to_words = nn.Parameter(torch.randn(tokens, size, vocab, generator=rng) / math.sqrt(size))

    def forward(
        self,
        words: Int[Tensor, "batch tokens"],
    ) -> Float[Tensor, "batch tokens vocab"]:
        """Return logits for each position of the sentence."""
        tokens = words.size(1)
        codes = self.codes[torch.arange(tokens), words]
        vector = codes.sum(dim=1) / math.sqrt(tokens)
        return torch.einsum("bs,tsv->btv", vector, self.to_words)


class AverageCopier(nn.Module):
    r"""Repeat a sentence by one weighted average per word, $c_t = \sum_i w_{ti} h_i$.

    All states are kept, `size` numbers for each word. The weights are learned for each pair
    of positions; in attention, they are computed from the states.
    """

    def __init__(self, vocab: int, tokens: int, size: int, *, rng: torch.Generator) -> None:
        super().__init__()
        self.codes = nn.Parameter(torch.randn(vocab, size, generator=rng))
        self.scores = nn.Parameter(torch.zeros(tokens, tokens))
        self.to_words = nn.Parameter(torch.randn(size, vocab, generator=rng) / math.sqrt(size))

    def weights(self) -> Float[Tensor, "tokens tokens"]:
        """Return how much each output reads from each state; a row sums to 1."""
        return self.scores.softmax(dim=-1)

    def forward(
        self,
        words: Int[Tensor, "batch tokens"],
    ) -> Float[Tensor, "batch tokens vocab"]:
        """Return logits for each position of the sentence."""
        states = self.codes[words]
        averages = self.weights() @ states
        return averages @ self.to_words
