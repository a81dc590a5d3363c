"""Batching: each pair is in one batch, lengths are similar, the token budget holds, labels are shifted."""

import itertools
import re

import pytest
import torch

from annotated_transformer.text.batching import (
    Batch,
    ClassBatch,
    Pair,
    encode_pairs,
    fill_batches,
    make_batches,
    pad,
)
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID, PAD_ID, Tokenizer

BUDGET = 61


@pytest.fixture
def pairs() -> list[Pair]:
    rng = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 17, (211, 2), generator=rng).tolist()
    return [([7] * src + [EOS_ID], [BOS_ID] + [8] * tgt + [EOS_ID]) for src, tgt in lengths]


def rng() -> torch.Generator:
    return torch.Generator().manual_seed(1)


def rows(batches: list[Batch]) -> list[list[int]]:
    return [batch.rows for batch in batches]


@pytest.mark.parametrize("generator", [None, rng()], ids=["in order", "shuffled"])
def test_law_every_pair_is_in_one_batch(pairs: list[Pair], generator: torch.Generator | None):
    batches = make_batches(pairs, batch_tokens=BUDGET, generator=generator)
    assert len(batches) > 1
    assert sorted(row for batch in batches for row in batch.rows) == list(range(len(pairs)))
    for batch in batches:
        for row, *padded in zip(batch.rows, batch.src.tolist(), batch.tgt.tolist(), strict=True):
            for ids, expected in zip(padded, pairs[row], strict=True):
                assert ids == expected + [PAD_ID] * (len(ids) - len(expected))


def test_law_no_batch_exceeds_the_budget_or_has_room_for_the_next_pair(pairs: list[Pair]):
    batches = make_batches(pairs, batch_tokens=BUDGET)
    assert all(max(batch.src.numel(), batch.tgt.numel()) <= BUDGET for batch in batches)
    for batch, following in itertools.pairwise(batches):
        width = max(batch.src.size(1), batch.tgt.size(1), *map(len, pairs[following.rows[0]]))
        assert width * (len(batch.rows) + 1) > BUDGET
    lengths = [(len(pairs[row][1]), len(pairs[row][0])) for batch in batches for row in batch.rows]
    assert lengths == sorted(lengths)  # similar lengths share a batch


def test_law_the_generator_decides_the_order(pairs: list[Pair]):
    generator = rng()
    first, second = (make_batches(pairs, batch_tokens=BUDGET, generator=generator) for _ in range(2))
    assert rows(first) == rows(make_batches(pairs, batch_tokens=BUDGET, generator=rng()))
    assert rows(first) != rows(second)
    assert {frozenset(r) for r in rows(first)} != {frozenset(r) for r in rows(second)}  # regrouped, too
    lengths = [batch.tgt.size(1) for batch in first]
    assert lengths != sorted(lengths)  # otherwise every epoch would go from short to long


@pytest.mark.equation("eq-right-shift")
def test_law_input_and_labels_are_the_target_shifted_by_one():
    tgt = pad([[BOS_ID, 5, 6, 7, EOS_ID], [BOS_ID, 5, EOS_ID], [BOS_ID, EOS_ID]])
    batch = Batch([0, 1, 2], tgt, tgt)
    assert batch.decoder_input.tolist() == [[BOS_ID, 5, 6, 7], [BOS_ID, 5, EOS_ID, 0], [BOS_ID, EOS_ID, 0, 0]]
    assert batch.labels.tolist() == [[5, 6, 7, EOS_ID], [5, EOS_ID, PAD_ID, PAD_ID], [EOS_ID, 0, 0, 0]]
    assert batch.num_labels == 4 + 2 + 1


def test_law_all_of_a_batch_moves_to_a_device():
    moved = Batch([3], pad([[5, EOS_ID]]), pad([[BOS_ID, EOS_ID]])).to(torch.device("meta"))
    assert (moved.rows, moved.src.device.type, moved.tgt.device.type) == ([3], "meta", "meta")


def test_law_a_pair_longer_than_the_budget_fills_a_batch_of_its_own():
    pairs: list[Pair] = [([5, 2], [1, 5, 2]), ([5] * 9 + [2], [1, 2]), ([6, 2], [1, 6, 2])]
    assert fill_batches(pairs, [1, 0, 2], batch_tokens=8) == [[1], [0, 2]]
    assert fill_batches(pairs, [0, 1, 2], batch_tokens=8) == [[0], [1], [2]]
    assert fill_batches(pairs, [], batch_tokens=8) == []


