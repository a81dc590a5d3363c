"""Training on a GPU, as far as a CPU can run it: sentences side by side give the losses of a padded batch."""

import copy
import dataclasses
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, fx

from annotated_transformer.fast import loss as fast_loss
from annotated_transformer.fast import packing, recording
from annotated_transformer.fast.compilation import compile_stacks
from annotated_transformer.fast.loss import PackedLoss, RecordedGradients, loss_without_waiting
from annotated_transformer.fast.packing import pack
from annotated_transformer.fast.recording import Recorded
from annotated_transformer.model.plain import NotPlain
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch, Pair, batch_of, make_batches
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID, PAD_ID
from annotated_transformer.training import loss as training_losses
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.loss import PlainLoss, label_smoothed_cross_entropy
from annotated_transformer.training.trainer import train
from tests.decoder_steps import KINDS
from tests.replay import Replayed
from tests.synchronization import no_synchronization

MakePairs = Callable[..., list[Pair]]
UNITS = [None, 8, 128]
# lengths of sources and targets with EOS: the shortest, the longest of the model, and others
LENGTHS = [(1, 1), (7, 3), (2, 12), (12, 1), (5, 5), (3, 9)]


@pytest.fixture
def batch() -> Batch:
    rng = torch.Generator().manual_seed(0)

    def words(length: int) -> list[int]:
        return [*torch.randint(3, 11, (length - 1,), generator=rng).tolist(), EOS_ID]

    pairs = [(words(src), [BOS_ID, *words(tgt)]) for src, tgt in LENGTHS]
    return batch_of(pairs, list(range(len(pairs))))


def loss_and_gradients(model: Transformer, loss: Callable[..., Tensor], batch: object) -> list[Tensor]:
    value = loss(batch)
    return [value.detach(), *torch.autograd.grad(value, list(model.parameters()))]


def gradients(model: Transformer) -> list[Tensor]:
    return [parameter.grad.clone() for parameter in model.parameters()]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_oracle_loss_and_gradients_are_those_of_a_padded_batch(stirred, batch: Batch, changes, unit):
    model = stirred(**changes, max_length=12, dropout=0.0)
    expected, found = (
        loss_and_gradients(model, kind(model, smoothing=0.1, bf16=False), given)
        for kind, given in ((PlainLoss, batch), (PackedLoss, pack(batch, unit=unit)))
    )
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
    assert max(gradient.abs().max() for gradient in found[1:]) > 1e-3


def test_oracle_in_half_precision_the_loss_is_close(stirred, batch: Batch):
    model = stirred(dropout=0.0).float()
    found = PackedLoss(model, smoothing=0.1, bf16=True)(batch).item()
    expected = PlainLoss(model, smoothing=0.1, bf16=True)(batch).item()
    assert found == pytest.approx(expected, rel=0.02)
    assert found != expected  # other products are rounded


@pytest.mark.parametrize("unit", UNITS)
def test_law_each_token_is_packed_once_in_the_order_of_the_batch(batch: Batch, unit: int | None):
    packed = pack(batch, unit=unit)
    for sequences, ids, lengths in (
        (packed.src, batch.src, [src for src, _ in LENGTHS]),
        (packed.tgt, batch.decoder_input, [tgt for _, tgt in LENGTHS]),
    ):
        total = sum(lengths)
        assert sequences.starts[: len(lengths) + 1].tolist() == [sum(lengths[:i]) for i in range(7)]
        rows = [ids[row, :length] for row, length in enumerate(lengths)]
        assert torch.equal(sequences.ids[:total], torch.cat(rows))
        assert len(sequences.ids) % (unit or packing.UNIT) == 0
        assert (sequences.ids[total:] == PAD_ID).all()
        assert sequences.starts[-1] == len(sequences.ids)
        expected = [*range(lengths[0]), *range(lengths[1])]
        assert sequences.positions[: len(expected)].tolist() == expected
        sizes = sequences.starts.diff()
        assert 0 <= sizes.min() <= sizes.max() <= sequences.longest
        assert torch.equal(sequences.mask[:, 0, 0].sum(dim=1), sizes.clamp(min=1))  # no query sees nothing
    assert torch.equal(packed.src.starts.diff() == 0, packed.tgt.starts.diff() == 0)  # none reads nothing
    assert packed.labels[: batch.num_labels].tolist() == batch.labels[batch.labels != PAD_ID].tolist()
    assert (packed.labels[batch.num_labels :] == PAD_ID).all()


