"""BPE dropout: a new segmentation of the texts in each epoch (Provilkov et al., 2020)."""

import torch

from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.text.batching import Pair, encode_pairs
from annotated_transformer.text.sentence_pairs import SentencePair
from annotated_transformer.text.tokenizer import Tokenizer


@refuses_other_kinds
class BPEDropout:
    """Encodes the same pairs of texts with different tokens in each epoch.

    In each epoch, the texts are divided at random into `groups`, and each group is encoded by its own
    tokenizer from `Tokenizer.with_dropout`. If a text gets more than `longest` tokens, its pair is
    encoded without dropout in that epoch, because it would not fit into the model or a batch.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        texts: list[SentencePair],
        *,
        p: float,
        seed: int,
        longest: int,
        groups: int = 32,
    ) -> None:
        self.tokenizer, self.texts, self.p = tokenizer, texts, p
        self.seed, self.longest, self.groups = seed, longest, groups

    def __call__(self, epoch: int) -> list[Pair]:
        """Return the pairs of an epoch in the order of the texts; each call returns the same pairs."""
        generator = torch.Generator().manual_seed(1_000_003 * self.seed + epoch)
        group_of = torch.randint(self.groups, (len(self.texts),), generator=generator)
        pairs: dict[int, Pair] = {}
        for group in range(self.groups):
            rows = (group_of == group).nonzero().flatten().tolist()
            tokenizer = self.tokenizer.with_dropout(self.p, generator)
            pairs |= zip(rows, encode_pairs(tokenizer, [self.texts[row] for row in rows]), strict=True)
        long = [row for row, pair in pairs.items() if max(map(len, pair)) > self.longest]
        pairs |= zip(long, encode_pairs(self.tokenizer, [self.texts[row] for row in long]), strict=True)
        return [pairs[row] for row in range(len(self.texts))]
