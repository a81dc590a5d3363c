"""The copy and reverse tasks: correct targets, reproducible samples, and a small model that learns both."""

import re
from collections.abc import Callable

import pytest
import torch

from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding.greedy import greedy_search
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Pair, pad
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID
from annotated_transformer.text.toy.tasks import FIRST_SYMBOL, copy_pairs, reverse_pairs
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.trainer import train

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


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("task", "lengths"), [(copy_pairs, range(1, 8)), (reverse_pairs, range(7, 8))])
def test_law_a_small_model_learns_the_task(task: Task, lengths: range):
    config = TransformerConfig(
        vocab_size=FIRST_SYMBOL + SYMBOLS,
        max_length=64,
        num_layers=1,
        d_model=32,
        d_ff=64,
        num_heads=2,
        dropout=0.0,
    )
    torch.manual_seed(0)
    model = Transformer(config)
    learned = draw(task, 5003, 0, lengths)
    settings = TrainingConfig(steps=1000, batch_tokens=1009, warmup_steps=200, max_lr=1e-2)
    train(model, learned, settings, generator=torch.Generator().manual_seed(0))
    unseen = [pair for pair in draw(task, 997, 1, lengths) if pair not in learned]
    assert len(unseen) > 500
    found = greedy_search(model, pad([src for src, _ in unseen])).tolist()
    right = sum(out[: len(tgt) - 1] == tgt[1:] for out, (_, tgt) in zip(found, unseen, strict=True))
    assert right / len(unseen) >= 0.99


@pytest.mark.message
@pytest.mark.parametrize("name", ["count", "symbols"])
def test_message_a_size_below_one(name: str):
    sizes = {"count": 3, "symbols": 5} | {name: 0}
    with pytest.raises(ValueError, match=f"{name}=0; give a positive whole number"):
        copy_pairs(**sizes, lengths=range(1, 8), generator=torch.Generator())


@pytest.mark.message
@pytest.mark.parametrize("lengths", [range(3, 3), range(3), range(3, -1, -1)])
def test_message_lengths_that_cannot_be_drawn(lengths: range):
    with pytest.raises(
        ValueError, match=rf"lengths={re.escape(str(lengths))}; give at least one, and only positive"
    ):
        reverse_pairs(3, symbols=5, lengths=lengths, generator=torch.Generator())
