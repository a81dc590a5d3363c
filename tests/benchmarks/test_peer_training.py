"""A peer with padded batches and recorded gradients learns what it learns without them."""

import copy
import dataclasses
import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from annotated_transformer.fast import recording
from annotated_transformer.fast.recording import power_of_2
from annotated_transformer.text.batching import Batch
from benchmarks.peer_training import Gradients, RecordedPeer, plain, rounded, with_few_shapes
from benchmarks.peers import Marian, TorchTransformer, comparable
from benchmarks.train import Work, card_groups, groups
from tests.replay import Replayed
from tests.synchronization import no_synchronization

PEERS: list[type[nn.Module]] = [TorchTransformer]
if importlib.util.find_spec("transformers"):
    PEERS.append(Marian)
WORK = Work(size="toy", batches=5, batch_tokens=251, pairs=71, seed=3)
ON_A_CARD = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine"),
]
# Without a compiler's backend, tracing alone takes half a minute; with the default one, it is minutes.
COMPILERS = [
    lambda function, dynamic: function,
    pytest.param(partial(torch.compile, backend="eager"), marks=pytest.mark.slow),
]
DEVICES = ["cpu", pytest.param("cuda", marks=ON_A_CARD)]

pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.fixture
def batches() -> list[Batch]:
    return WORK.make()


def peer(kind: type[nn.Module], device: str = "cpu") -> nn.Module:
    """Return a peer without dropout in float64."""
    torch.manual_seed(7)
    config = dataclasses.replace(comparable("toy"), dropout=0.0, num_layers=2)
    return kind(config).train().double().to(device)


def assert_same(found: Gradients, expected: Gradients, models: list[nn.Module], batches: list[Batch]) -> None:
    """Compare losses and gradients, twice: the second time, each shape has been recorded."""
    for batch in [*batches, *batches]:
        torch.testing.assert_close(found(batch), expected(batch), rtol=1e-9, atol=1e-11)
        gradients = [[p.grad for p in model.parameters() if p.requires_grad] for model in models]
        torch.testing.assert_close(*gradients, rtol=1e-8, atol=1e-10)
        assert max(float(gradient.abs().max()) for gradient in gradients[1]) > 1e-3


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", PEERS)
def test_oracle_recorded_gradients_are_those_of_the_plain_peer(kind: type[nn.Module], device: str, batches):
    model = peer(kind, device)
    there = copy.deepcopy(model)
    assert_same(RecordedPeer(there, bf16=False), plain(model, bf16=False), [there, model], batches)


@pytest.mark.parametrize("kind", PEERS)
def test_law_what_is_recorded_asks_the_card_for_nothing(kind: type[nn.Module], batches, monkeypatch):
    """In the tests, `Replayed` repeats the operations without Python, as a card does."""

    class Watched(Replayed):
        def _call(self) -> tuple[Tensor, ...]:
            with no_synchronization():
                return super()._call()

    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)  # Marian asks
    monkeypatch.setattr(recording, "Recorded", Watched)
    model = peer(kind)
    there = copy.deepcopy(model)
    assert_same(RecordedPeer(there, bf16=False), plain(model, bf16=False), [there, model], batches)


@pytest.mark.filterwarnings("ignore:PyTorch finds no AVX-512")  # bfloat16 is slow there, but right
@pytest.mark.filterwarnings("ignore:The .grad attribute")  # accessed by PyTorch's own tracing
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("group", range(len(card_groups(WORK))))
def test_law_each_contestant_of_a_card_can_do_a_round(group: int, compiler: Callable[..., Any], monkeypatch):
    compiled: list[object] = []

    def compile_(function: object, **options: bool) -> object:
        assert options == {"dynamic": True}
        compiled.append(function)
        return compiler(function, **options)

    monkeypatch.setattr(torch, "compile", compile_)
    for contestant in card_groups(WORK)[group]:
        if not contestant.missing():
            compiled.clear()
            do_round = contestant.prepare()
            assert do_round() == do_round() == sum(batch.num_labels for batch in WORK.make())
            assert bool(compiled) == ("compiled" in contestant.name)


def test_law_on_a_card_the_peers_are_compiled_and_recorded_in_bfloat16():
    found = [[each.name for each in group] for group in groups(dataclasses.replace(WORK, device="cuda"))]
    assert [len(group) for group in found] == [4, 7, 2, 2]
    names = dict.fromkeys(name for group in found for name in group)
    assert {name.removeprefix("torch.nn.Transformer") for name in names if name.startswith("torch")} == {
        ", float32",
        ", bfloat16",
        ", bfloat16, compiled",
        ", bfloat16, our shapes and graphs",
    }
    assert all("ours, fast, bfloat16" in group for group in found[1:])
    (on_cpu,) = groups(WORK)
    assert {each.name for each in on_cpu} < set(names)


def test_law_padding_adds_no_label_and_no_row_without_a_token(batches: list[Batch]):
    padded = [with_few_shapes(batch) for batch in batches]
    for before, after in zip(batches, padded, strict=True):
        rows, src_tokens = before.src.shape
        assert after.src.shape == (rounded(rows), rounded(src_tokens))
        assert after.labels.shape == (rounded(rows), rounded(before.labels.size(1)))
        assert torch.equal(after.src[:rows, :src_tokens], before.src)
        assert torch.equal(after.labels[:rows, : before.labels.size(1)], before.labels)
        assert after.num_labels == before.num_labels
        assert (after.src != after.pad_id).any(dim=1).all()
    for size in (len, lambda x: x.size(1)):
        assert any(size(b.src) < size(a.src) for b, a in zip(batches, padded, strict=True))


def test_law_rounding_adds_at_most_a_quarter_and_leaves_few_numbers():
    found = [rounded(number) for number in range(1, 1001)]
    assert found[:20] == [1, 2, 3, 4, 5, 6, 7, 8, 10, 10, 12, 12, 14, 14, 16, 16, 20, 20, 20, 20]
    assert all(number <= more <= 1.25 * number for number, more in enumerate(found, start=1))
    assert len(set(found)) < 40


def test_law_rounding_pads_a_fifth_where_powers_of_two_would_double_the_work():
    batches = Work("toy", batches=99, batch_tokens=2500, pairs=4000, seed=3, lengths=(28, 10)).make()
    fifth, double = (
        sum(up(len(batch.src)) * up(batch.labels.size(1)) for batch in batches)
        / sum(batch.num_labels for batch in batches)
        for up in (rounded, power_of_2)
    )
    assert fifth == pytest.approx(1.2, abs=0.05)
    assert double == pytest.approx(2, abs=0.1)
