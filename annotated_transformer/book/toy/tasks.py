"""Copying and reversing, tasks with known answers: for the chapter on training."""

import torch

from annotated_transformer.text.batching import Pair
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID, SPECIAL_TOKENS

FIRST_SYMBOL = len(SPECIAL_TOKENS)  # the id of the first symbol


def copy_pairs(count: int, *, symbols: int, lengths: range, generator: torch.Generator) -> list[Pair]:
    """Return pairs of a random sequence of symbols and the same sequence.

    The length of a sequence is one of `lengths`. There are `symbols` different symbols, so a model
    needs a vocabulary of `FIRST_SYMBOL + symbols`.

    Raises:
        ValueError: If a size is less than 1, or a sequence could be empty.
    """
    return [_frame(ids, ids) for ids in _random_sequences(count, symbols, lengths, generator)]


def reverse_pairs(count: int, *, symbols: int, lengths: range, generator: torch.Generator) -> list[Pair]:
    """Return pairs of a random sequence of symbols and its reverse; otherwise as `copy_pairs`.

    With a single length, the first target symbol is always at the same source position. With several
    lengths, a model must find the end of the source, which is harder to learn.
    """
    return [_frame(ids, ids[::-1]) for ids in _random_sequences(count, symbols, lengths, generator)]


def _frame(source: list[int], target: list[int]) -> Pair:
    return [*source, EOS_ID], [BOS_ID, *target, EOS_ID]


def _random_sequences(
    count: int, symbols: int, lengths: range, generator: torch.Generator
) -> list[list[int]]:
    for name, size in {"count": count, "symbols": symbols}.items():
        if size < 1:
            raise ValueError(f"{name}={size}; give a positive whole number")
    if not lengths or min(lengths) < 1:
        raise ValueError(f"lengths={lengths}; give at least one, and only positive ones, such as range(1, 8)")
    places = torch.randint(len(lengths), (count,), generator=generator).tolist()
    high = FIRST_SYMBOL + symbols
    return [torch.randint(FIRST_SYMBOL, high, (lengths[i],), generator=generator).tolist() for i in places]
