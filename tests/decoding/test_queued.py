"""The searches for GPUs find what the others find, and seldom ask the device for anything."""

import math
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from annotated_transformer.decoding import queued
from annotated_transformer.decoding.beam import FixedBeams, beam_search
from annotated_transformer.decoding.greedy import generate, greedy_search
from annotated_transformer.decoding.kv_cache import KeyValueCache
from annotated_transformer.decoding.length_penalty import GnmtLength, PlainLength
from annotated_transformer.decoding.sampling import Temperature, TopK, TopP, sample
from annotated_transformer.fast import static_buffers
from annotated_transformer.fast.static_cache import StaticCaches, StaticKeyValueCache
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import pad
from annotated_transformer.text.tokenizer import EOS_ID
from tests.decoder_steps import words
from tests.replay import Replayed
from tests.synchronization import no_synchronization


@pytest.fixture
def batch() -> Tensor:
    """Return sources of 2 to 19 tokens."""
    rng = torch.Generator().manual_seed(0)
    lengths = [2, 19, 3, 3, 5, 7, 11, 2, 13, 4, 17, 6, 8]
    return pad([[*torch.randint(3, 11, (n - 1,), generator=rng).tolist(), EOS_ID] for n in lengths])


@pytest.fixture(params=[1, 5])
def interval(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(StaticKeyValueCache, "interval", request.param)
    return request.param


@pytest.fixture(params=["called", "replayed"])
def caches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> StaticCaches:
    """Return decoders whose steps are called, as on a CPU, or replayed without their Python, as on a card."""
    if request.param == "replayed":
        monkeypatch.setattr(static_buffers, "Recorded", Replayed)
    return StaticCaches()


@pytest.mark.usefixtures("unchecked")
def test_oracle_greedy_search_finds_the_same_targets(
    stirred: Callable[..., Transformer], batch, interval, caches
):
    different = set()
    for seed in (19, 22, 25):
        model = stirred(seed, max_length=71)  # targets have room for more tokens than the smallest buffers
        for src in (batch, batch[1:2]):
            expected = greedy_search(model, src, decoder=KeyValueCache, extra_tokens=41)
            found = greedy_search(model, src, decoder=caches, extra_tokens=41)
            assert torch.equal(found, expected)
            different |= {len(ids) for ids in words(found)}
    assert min(different) < 8
    assert max(different) == 19 + 41
    assert len(different) > 6


def test_oracle_a_sample_of_almost_no_temperature_is_greedy_search(stirred, batch, interval, caches):
    model, rng = stirred(22), torch.Generator().manual_seed(0)
    found = sample(model, batch, generator=rng, logits_processors=[Temperature(1e-9)], decoder=caches)
    assert torch.equal(found, greedy_search(model, batch))


@pytest.mark.parametrize(
    ("beam_size", "nbest", "penalty"),
    [(1, 1, None), (4, 3, GnmtLength(1.0)), (13, 2, PlainLength())],
)
@pytest.mark.usefixtures("unchecked")
def test_oracle_beam_search_finds_the_same_hypotheses(
    stirred, batch, interval, caches, beam_size, nbest, penalty
):
    different = set()
    options = {"beam_size": beam_size, "nbest": nbest, "length_penalty": penalty}
    for seed, max_length in ((19, 23), (22, 71)):
        model = stirred(seed, max_length=max_length)
        for src in (batch, batch[1:2]):
            expected = beam_search(model, src, **options, decoder=KeyValueCache)
            found = beam_search(model, src, **options, decoder=caches)
            assert torch.equal(found.ids, expected.ids)
            for name in ("log_probs", "penalized_log_probs"):
                pair = getattr(found, name), getattr(expected, name)
                torch.testing.assert_close(*pair, rtol=0, atol=1e-10)
            different |= {len(ids) for ids in words(found.ids)}
    assert len(different) > 3


class Watched:
    """Targets whose search may not wait for the device between the first step and the next question."""

    def __init__(self, targets: StaticKeyValueCache, monkeypatch: pytest.MonkeyPatch) -> None:
        self.targets, self.interval, self.rows, self.questions = targets, targets.interval, [], 0
        self.watching = ExitStack()
        self.watched = False
        for place, name in ((queued, "_going_on"), (FixedBeams, "_any_grows")):
            ask = getattr(place, name)
            monkeypatch.setattr(place, name, lambda *answers, ask=ask: self.answer(ask, *answers))

    def step(self, tokens: Tensor) -> Tensor:
        if not self.watched:
            self.watching.enter_context(no_synchronization())
            self.watched = True
        self.rows.append(len(tokens))
        return self.targets.step(tokens)

    def answer(self, ask: Callable[..., object], *answers: object) -> object:
        self.watching.close()
        self.watched, self.questions = False, self.questions + 1
        return ask(*answers)

    def widen(self, beam_size: int) -> None:
        self.targets.widen(beam_size)

    def select(self, rows: Tensor) -> None:
        self.targets.select(rows)

    def close(self) -> None:
        self.watching.close()
        self.targets.close()


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[[Transformer, Tensor], Watched]:
    """Return a factory of watched decoders, which remembers the last one."""

    def make(model: Transformer, src: Tensor) -> Watched:
        make.last = Watched(StaticCaches()(model, src), monkeypatch)
        return make.last

    return make


def test_law_greedy_search_asks_the_device_once_per_interval_and_drops_rows_by_halves(
    stirred, batch, watched
):
    found = greedy_search(stirred(25, max_length=71), batch, decoder=watched)
    one = watched.last
    needed, interval = found.size(1), one.interval
    assert interval < needed <= len(one.rows) < needed + interval
    assert one.questions == math.ceil(len(one.rows) / interval)
    sizes = list(dict.fromkeys(one.rows))
    assert sizes[0] == len(batch)
    assert len(sizes) > 2
    assert all(2 * after <= before for before, after in pairwise(sizes))
    running = torch.tensor([sum(len(ids) > step for ids in words(found)) for step in range(needed)])
    assert (torch.tensor(one.rows[:needed]) >= running).all()


def test_law_a_sample_is_drawn_without_asking_the_device(stirred, batch, watched):
    model, processors = stirred(25, max_length=71), [Temperature(0.7), TopK(9), TopP(0.9)]
    for src in (batch, batch[1:2]):
        found, expected = (
            sample(model, src, generator=torch.Generator().manual_seed(5), **options)
            for options in (
                {"logits_processors": processors, "decoder": watched},
                {"logits_processors": processors, "decoder": KeyValueCache},
            )
        )
        one = watched.last
        assert one.interval <= len(one.rows)
        assert one.questions == math.ceil(len(one.rows) / one.interval)
    assert torch.equal(found, expected)  # one row, so nothing is drawn for rows that have ended


def test_law_beam_search_asks_the_device_once_per_interval_and_keeps_all_rows(stirred, batch, watched):
    model = stirred(22, max_length=71)
    steps = []

    def counted(model: Transformer, src: Tensor) -> KeyValueCache:
        cache = KeyValueCache(model, src)
        step = cache.step
        cache.step = lambda tokens: (steps.append(1), step(tokens))[1]
        return cache

    expected = beam_search(model, batch[:3], beam_size=3, decoder=counted)
    assert torch.equal(beam_search(model, batch[:3], beam_size=3, decoder=watched).ids, expected.ids)
    one = watched.last
    assert one.interval < len(steps) <= len(one.rows) < len(steps) + one.interval
    assert one.questions == len(one.rows) // one.interval + 1  # the first before the first step
    assert set(one.rows) == {9}


def test_law_a_search_gives_its_buffers_back_even_after_an_error(stirred, batch):
    model, own = stirred(22), StaticCaches()
    for _ in range(2):
        greedy_search(model, batch, decoder=own)
    kept = [*own.shelf.free.values()]
    greedy_search(model, batch, decoder=own)
    assert {id(slots) for slots in own.shelf.free.values()} == {id(slots) for slots in kept}
    with pytest.raises(ZeroDivisionError):
        generate(model, batch, lambda logits: logits[1 // 0], own)
    assert {id(slots) for slots in own.shelf.free.values()} == {id(slots) for slots in kept}


@pytest.mark.message
@pytest.mark.parametrize("beam_size", [1, 3])
def test_message_logits_are_nan_in_a_beam(stirred, batch, caches, beam_size):
    model = stirred(22)
    with torch.no_grad():
        model.embedding.weight[5] = torch.nan
    with pytest.raises(FloatingPointError, match="the probability 0 or NaN; its weights are damaged"):
        beam_search(model, batch, beam_size=beam_size, decoder=caches)
