"""The copy and reverse tasks: correct targets, and reproducible samples."""

import re
from collections.abc import Callable

import pytest
import torch

from annotated_transformer.book.toy.tasks import FIRST_SYMBOL, copy_pairs, reverse_pairs
from annotated_transformer.text.batching import Pair
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID

Task = Callable[..., list[Pair]]
SYMBOLS = 11


def draw(task: Task, count: int, seed: int, lengths: range = range(2, 8)) -> list[Pair]:
    rng = torch.Generator().manual_seed(seed)
    return task(count, symbols=SYMBOLS, lengths=lengths, generator=rng)


def test_law_the_target_is_the_source_or_its_reverse():
    for (src, same), (again, back) in zip(draw(copy_pairs, 97, 0), draw(reverse_pairs, 97, 0), strict=True):
        *ids, end = src
        assert end == EOS_ID
        assert same == [BOS_ID, *ids, EOS_ID]
        assert (again, back) == (src, [BOS_ID, *ids[::-1], EOS_ID])


def test_law_all_symbols_and_all_lengths_occur():
    pairs = draw(copy_pairs, 997, 0)
    assert {len(src) - 1 for src, _ in pairs} == set(range(2, 8))
    assert {id_ for src, _ in pairs for id_ in src[:-1]} == set(range(FIRST_SYMBOL, FIRST_SYMBOL + SYMBOLS))


def test_law_samples_depend_on_the_generator():
    assert draw(reverse_pairs, 97, 0) == draw(reverse_pairs, 97, 0) != draw(reverse_pairs, 97, 1)


@pytest.mark.message
@pytest.mark.parametrize("name", ["count", "symbols"])
def test_message_a_size_below_one(name: str):
    sizes = {"count": 3, "symbols": 5} | {name: 0}
    with pytest.raises(ValueError, match=f"{name}=0; give a positive whole number"):
        copy_pairs(**sizes, lengths=range(1, 8), generator=torch.Generator())


@pytest.mark.message
@pytest.mark.parametrize("lengths", [range(3, 3), range(3), range(3, -1, -1)])
def test_message_lengths_that_cannot_be_drawn(lengths: range):
    with pytest.raises(ValueError, match=rf"lengths={re.escape(str(lengths))}; give at least one, and only"):
        reverse_pairs(3, symbols=5, lengths=lengths, generator=torch.Generator())
