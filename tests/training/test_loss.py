"""The loss, in training and validation: PyTorch's values and gradients, closed forms, and bf16."""

import dataclasses
import math
from contextlib import nullcontext

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.fast import training as fast_training
from annotated_transformer.model.loss import label_smoothed_cross_entropy
from annotated_transformer.text.batching import make_batches
from annotated_transformer.text.tokenizer import PAD_ID
from annotated_transformer.training.distributed import ProcessGroup
from annotated_transformer.training.loss import mean_loss
from annotated_transformer.training.trainer import train, training_loss
from tests.small_training import BRIEF, model, rng

BATCH, TOKENS, VOCAB = 3, 5, 11


@pytest.fixture
def logits() -> torch.Tensor:
    rng = torch.Generator().manual_seed(0)
    return 3 * torch.randn(BATCH, TOKENS, VOCAB, generator=rng, dtype=torch.float64)


@pytest.fixture
def labels() -> torch.Tensor:
    labels = torch.randint(1, VOCAB, (BATCH, TOKENS), generator=torch.Generator().manual_seed(1))
    labels[0, 3:], labels[2, 1:] = PAD_ID, PAD_ID
    return labels


@pytest.mark.equation("eq-cross-entropy", "eq-smoothed-loss")
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_oracle_values_and_gradients_are_those_of_pytorch_with_smoothed_targets(logits, labels, smoothing):
    ours, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    loss = label_smoothed_cross_entropy(ours, labels, smoothing=smoothing, pad_id=PAD_ID)
    real = labels != PAD_ID
    targets = (1 - smoothing) * F.one_hot(labels[real], VOCAB).double() + smoothing / VOCAB
    expected = F.cross_entropy(theirs[real], targets)
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=1e-12)
    loss.backward()
    expected.backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-12, atol=1e-12)


@pytest.mark.equation("eq-perplexity")
def test_law_perplexity_is_the_inverse_geometric_mean_and_that_of_a_guess_is_the_vocabulary(logits, labels):
    loss = label_smoothed_cross_entropy(logits, labels, smoothing=0.0, pad_id=PAD_ID)
    real = labels != PAD_ID
    probabilities = logits[real].softmax(-1)[torch.arange(len(labels[real])), labels[real]]
    assert math.exp(loss) == pytest.approx(probabilities.prod().item() ** (-1 / len(probabilities)))
    guess = label_smoothed_cross_entropy(0 * logits, labels, smoothing=0.0, pad_id=PAD_ID)
    assert math.exp(guess) == pytest.approx(VOCAB)


@pytest.mark.equation("eq-smoothed-optimum")
@pytest.mark.parametrize("smoothing", [0.1, 0.5])
def test_law_the_loss_is_smallest_at_the_closed_forms(smoothing: float):
    """The loss is convex, so it is smallest where its gradient is zero."""
    best, other = 1 - smoothing + smoothing / VOCAB, smoothing / VOCAB
    logits = torch.zeros(1, VOCAB, dtype=torch.float64)
    logits[0, 4] = math.log(best / other)
    assert logits.requires_grad_().softmax(-1)[0, 4].item() == pytest.approx(best)
    loss = label_smoothed_cross_entropy(logits, torch.tensor([4]), smoothing=smoothing, pad_id=PAD_ID)
    assert loss.item() == pytest.approx(-best * math.log(best) - (VOCAB - 1) * other * math.log(other))
    loss.backward()
    assert logits.grad.abs().max() < 1e-15


def test_law_half_precision_logits_are_summed_in_float32(logits: torch.Tensor, labels: torch.Tensor):
    half = logits.to(torch.bfloat16)
    ours = label_smoothed_cross_entropy(half, labels, smoothing=0.1, pad_id=PAD_ID)
    assert ours.dtype == torch.float32
    assert ours == label_smoothed_cross_entropy(half.float(), labels, smoothing=0.1, pad_id=PAD_ID)


def test_law_huge_logits_stay_finite(labels: torch.Tensor):
    logits = torch.full((BATCH, TOKENS, VOCAB), -1e4)
    logits[..., 3] = 1e4
    assert label_smoothed_cross_entropy(logits, labels, smoothing=0.1, pad_id=PAD_ID).isfinite()


@pytest.mark.message
def test_message_only_padding_and_smoothing_out_of_range(logits: torch.Tensor, labels: torch.Tensor):
    with pytest.raises(ValueError, match=r"all 15 labels are padding \(pad_id=0\); give at least one other"):
        label_smoothed_cross_entropy(logits, torch.zeros_like(labels), smoothing=0.1, pad_id=PAD_ID)
    for smoothing in (-0.1, 1.0):
        with pytest.raises(ValueError, match=f"smoothing={smoothing} is not a probability; give 0 ≤ "):
            label_smoothed_cross_entropy(logits, labels, smoothing=smoothing, pad_id=PAD_ID)