def test_law_an_epoch_has_few_shapes_and_little_padding():
    """Sources of 28 ± 10 words, and targets that differ from them by about a tenth."""
    rng = torch.Generator().manual_seed(0)
    words = 28 + 10 * torch.randn(6_000, generator=rng)
    lengths = torch.stack([words, words * (1 + 0.1 * torch.randn(6_000, generator=rng))])
    lengths = lengths.round().clamp(2, 100).int().tolist()
    pairs = [([5] * src, [5] * (tgt + 1)) for src, tgt in zip(*lengths, strict=True)]
    batches = make_batches(pairs, batch_tokens=2048, generator=rng)
    packed = [pack(batch, unit=256) for batch in batches]
    assert len({one.shape() for one in packed}) < 40 < len(packed)
    real = sum(batch.num_labels for batch in batches)
    assert 0.9 < real / sum(len(one.labels) for one in packed) < 0.96


def test_law_a_batch_is_moved_once(batch: Batch):
    """On the device "meta", which stands for a GPU, nothing can be pinned, as on a GPU."""
    packed = pack(batch)
    there = packed.with_tensors(tuple(x.to("meta") for x in packed.tensors()))
    assert there.to(torch.device("meta")) is there
    assert packed.to(torch.device("cpu")) is packed


def by_sentence(
    query: Tensor, key: Tensor, value: Tensor, starts_q: Tensor, starts_k: Tensor, *longest, window_size
) -> Tensor:
    """Return what PyTorch's kernel for sequences of different lengths returns, on a CPU."""
    assert starts_q.dtype == starts_k.dtype == torch.int32
    assert (starts_q.diff().max(), starts_k.diff().max()) <= longest
    found = []
    for own, other in zip(starts_q.tolist()[:-1], starts_k.tolist()[:-1], strict=True):
        row = len(found)
        q, k, v = (
            x[start : int(starts[row + 1])].transpose(0, 1)
            for x, start, starts in (
                (query, own, starts_q),
                (key, other, starts_k),
                (value, other, starts_k),
            )
        )
        causal = {(-1, 0): True, (-1, -1): False}[window_size]
        found.append(F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(0, 1))
    return torch.cat(found)


def test_oracle_the_kernel_for_different_lengths_is_asked_for_the_same_attention(
    stirred, batch: Batch, monkeypatch: pytest.MonkeyPatch
):
    model = stirred(dropout=0.0)
    loss, packed = PackedLoss(model, smoothing=0.1, bf16=False), pack(batch)
    expected = loss_and_gradients(model, loss, packed)
    monkeypatch.setattr(packing, "_has_kernel", lambda *_: True)
    monkeypatch.setattr(packing, "KERNEL", by_sentence)
    found = loss_and_gradients(model, loss, packed)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("padding", [0, 5])
def test_oracle_large_chunks_give_the_loss_of_all_logits(monkeypatch: pytest.MonkeyPatch, padding: int):
    monkeypatch.setattr(fast_loss, "LARGE_ROWS", 4)
    rng = torch.Generator().manual_seed(0)
    hidden = torch.randn(11 + padding, 7, generator=rng, dtype=torch.float64).requires_grad_()
    weight = torch.randn(13, 7, generator=rng, dtype=torch.float64).requires_grad_()
    labels = F.pad(torch.randint(1, 13, (11,), generator=rng), (0, padding), value=PAD_ID)
    found = loss_without_waiting(hidden, weight, labels, smoothing=0.2, pad_id=PAD_ID, dtype=torch.float64)
    logits = hidden @ weight.T
    expected = label_smoothed_cross_entropy(logits, labels, smoothing=0.2, pad_id=PAD_ID)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    ours, theirs = (torch.autograd.grad(3 * loss, (hidden, weight)) for loss in (found, expected))
    torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-14)


def test_law_forward_and_backward_pass_do_not_wait_for_the_gpu(stirred, batch: Batch):
    model = stirred(output_bias=True, norm="pre")
    loss, packed = PackedLoss(model, smoothing=0.1, bf16=False), pack(batch)
    with no_synchronization():
        loss(packed).backward()
    assert model.embedding.weight.grad.abs().max() > 0


def test_oracle_recordings_add_up_the_gradients_of_all_batches(stirred, copy_pairs: MakePairs):
    """On a CPU, the recorded function is called, but with its inputs in the same memory each time."""
    model = stirred(vocab_size=17, dropout=0.0)
    batches = make_batches(copy_pairs(43), batch_tokens=101)
    recorded = RecordedGradients(PackedLoss(model, smoothing=0.1, bf16=False), unit=16)
    memory = [gradient.data_ptr() for gradient in recorded.gradients]
    for parts in (batches, batches[::-1]):
        model.zero_grad()
        shares = [recorded(part, 0.1 * i).item() for i, part in enumerate(parts)]
        found = [parameter.grad.clone() for parameter in model.parameters()]
        model.zero_grad()
        losses = [PlainLoss(model, smoothing=0.1, bf16=False)(part) for part in parts]
        sum(0.1 * i * loss for i, loss in enumerate(losses)).backward()
        expected = [parameter.grad for parameter in model.parameters()]
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
        assert shares == pytest.approx([0.1 * i * loss.item() for i, loss in enumerate(losses)])
        assert [gradient.data_ptr() for gradient in recorded.gradients] == memory
    assert 1 < len(recorded.recorded.recorded) <= len(batches)


