"""Copy and reverse, whose right answers everybody knows: for the chapter on training."""

import torch

from annotated_transformer.text.batching import Pair
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID, SPECIAL_TOKENS

FIRST_SYMBOL = len(SPECIAL_TOKENS)  # the symbols have the ids from here on


def copy_pairs(count: int, *, symbols: int, lengths: range, generator: torch.Generator) -> list[Pair]:
    """Return random symbols and the same symbols again.

    A sequence has one of `lengths` and symbols of `symbols` kinds, so that a model needs
    `FIRST_SYMBOL + symbols` ids.

    Raises:
        ValueError: If there is nothing to draw, or a sequence could be empty.
    """
    sequences = _random_sequences(count, symbols, lengths, generator)
    return [_frame(ids, ids) for ids in sequences]


def reverse_pairs(count: int, *, symbols: int, lengths: range, generator: torch.Generator) -> list[Pair]:
    """Return random symbols and the same symbols from last to first; as `copy_pairs`.

    With one length the symbol to begin with is always at the same place. With several, a
    model must first find the end of its source, which is harder to learn.
    """
    sequences = _random_sequences(count, symbols, lengths, generator)
    return [_frame(ids, ids[::-1]) for ids in sequences]


def _frame(source: list[int], target: list[int]) -> Pair:
    return [*source, EOS_ID], [BOS_ID, *target, EOS_ID]


def _random_sequences(
    count: int, symbols: int, lengths: range, generator: torch.Generator
) -> list[list[int]]:
    for name, size in {"count": count, "symbols": symbols}.items():
        if size < 1:
            raise ValueError(f"{name}={size}; give a whole number from 1 on")
    if not lengths or min(lengths) < 1:
        raise ValueError(f"lengths={lengths}; give some, all from 1 on, such as range(1, 8)")
    places = torch.randint(len(lengths), (count,), generator=generator).tolist()
    high = FIRST_SYMBOL + symbols
    return [torch.randint(FIRST_SYMBOL, high, (lengths[i],), generator=generator).tolist() for i in places]
