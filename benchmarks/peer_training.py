"""The gradients of a peer: as PyTorch's tutorials compute them, compiled, or recorded as ours are.

Nobody has recorded a peer on a card yet; on a CPU, `Recorded` only calls the function again.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Protocol

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.fast.recording import RecordedByShape, power_of_2
from annotated_transformer.text.batching import Batch
from annotated_transformer.text.tokenizer import EOS_ID, PAD_ID

SMOOTHING = 0.1
Gradients = Callable[[Batch], Float[Tensor, ""]]


class MakeGradients(Protocol):
    """Returns a function that gives a peer the gradients of a batch, and returns its loss."""

    def __call__(self, model: nn.Module, *, bf16: bool) -> Gradients:
        """Return the function for this model."""


def loss_of(model: nn.Module, batch: Batch, *, bf16: bool) -> Float[Tensor, ""]:
    """Return the loss of a peer; `bf16` computes matrix products in bfloat16."""
    with torch.autocast(batch.src.device.type, torch.bfloat16, enabled=bf16):
        logits = model(batch.src, batch.decoder_input)
        labels = batch.labels.flatten()
        return F.cross_entropy(
            logits.flatten(0, 1), labels, ignore_index=PAD_ID, label_smoothing=SMOOTHING
        )  # fmt: skip


def plain(model: nn.Module, *, bf16: bool) -> Gradients:
    """Return what PyTorch's tutorials do."""
    device = next(model.parameters()).device

    def compute(batch: Batch) -> Tensor:
        model.zero_grad()
        loss = loss_of(model, batch.to(device), bf16=bf16)
        loss.backward()
        return loss.detach()

    return compute


def compiled(model: nn.Module, *, bf16: bool) -> Gradients:
    """Return the same for a model that is compiled for all lengths."""
    return plain(torch.compile(model, dynamic=True), bf16=bf16)  # type: ignore[arg-type, unused-ignore]


class RecordedPeer:
    """Compute the gradients of a padded batch, with one recording for each shape.

    A gradient keeps its memory, which the recordings write to: let the optimizer step, and never set it to
    None.
    """

    def __init__(self, model: nn.Module, *, bf16: bool) -> None:
        """Record nothing yet."""
        self.model, self.bf16 = model, bf16
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.gradients = [torch.zeros_like(parameter) for parameter in parameters]
        for parameter, gradient in zip(parameters, self.gradients, strict=True):
            parameter.grad = gradient
        self.recorded = RecordedByShape(self.gradients[0].device)

    def __call__(self, batch: Batch) -> Float[Tensor, ""]:
        """Return the loss, which the next call may overwrite."""
        padded = with_few_shapes(batch)
        inputs = padded.src, padded.tgt
        shape = tuple(x.shape for x in inputs)
        (loss,) = self.recorded(shape, partial(self._compute, padded), inputs)
        return loss

    def _compute(self, batch: Batch, src: Tensor, tgt: Tensor) -> tuple[Tensor]:
        torch._foreach_zero_(self.gradients)
        loss = loss_of(self.model, replace(batch, src=src, tgt=tgt), bf16=self.bf16)
        loss.backward()
        return (loss,)


def with_few_shapes(batch: Batch) -> Batch:
    """Return the batch with more rows and columns of padding: numbers of each that are `rounded`.

    Rounding to powers of two, as for our rows of tokens, would double the work here, because each row is as
    long as the longest.
    """
    rows, src_tokens = batch.src.shape
    labels = batch.labels.size(1)
    more, wider, longer = (rounded(number) - number for number in (rows, src_tokens, labels))
    src = F.pad(batch.src, (0, wider, 0, more), value=batch.pad_id)
    src[rows:, 0] = EOS_ID  # a row that attends to nothing may become NaN
    return replace(batch, src=src, tgt=F.pad(batch.tgt, (0, longer, 0, more), value=batch.pad_id))


def rounded(number: int) -> int:
    """Return a number of at most three binary digits and zeros behind them: 7, 8, 10, 12, 14, 16, 20, …"""
    step = max(power_of_2(number) // 8, 1)
    return -(-number // step) * step
