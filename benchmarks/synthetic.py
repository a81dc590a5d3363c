"""Sentences of random words with the lengths of Multi30k, or with given ones, for benchmarks of speed."""

import math
import random

from annotated_transformer.text.batching import Pair
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID

# Mean and standard deviation of the log length in tokens in Multi30k (29,000 pairs, English to German, joint
# BPE vocabulary of 10,000; BOS and EOS included), and the correlation between the two sides.
SRC, TGT, CORRELATION = (2.665, 0.291), (2.749, 0.303), 0.858
SPECIAL = 3  # number of ids reserved for padding, BOS, and EOS
Logarithm = tuple[float, float]  # mean and standard deviation of the log length


def multi30k_like(number: int, *, vocab_size: int, longest: int, seed: int) -> list[Pair]:
    """Return pairs of at most `longest` tokens per side, with words drawn uniformly."""
    return random_pairs(number, SRC, TGT, vocab_size=vocab_size, longest=longest, seed=seed)


def log_length(mean: float, deviation: float) -> Logarithm:
    """Return the mean and the standard deviation of the logarithm of a log-normal length, given its own.

    Raises:
        ValueError: If the mean is not positive, or the deviation is negative.
    """
    if not (mean > 0 and deviation >= 0):
        raise ValueError(
            f"lengths of {mean:g} ± {deviation:g} tokens do not exist; give a positive mean, and a deviation "
            f"of 0 or more"
        )
    variance = math.log1p((deviation / mean) ** 2)
    return math.log(mean) - variance / 2, math.sqrt(variance)


def random_pairs(
    number: int, src: Logarithm, tgt: Logarithm, *, vocab_size: int, longest: int, seed: int
) -> list[Pair]:
    """Return pairs with these lengths, which are correlated as in Multi30k."""
    rng = random.Random(seed)

    def words(count: int) -> list[int]:
        return rng.choices(range(SPECIAL, vocab_size), k=count)

    pairs = []
    for _ in range(number):
        first, other = rng.gauss(), rng.gauss()
        second = CORRELATION * first + math.sqrt(1 - CORRELATION**2) * other
        src_tokens, tgt_tokens = _length(first, src, longest), _length(second, tgt, longest)
        pairs.append(([*words(src_tokens - 1), EOS_ID], [BOS_ID, *words(tgt_tokens - 2), EOS_ID]))
    return pairs


def _length(deviations: float, logarithm: Logarithm, longest: int) -> int:
    mean, deviation = logarithm
    return min(max(round(math.exp(mean + deviation * deviations)), 4), longest)
