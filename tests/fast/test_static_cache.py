"""The cache of fixed size: batches share buffers and recorded steps, and notice what changed in the model."""

import copy
import pickle
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from annotated_transformer.decoding.kv_cache import KeyValueCache
from annotated_transformer.fast import static_buffers, static_cache
from annotated_transformer.fast.recording import Recorded
from annotated_transformer.fast.static_buffers import Sizes, Slots
from annotated_transformer.fast.static_cache import StaticCaches
from annotated_transformer.model.inference import encode_sources, evaluating
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import pad
from tests.decoder_steps import KINDS, Operations, decode, some_targets
from tests.replay import Replayed
from tests.synchronization import no_synchronization

SRC = torch.tensor([[4, 5, 2]])


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Sizes]:
    """Return the sizes of all buffers that are made."""
    made: list[Sizes] = []
    init = Slots.__init__

    def count(self: Slots, decoder: object, sizes: Sizes) -> None:
        made.append(sizes)
        init(self, decoder, sizes)

    monkeypatch.setattr(Slots, "__init__", count)
    return made


@pytest.mark.parametrize(("rows", "longest"), [(1, 16), (5, 17), (8, 33)])
def test_oracle_longer_sources_and_targets_move_to_larger_buffers(stirred, made, rows, longest):
    model = stirred(max_length=151)
    rng = torch.Generator().manual_seed(0)
    src = pad(
        [[*torch.randint(3, 11, (longest - row,), generator=rng).tolist(), 2] for row in range(1, rows + 1)]
    )
    tgt = torch.randint(3, 11, (rows, 130), generator=rng)
    expected = model.eval()(src, tgt)
    torch.testing.assert_close(decode(StaticCaches(), model, src, tgt), expected, rtol=0, atol=1e-10)
    room = {1: 1, 5: 8, 8: 8}[rows], 1, {16: 16, 17: 32, 33: 64}[longest]
    assert made == [(*room, tokens) for tokens in (32, 64, 128, 256)]


def test_law_a_step_and_a_selection_do_not_wait_for_the_device(stirred: Callable[..., Transformer], sources):
    model, tgt = stirred(), some_targets(len(sources))
    rows = torch.tensor([4, 4, 0, 1, 2])
    with evaluating(model):
        targets = StaticCaches()(model, pad(sources))
        with no_synchronization():
            for tokens in tgt[:, :7].unbind(1):
                targets.step(tokens)
            targets.select(rows)
            found = targets.step(tgt[:, 7])
            targets.select(rows[:2])
    expected = model.eval()(pad(sources)[rows], torch.cat([tgt[rows, :7], tgt[:, 7:8]], dim=1))[:, -1]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", [Recorded, Replayed])
def test_law_the_targets_of_a_beam_share_their_source(stirred, sources, monkeypatch, kind: type[Recorded]):
    monkeypatch.setattr(static_buffers, "Recorded", kind)
    model, src, beam = stirred(max_length=71), pad(sources), 3
    tgt = some_targets(beam * len(src)).repeat(1, 2)  # too long for the smallest buffers
    rows = torch.arange(len(tgt)).unflatten(0, (-1, beam)).flip(1).flatten()  # each within its beam
    with evaluating(model):
        targets = StaticCaches()(model, src)
        targets.widen(beam)
        with no_synchronization():
            for tokens in tgt[:, :-1].unbind(1):
                targets.step(tokens)
                targets.select(rows)
            found = targets.step(tgt[:, -1])
        assert targets.slots.sizes == (8, beam, 16, 64)
        assert len(targets.slots.buffers.memory) == 8
        moved = torch.arange(tgt.size(1)).flip(0) % 2 == 1  # once for each later token
        turned = torch.where(moved, tgt[rows], tgt)
        expected = model(src.repeat_interleave(beam, dim=0), turned)[:, -1]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    assert (found[0] - found[1]).abs().max() > 1e-3


def test_law_a_beam_of_1_moves_nothing(stirred: Callable[..., Transformer], sources):
    with evaluating(model := stirred()):
        targets = StaticCaches()(model, pad(sources))
        targets.widen(1)
        rows = torch.arange(len(sources))
        targets.step(rows)
        with Operations() as operations:
            targets.select(rows)
    assert operations.count == 0


