"""Sentences of random words with the lengths of Multi30k, for benchmarks of speed."""

import math
import random

from annotated_transformer.text.batching import Pair
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID

# Mean and standard deviation of the log length in tokens in Multi30k (29,000 pairs, English to German, joint
# BPE vocabulary of 10,000; BOS and EOS included), and the correlation between the two sides.
SRC, TGT, CORRELATION = (2.665, 0.291), (2.749, 0.303), 0.858
SPECIAL = 3  # number of ids reserved for padding, BOS, and EOS


def multi30k_like(number: int, *, vocab_size: int, longest: int, seed: int) -> list[Pair]:
    """Return pairs of at most `longest` tokens per side, with words drawn uniformly."""
    rng = random.Random(seed)

    def words(count: int) -> list[int]:
        return rng.choices(range(SPECIAL, vocab_size), k=count)

    def length(mean: float, deviation: float, deviations: float) -> int:
        return min(max(round(math.exp(mean + deviation * deviations)), 4), longest)

    pairs = []
    for _ in range(number):
        first, other = rng.gauss(), rng.gauss()
        second = CORRELATION * first + math.sqrt(1 - CORRELATION**2) * other
        src_tokens, tgt_tokens = length(*SRC, first), length(*TGT, second)
        pairs.append(([*words(src_tokens - 1), EOS_ID], [BOS_ID, *words(tgt_tokens - 2), EOS_ID]))
    return pairs