def test_law_dropout_is_on_in_training_and_off_in_validation(loss_of, copy_pairs):
    one = model(dropout=0.5)
    pairs = copy_pairs(5, seed=0)
    batches = make_batches(pairs, batch_tokens=53)
    assert mean_loss(one, batches) == mean_loss(one, batches)
    assert one.training
    assert loss_of(one, batches[0], BRIEF) != loss_of(one, batches[0], BRIEF)


def test_oracle_the_validation_loss_is_pytorchs_cross_entropy_over_all_labels(copy_pairs):
    one, pairs = model(), copy_pairs(29, seed=0)
    (batch,) = make_batches(pairs, batch_tokens=10_007)
    logits = one.eval()(batch.src, batch.decoder_input).flatten(0, 1)
    expected = F.cross_entropy(logits, batch.labels.flatten(), ignore_index=PAD_ID).item()
    apart = make_batches(pairs, batch_tokens=31)
    assert mean_loss(one, apart) == pytest.approx(expected, rel=1e-5)
    unweighted = sum(mean_loss(one, [batch]) for batch in apart) / len(apart)
    assert unweighted != pytest.approx(expected, rel=1e-5)


@pytest.mark.message
def test_message_a_batch_padded_for_another_model(loss_of, copy_pairs):
    (batch, *_) = make_batches(copy_pairs(5), batch_tokens=101)
    message = "the batch is padded with 0, and the model has pad_id=5; give make_batches that pad_id"
    for compute in (lambda net: loss_of(net, batch, BRIEF), lambda net: mean_loss(net, [batch])):
        with pytest.raises(ValueError, match=message):
            compute(model(pad_id=5))


@pytest.mark.filterwarnings("ignore:PyTorch finds no AVX-512")
def test_law_bf16_rounds_the_products_but_not_the_loss_or_the_weights(loss_of, copy_pairs):
    one, pairs = model(), copy_pairs(97, seed=0)
    (batch,) = make_batches(pairs, batch_tokens=1009)
    rounded, exact = (loss_of(one, batch, dataclasses.replace(BRIEF, bf16=bf16)) for bf16 in (True, False))
    assert rounded.dtype == torch.float32
    assert rounded.item() != exact.item()
    assert rounded.item() == pytest.approx(exact.item(), rel=0.01)
    reports = train(one, pairs, dataclasses.replace(BRIEF, bf16=True), generator=rng())
    assert math.isfinite(reports[-1].training_loss)
    assert {parameter.dtype for parameter in one.parameters()} == {torch.float32}


@pytest.mark.message
@pytest.mark.parametrize(
    ("capability", "bf16", "device", "emulated"),
    [
        ("AVX2", True, "cpu", True),
        ("AVX2", False, "cpu", False),
        ("AVX512", True, "cpu", False),
        ("AVX2", True, "meta", False),
    ],
)
def test_message_the_cpu_emulates_bf16(monkeypatch, capability, bf16, device, emulated):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    words = "finds no AVX-512 .* emulates bfloat16, .* ten times as long as in float32; leave out bf16=True"
    expected = pytest.warns(UserWarning, match=words) if emulated else nullcontext()  # others are errors
    config = dataclasses.replace(BRIEF, bf16=bf16)
    with expected, training_loss(model().to(device), config, ProcessGroup()):
        pass


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("changes", [{}, {"output_bias": True}, {"tied_output": False}], ids=str)
def test_oracle_loss_and_gradients_are_pytorchs_on_both_paths(loss_of, copy_pairs, changes, smoothing: float):
    """Without dropout, because the two paths draw different masks."""
    one, batch = model(**changes).double(), make_batches(copy_pairs(43), batch_tokens=1009)[0]
    assert (batch.labels == PAD_ID).any()
    if one.output_bias is not None:
        torch.nn.init.normal_(one.output_bias, generator=rng())
    flat = one(batch.src, batch.decoder_input).flatten(0, 1), batch.labels.flatten()
    config = dataclasses.replace(BRIEF, label_smoothing=smoothing)
    expected, *both = (
        [loss, *torch.autograd.grad(loss, [*one.parameters()])]
        for loss in (
            F.cross_entropy(*flat, ignore_index=PAD_ID, label_smoothing=smoothing),
            loss_of(one, batch, config),
            loss_of(one, batch, dataclasses.replace(config, fast=True)),
        )
    )
    for computed in both:
        torch.testing.assert_close(computed, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("fast", [False, True])
def test_law_only_the_fast_path_keeps_freed_memory(monkeypatch, fast: bool):
    called: list[None] = []
    monkeypatch.setattr(fast_training, "keep_freed_memory", lambda: called.append(None))
    with training_loss(model(), dataclasses.replace(BRIEF, fast=fast), ProcessGroup()):
        assert len(called) == fast