@pytest.mark.parametrize("kind", [Recorded, Replayed])
def test_law_recordings_change_no_draw_of_dropout_and_no_gradient(
    stirred, copy_pairs: MakePairs, monkeypatch: pytest.MonkeyPatch, kind: type[Recorded]
):
    """Called, recorded, or replayed: each batch counts once."""
    monkeypatch.setattr(recording, "Recorded", kind)
    model = stirred(vocab_size=17, dropout=0.3)
    batches = make_batches(copy_pairs(43), batch_tokens=101)
    loss = PackedLoss(model, smoothing=0.1, bf16=False)
    recorded = RecordedGradients(loss, unit=16)
    torch.manual_seed(0)
    found = [(recorded(batch, 0.5).item(), gradients(model)) for batch in batches * 3]
    state = torch.get_rng_state()
    model.zero_grad()
    torch.manual_seed(0)
    for (share, ours), batch in zip(found, batches * 3, strict=True):
        expected = 0.5 * loss(pack(batch, unit=16))
        expected.backward()
        assert share == expected.item()
        torch.testing.assert_close(ours, gradients(model), rtol=1e-12, atol=1e-15)
    assert torch.equal(torch.get_rng_state(), state)
    assert len({share for share, _ in found}) == len(found)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("accumulate", [1, 3])
def test_oracle_a_run_as_on_a_gpu_has_the_weights_of_a_plain_one(
    make_model, copy_pairs: MakePairs, monkeypatch: pytest.MonkeyPatch, accumulate: int
):
    config = TrainingConfig(
        steps=4, batch_tokens=101, warmup_steps=3, max_lr=1e-2, clip_norm=0.5, accumulate=accumulate
    )
    monkeypatch.setitem(training_losses.FAST, "cpu", PackedLoss)
    found = []
    for fast in (False, True):
        model, rng = make_model(dropout=0.0).double(), torch.Generator().manual_seed(0)
        reports = train(model, copy_pairs(43), dataclasses.replace(config, fast=fast), generator=rng)
        found.append(
            [model.state_dict(), torch.tensor([[r.training_loss, r.gradient_norm] for r in reports])]
        )
    torch.testing.assert_close(*found, rtol=1e-7, atol=1e-9)


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # accessed by PyTorch's own tracing
@pytest.mark.message  # the shape checker's code cannot be captured
def test_oracle_compiled_layers_give_the_same_loss_and_are_captured_once(
    stirred, batch: Batch, captured: list[fx.GraphModule]
):
    model = stirred(num_layers=3, dropout=0.0)
    plain, given = PackedLoss(model, smoothing=0.1, bf16=False), [pack(batch, unit=unit) for unit in UNITS]
    expected = [loss_and_gradients(model, plain, packed) for packed in given]
    compile_stacks(model)
    compiled = PackedLoss(model, smoothing=0.1, bf16=False)
    found = [loss_and_gradients(model, compiled, packed) for packed in given]
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
    assert 2 <= len(captured) <= 4  # for 6 layers, and 3 shapes


@pytest.mark.message
@pytest.mark.parametrize("part", ["encoder.layers.0", "decoder.layers.1.cross_attention", "positions"])
def test_message_a_part_that_would_not_be_called(make_model, part: str):
    model = make_model(num_layers=2)
    model.get_submodule(part).register_forward_hook(lambda *_: None)
    message = rf"^{part} has hooks, which training with fast=True on this device would not call; remove that,"
    with pytest.raises(NotPlain, match=message + " or train with fast=False$"):
        PackedLoss(model, smoothing=0.1, bf16=False)


@pytest.mark.message
def test_message_an_encoder_of_ones_own(make_model):
    class Own(Transformer):
        def encode(self, src: Tensor, src_mask: Tensor | None = None) -> Tensor:
            return 2 * super().encode(src, src_mask)

    with pytest.raises(NotPlain, match=r"^model overrides encode, which training with fast=True on this dev"):
        PackedLoss(Own(make_model().config), smoothing=0.1, bf16=False)


def test_law_the_model_is_not_changed(make_model, batch: Batch):
    model = make_model()
    before = copy.deepcopy(model.state_dict())
    PackedLoss(model, smoothing=0.1, bf16=False)(batch)
    assert all(map(torch.equal, model.state_dict().values(), before.values()))
