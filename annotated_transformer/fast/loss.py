"""The loss over a large vocabulary, computed in chunks of tokens: the chapter on training.

The logits of a batch are by far its largest tensor: 4096 tokens × 10,000 classes take 164 MB, and
their softmax and its gradient as much again. Here, only one chunk of logits exists at a time, because
allocating new pages of memory takes longer than computing their content.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.fast.linear import onednn_linear
from annotated_transformer.fast.packed_model import PackedModel
from annotated_transformer.fast.packing import PackedBatch, pack
from annotated_transformer.fast.recording import RecordedByShape
from annotated_transformer.model.embeddings import TokenEmbedding
from annotated_transformer.model.plain import NotPlain, changes, overridden, unwrap
from annotated_transformer.model.transformer import Transformer

ROWS = 256  # tokens per chunk; with fewer, adding up the gradient of the weight takes longer
LARGE_ROWS = 4096  # on a GPU, where a chunk of logits need not fit into a cache


def loss_in_chunks(
    hidden: Float[Tensor, "tokens d_model"],
    weight: Float[Tensor, "vocab d_model"],
    labels: Int[Tensor, " tokens"],
    *,
    smoothing: float,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, ""]:
    r"""Return the loss of the logits $hE^\top$, as `PlainLoss` computes it.

    The forward pass also computes the gradients chunk by chunk, while it has the logits; the backward pass
    only scales them. Matrix products are computed in `dtype`. Labels must not contain padding.
    """
    total: Tensor = _Chunks.apply(  # type: ignore[no-untyped-call, unused-ignore]
        hidden, weight, labels, smoothing, dtype
    )
    return total * (1 / len(labels))


class _SumOfLosses(torch.autograd.Function):
    """A sum whose forward pass has saved the gradients of hidden states and weight, too."""

    @staticmethod
    def backward(  # type: ignore[no-untyped-def]
        ctx, grad: Tensor
    ) -> tuple[Tensor | None, ...]:
        grad_hidden, grad_weight = ctx.saved_tensors
        others = [None] * (len(ctx.needs_input_grad) - 2)
        return grad * grad_hidden, grad * grad_weight, *others


class _Chunks(_SumOfLosses):
    @staticmethod
    def forward(  # type: ignore[no-untyped-def]
        ctx,
        hidden: Tensor,
        weight: Tensor,
        labels: Tensor,
        smoothing: float,
        dtype: torch.dtype,
    ) -> Tensor:
        h, w = hidden.detach().to(dtype), weight.detach().to(dtype)
        exact = torch.promote_types(dtype, torch.float32)
        product, part = w.new_empty(ROWS, len(w)), torch.empty_like(w)
        chunk, exact_part = torch.empty_like(product, dtype=exact), torch.empty_like(part, dtype=exact)
        grad_hidden, grad_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        total = torch.zeros((), dtype=exact, device=w.device)
        for start in range(0, len(labels), ROWS):
            rows = slice(start, start + ROWS)
            inputs = h[rows]
            gradient = _matmul(inputs, w.T, product[: len(inputs)])
            logits = gradient if dtype == exact else chunk[: len(inputs)].copy_(gradient)
            total += smoothed_losses_in_place(logits, labels[rows], smoothing=smoothing)
            gradient = logits if dtype == exact else gradient.copy_(logits)
            grad_hidden[rows] = _matmul(gradient, w)
            of_weight = _matmul(gradient.T, inputs, part)
            grad_weight += of_weight if dtype == exact else exact_part.copy_(of_weight)
        ctx.save_for_backward(grad_hidden, grad_weight)
        return total


def loss_without_waiting(
    hidden: Float[Tensor, "tokens d_model"],
    weight: Float[Tensor, "vocab d_model"],
    labels: Int[Tensor, " tokens"],
    *,
    smoothing: float,
    pad_id: int,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, ""]:
    """Return what `loss_in_chunks` does, for labels that may contain padding, in larger chunks.

    It reads no number from the device, so a CPU need not wait for a GPU. If all labels are padding, the
    loss is NaN.
    """
    real = labels != pad_id
    total: Tensor = _LargeChunks.apply(  # type: ignore[no-untyped-call, unused-ignore]
        hidden, weight, labels, real, smoothing, dtype
    )
    return total / real.sum()


class _LargeChunks(_SumOfLosses):
    """Each pass over a chunk of logits counts, because memory is the limit."""

    @staticmethod
    def forward(  # type: ignore[no-untyped-def]
        ctx,
        hidden: Tensor,
        weight: Tensor,
        labels: Tensor,
        real: Tensor,
        smoothing: float,
        dtype: torch.dtype,
    ) -> Tensor:
        h, w = hidden.detach().to(dtype), weight.detach().to(dtype)
        exact = torch.promote_types(dtype, torch.float32)
        grad_hidden, grad_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        total = torch.zeros((), dtype=exact, device=w.device)
        for start in range(0, len(labels), LARGE_ROWS):
            rows = slice(start, start + LARGE_ROWS)
            inputs, label, counts = h[rows], labels[rows, None], real[rows, None]
            log_probs = (inputs @ w.T).log_softmax(dim=-1, dtype=exact)
            losses = (1 - smoothing) * log_probs.gather(-1, label)
            losses = losses + smoothing * log_probs.mean(dim=-1, keepdim=True)
            total -= losses.masked_fill(~counts, 0.0).sum()
            gradient = log_probs.exp_().sub_(smoothing / len(w))
            gradient.scatter_add_(-1, label, torch.full_like(losses, smoothing - 1))
            gradient = gradient.masked_fill_(~counts, 0.0).to(dtype)
            grad_hidden[rows] = gradient @ w
            grad_weight += gradient.T @ inputs
        ctx.save_for_backward(grad_hidden, grad_weight)
        return total


def _matmul(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    """Return $AB$, in `out` unless oneDNN computes it: new pages take as long as the product."""
    return onednn_linear(b.T)(a) if a.dtype == torch.float32 else torch.mm(a, b, out=out)


def smoothed_losses_in_place(
    logits: Float[Tensor, "*batch vocab"], labels: Int[Tensor, "*batch"], *, smoothing: float
) -> Float[Tensor, ""]:
    r"""Return the sum of the losses of `PlainLoss`, and overwrite the logits with its gradient, $p - q$.

    Labels must not contain padding.
    """
    labels = labels.unsqueeze(-1)
    of_label, mean = logits.gather(-1, labels), logits.mean(dim=-1, keepdim=True)
    highest = logits.amax(dim=-1, keepdim=True)
    torch.softmax(logits, dim=-1, out=logits)
    log_total = highest - logits.amax(dim=-1, keepdim=True).log()  # of the sum of exponentials
    losses = log_total - (1 - smoothing) * of_label - smoothing * mean
    logits.sub_(smoothing / logits.size(-1))
    logits.scatter_add_(-1, labels, torch.full_like(of_label, smoothing - 1))
    return losses.sum()


class FastLoss(nn.Module):
    """The loss of `PlainLoss`, computed from hidden states without storing all logits at once.

    Raises:
        ValueError: If the model computes its logits in a different way, or has hooks.
    """

    def __init__(self, model: Transformer, *, smoothing: float, bf16: bool) -> None:
        """Keep the model; `bf16` computes matrix products in bfloat16."""
        super().__init__()
        refuse_other_logits(model)
        self.model, self.smoothing, self.bf16 = model, smoothing, bf16

    def forward(self, batch: Any) -> Float[Tensor, ""]:
        """Return the mean over the labels of a `Batch` that are not padding, in nats."""
        batch = batch.to(self.model.embedding.weight.device)
        with self._autocast():
            hidden = self.model.hidden(batch.src, batch.decoder_input)
        real = batch.labels != self.model.config.pad_id
        return self._of_hidden(loss_in_chunks, hidden[real], batch.labels[real])

    def _autocast(self) -> torch.autocast:
        device = self.model.embedding.weight.device.type
        return torch.autocast(device, torch.bfloat16, enabled=self.bf16)

    def _of_hidden(self, loss: Callable[..., Tensor], hidden: Tensor, labels: Tensor) -> Float[Tensor, ""]:
        """Return the loss of these hidden states, of which `loss` computes the logits."""
        weight: Tensor = self.model.to_logits.weight
        bias = self.model.output_bias
        if bias is not None:  # as one more column, which multiplies ones
            hidden = torch.cat([hidden, torch.ones_like(hidden[:, :1])], dim=1)
            weight = torch.cat([weight, bias[:, None]], dim=1)
        dtype = torch.bfloat16 if self.bf16 else weight.dtype
        return loss(hidden, weight, labels, smoothing=self.smoothing, dtype=dtype)


class PackedLoss(FastLoss):
    """The same loss for a GPU: sentences lie side by side, and the CPU never waits for the GPU.

    `FastLoss` selects the labels that are not padding, and has to know how many they are; here, padding has
    a loss of zero. Only a model whose encoder, decoder, and embeddings are plain can be computed like this.

    Raises:
        NotPlain: If a part of the model is changed or has hooks.
    """

    def __init__(self, model: Transformer, *, smoothing: float, bf16: bool) -> None:
        """Keep the model; `bf16` computes matrix products in bfloat16."""
        super().__init__(model, smoothing=smoothing, bf16=bf16)
        self.packed = PackedModel(model)

    def forward(self, batch: Any) -> Float[Tensor, ""]:
        """Return the mean over the labels of a `Batch`, or a `PackedBatch`, that are not padding, in nats."""
        packed = batch if isinstance(batch, PackedBatch) else pack(batch)
        packed = packed.to(self.model.embedding.weight.device)
        with self._autocast():
            hidden = self.packed.hidden(packed)
        loss = partial(loss_without_waiting, pad_id=self.model.config.pad_id)
        return self._of_hidden(loss, hidden, packed.labels)


def refuse_other_logits(model: Transformer) -> None:
    """Refuse a model whose logits are not those that `FastLoss` computes.

    Raises:
        NotPlain: If the model computes its logits in a different way, or has hooks.
    """
    changed = [f"the model {change}" for change in changes(model, Transformer, "forward", "logits")]
    name = "embedding" if model.output is None else "output"
    to_logits: nn.Module = unwrap(model.to_logits)
    if not isinstance(to_logits, TokenEmbedding):
        changed.append(f"{name} is another module: {type(to_logits).__name__}")
    elif overridden(to_logits, TokenEmbedding, "logits"):
        changed.append(f"{name} overrides logits")
    if changed:
        raise NotPlain(
            f"{' and '.join(changed)}, and the fast loss, which multiplies hidden states by "
            f"{name}.weight, would not call that; train with fast=False"
        )


class RecordedGradients:
    """Add up the gradients of `PackedLoss`, with one recording for each shape of a batch that comes again.

    A whole forward and backward pass is recorded, so its memory is free again for the next one, of any shape.
    On a GPU, keep no loss of another pass meanwhile: its graph belongs to another stream. A pass that is not
    recorded yet should launch the same kernels as one that is, which nobody has checked on a card.
    """

    def __init__(self, loss: PackedLoss, *, unit: int) -> None:
        """Record nothing yet; the rows of a batch are filled up to a multiple of `unit` tokens."""
        self.loss, self.unit = loss, unit
        self.parameters = [p for p in loss.model.parameters() if p.requires_grad]
        self.gradients = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.recorded = RecordedByShape(self.gradients[0].device)

    def __call__(self, batch: Any, weight: float) -> Float[Tensor, ""]:
        """Add the gradients of a weighted loss to those of the model, and return the weighted loss.

        Use it before the next call, which may overwrite it.
        """
        if self.parameters[0].grad is None:  # the first batch of an update
            torch._foreach_zero_(self.gradients)
            for parameter, gradient in zip(self.parameters, self.gradients, strict=True):
                parameter.grad = gradient  # the same memory each time, as the recordings need
        packed = pack(batch, unit=self.unit)
        inputs = *packed.tensors(), torch.tensor(weight, dtype=torch.float64)
        (share,) = self.recorded(packed.shape(), partial(_add_gradients, self.loss, packed), inputs)
        return share


def _add_gradients(loss: PackedLoss, packed: PackedBatch, *inputs: Tensor) -> tuple[Tensor]:
    """Add the gradients of a weighted loss of a batch like `packed`; the weight is the last input."""
    *tensors, weight = inputs
    share = weight * loss(packed.with_tensors(tuple(tensors)))
    share.backward()
    return (share,)