@pytest.mark.message
def test_message_a_beam_keeps_its_size(stirred: Callable[..., Transformer], sources):
    with evaluating(model := stirred()):
        targets = StaticCaches()(model, pad(sources))
        targets.widen(2)
        sentence = (
            f"^7 rows were selected, and there are {2 * len(sources)} in beams of 2; select as many, each"
        )
        with pytest.raises(ValueError, match=sentence):
            targets.select(torch.arange(7))


@pytest.mark.parametrize("kind", [Recorded, Replayed])
@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_oracle_batches_of_a_similar_size_share_a_recorded_encoding(
    stirred, made, monkeypatch, kind: type[Recorded], changes: dict[str, object]
):
    """Padding ends beyond the last position of the model."""
    monkeypatch.setattr(static_buffers, "Recorded", kind)
    model, caches, rng = stirred(max_length=20, **changes), StaticCaches(), torch.Generator().manual_seed(0)
    for lengths in ([19, 3, 20], [17, 18, 19, 20], [1, 18, 4], [20, 20, 20, 1]):
        src = pad([[*torch.randint(3, 11, (n - 1,), generator=rng).tolist(), 2] for n in lengths])
        with evaluating(model):
            targets = caches(model, src)
            memory, src_mask = encode_sources(model, src)
            for layer, (_, own) in zip(
                caches.shelf.decoder.layers, targets.slots.buffers.layers, strict=True
            ):
                found = own.keys, own.values
                for buffer, expected in zip(found, layer.project(memory, src_mask[:, 0]), strict=True):
                    assert buffer.isfinite().all()
                    actual = buffer[: len(src), :, : src.size(1)]
                    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-10)
            targets.close()
    assert made == [(4, 1, 32, 32)]


def test_law_a_recorded_encoding_does_not_wait_for_the_device(stirred, sources):
    with evaluating(model := stirred()), torch.inference_mode():
        src, caches = pad(sources), StaticCaches()
        targets = caches(model, src)
        with no_synchronization():
            targets.slots.encode(caches.shelf.encoder, src)


def test_law_an_encoder_that_is_not_plain_is_called_for_each_batch(stirred, made, monkeypatch):
    monkeypatch.setattr(static_buffers, "Recorded", Replayed)
    model, caches, calls = stirred(), StaticCaches(), []
    model.encoder.register_forward_hook(lambda module, x, memory: calls.append(memory.shape))
    for number in range(4):
        model.encoder.number = number  # would count as a change of a plain encoder
        with evaluating(model):
            caches(model, SRC).close()
    assert [shape[:2] for shape in calls] == [SRC.shape] * 4
    assert len(made) == 1


@pytest.mark.message
@pytest.mark.parametrize(
    ("src", "error", "sentence"),
    [
        (torch.tensor([[4, 5], [11, 2]]), ValueError, "token ids 2 to 11 do not fit a vocabulary of 11"),
        (torch.full((1, 29), 4), ValueError, "a sequence of 29 tokens is longer than the 23 positions"),
        (torch.tensor([4, 2]), ValueError, r"source ids have shape \(2,\); give \(batch, tokens\)"),
        ([[4, 2]], TypeError, "source ids are of type list; give a tensor of torch.int64"),
    ],
)
def test_message_sources_that_cannot_be_encoded(stirred, src: object, error: type[Exception], sentence: str):
    with evaluating(model := stirred()), pytest.raises(error, match=sentence):
        StaticCaches()(model, src)


def test_law_batches_share_buffers_and_logits_stay_what_they_were(stirred, made, sources):
    model, caches = stirred(max_length=71), StaticCaches()
    tgt = some_targets(len(sources)).repeat(1, 2)  # too long for the smallest buffers
    with evaluating(model):
        for src in (pad(sources), pad(sources[::-1])):
            targets = caches(model, src)
            found = torch.stack([targets.step(tokens) for tokens in tgt.unbind(1)], dim=1)
            torch.testing.assert_close(found, model(src, tgt), rtol=0, atol=1e-10)
            targets.close()
        both = [caches(model, pad(sources)) for _ in range(2)]  # as in two threads
        assert both[0].slots is not both[1].slots
    assert made == [(8, 1, 16, 32), (8, 1, 16, 64), (8, 1, 16, 32)]


def test_law_only_some_buffers_are_kept(stirred, made, monkeypatch):
    monkeypatch.setattr(static_cache, "KEPT", 2)
    model, caches = stirred(), StaticCaches()
    with evaluating(model):
        for rows in (1, 2, 4, 2, 1):
            caches(model, SRC.expand(rows, -1)).close()
    assert [rows for rows, *_ in made] == [1, 2, 4, 1]