def test_law_padding_has_the_pad_id_of_the_model_and_is_not_a_label():
    pairs: list[Pair] = [([0, 0, 8], [7, 0, 0, 8]), ([0, 8], [7, 0, 8])]
    (batch,) = make_batches(pairs, batch_tokens=11, pad_id=5)
    assert sorted(batch.src.tolist()) == [[0, 0, 8], [0, 8, 5]]
    assert sorted(batch.tgt.tolist()) == [[7, 0, 0, 8], [7, 0, 8, 5]]
    assert batch.num_labels == batch.to(torch.device("cpu")).num_labels == 5


def test_law_pairs_without_sources_are_batched_by_their_targets():
    pairs: list[Pair] = [([], [1, 8, 2]), ([], [1, 8, 9, 10, 2]), ([], [1, 2])]
    (batch,) = make_batches(pairs, batch_tokens=17)
    assert (batch.src.shape, batch.src.dtype) == ((3, 0), torch.int64)
    assert sorted(batch.labels.tolist()) == [[2, 0, 0, 0], [8, 2, 0, 0], [8, 9, 10, 2]]
    assert batch.num_labels == 7


def test_law_a_pair_with_a_class_has_one_label_whatever_the_class():
    (batch,) = make_batches([([5, 2], [0]), ([5, 6, 7, 2], [3])], batch_tokens=11)
    moved = ClassBatch(**vars(batch)).to(torch.device("cpu"))
    assert (type(moved), moved.classes.tolist(), moved.num_labels) == (ClassBatch, [0, 3], 2)


LONG: Pair = ([7] * 12 + [EOS_ID], [BOS_ID, 8, EOS_ID])
GOOD: Pair = ([EOS_ID], [BOS_ID, EOS_ID])
MISTAKES = [
    ("pair 2 has 13 source and 3 target tokens, more than batch_tokens=11; give 13", [GOOD, LONG]),
    ("there are no pairs to make batches of; give a corpus", []),
    ("pair 2 has no target; give each source at least one id to predict", [GOOD, ([EOS_ID], [])]),
]


@pytest.mark.message
@pytest.mark.parametrize(("message", "pairs"), MISTAKES)
def test_message_pairs_that_make_no_batch(message: str, pairs: list[Pair]):
    with pytest.raises(ValueError, match=message):
        make_batches(pairs, batch_tokens=11)


@pytest.mark.message
@pytest.mark.parametrize("side", ["Ein Mann", ["Ein", "Mann"], torch.ones(3), None, [True, EOS_ID]])
def test_message_a_pair_that_is_not_encoded(side: object):
    message = rf"pair 2 has .{re.escape(str(side)[:5])}.*, which is not a list of ids; give encode_pairs\(…\)"
    for pair in ((GOOD[0], side), (side, GOOD[1])):
        with pytest.raises(TypeError, match=message):
            make_batches([GOOD, pair], batch_tokens=11)


@pytest.mark.message
def test_message_two_classes_or_no_sequences():
    (batch,) = make_batches([([5, 2], [1, 3])], batch_tokens=11)
    with pytest.raises(ValueError, match=r"among \[1\] has 2 classes; give each one: \(ids, \[class\]\)"):
        ClassBatch(**vars(batch)).classes  # noqa: B018
    with pytest.raises(ValueError, match="there are no sequences to pad; give at least one"):
        pad([])


def test_law_a_pair_is_source_and_target_in_this_order():
    texts = [("A man.", "Ein Mann."), ("Two dogs.", "Zwei Hunde.")]
    tokenizer = Tokenizer.train([text for pair in texts for text in pair], vocab_size=263)
    pairs = encode_pairs(tokenizer, texts)
    assert [tuple(tokenizer.decode(list(pair))) for pair in pairs] == texts
    assert [(src[-1], tgt[0], tgt[-1]) for src, tgt in pairs] == [(EOS_ID, BOS_ID, EOS_ID)] * 2


@pytest.mark.equation("eq-padding-share")
def test_law_the_share_of_padding_follows_from_the_lengths(pairs: list[Pair]):
    batches = make_batches(pairs, batch_tokens=BUDGET, generator=rng())
    ids = torch.cat([batch.src.flatten() for batch in batches])
    places = sum(len(batch.rows) * max(len(pairs[row][0]) for row in batch.rows) for batch in batches)
    share = 1 - sum(len(src) for src, _ in pairs) / places
    assert share > 0.01
    assert (ids == PAD_ID).double().mean().item() == pytest.approx(share, abs=1e-12)