CHANGES: dict[str, tuple[Callable[[Transformer], object], bool]] = {  # and whether buffers are made again
    "nothing": (lambda model: None, False),
    "a weight, in place": (
        lambda model: model.decoder.layers[0].feed_forward.expand.weight.data.neg_(),
        False,
    ),
    "a concatenated weight": (
        lambda model: model.decoder.layers[1].self_attention.to_key.weight.data.neg_(),
        False,
    ),
    "a weight of the memory": (
        lambda model: model.decoder.layers[0].cross_attention.to_value.weight.data.neg_(),
        False,
    ),
    "a concatenated bias": (
        lambda model: model.decoder.layers[1].self_attention.to_value.bias.data.add_(1.0),
        False,
    ),
    "the output": (lambda model: model.output.weight.data.neg_(), False),
    "the encoder": (lambda model: model.encoder.layers[0].feed_forward.expand.weight.data.neg_(), False),
    "a hook on the encoder": (lambda model: model.encoder.register_forward_hook(lambda m, x, y: -y), True),
    "a module of the encoder": (
        lambda model: setattr(model.encoder.layers[0].feed_forward, "activation", torch.nn.SiLU()),
        True,
    ),
    "a weight of the encoder, elsewhere": (
        lambda model: setattr(
            (weight := model.encoder.layers[1].feed_forward.expand.weight), "data", -weight.data
        ),
        True,
    ),
    "a weight, elsewhere": (
        lambda model: setattr(model.embedding.weight, "data", -model.embedding.weight.data),
        True,
    ),
    "a parameter": (
        lambda model: setattr(model.output, "weight", torch.nn.Parameter(-model.output.weight)),
        True,
    ),
    "a module": (
        lambda model: setattr(model.decoder.layers[0].feed_forward, "activation", torch.nn.SiLU()),
        True,
    ),
    "a setting": (lambda model: setattr(model.decoder.layers[0].add_norm_1.norm, "eps", 1.0), True),
    "the number of layers": (
        lambda model: model.decoder.layers.append(copy.deepcopy(model.decoder.layers[0])),
        True,
    ),
    "another type": (lambda model: model.float(), True),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("recorded", [Recorded, Replayed])
@pytest.mark.parametrize(("change", "again"), CHANGES.values(), ids=CHANGES)
def test_law_what_changes_between_batches_counts_in_the_next(
    stirred, made, monkeypatch, change, again, recorded
):
    monkeypatch.setattr(static_buffers, "Recorded", recorded)
    model, caches = stirred(tied_output=False, attention_bias=True), StaticCaches()
    tgt = some_targets(1)

    def logits() -> Tensor:
        with evaluating(model):
            targets = caches(model, SRC)
            found = torch.stack([targets.step(tokens) for tokens in tgt.unbind(1)], dim=1)
            targets.close()
            return found

    before = [logits() for _ in range(3)][-1]  # called, recorded, and replayed
    change(model)
    after = logits()
    tolerance = 1e-10 if after.dtype == torch.float64 else 1e-3
    torch.testing.assert_close(after, decode(KeyValueCache, model, SRC, tgt), rtol=0, atol=tolerance)
    assert len(made) == 1 + again
    assert torch.equal(before, after) == (change is CHANGES["nothing"][0])


def test_law_nan_of_an_earlier_batch_is_gone(stirred: Callable[..., Transformer]):
    model, caches, tgt = stirred(max_length=71), StaticCaches(), some_targets(1).repeat(1, 2)
    healthy = copy.deepcopy(model.state_dict())
    for value in (torch.nan, None):
        with torch.no_grad():
            model.load_state_dict(healthy)
            if value is not None:
                model.embedding.weight.fill_(value)
        with evaluating(model):
            targets = caches(model, SRC.expand(3, -1))
            found = torch.stack([targets.step(tokens.expand(3)) for tokens in tgt.unbind(1)], dim=1)
            targets.close()
        assert found.isnan().all() == (value is not None)
    torch.testing.assert_close(found[:1], model.eval()(SRC, tgt), rtol=0, atol=1e-10)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_law_a_copy_has_recorded_nothing(stirred: Callable[..., Transformer], copied):
    caches = StaticCaches()
    decode(caches, stirred(), SRC, some_targets(1))
    assert caches.parts is not None
    assert copied(caches).parts is None
