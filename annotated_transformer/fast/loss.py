"""The loss over a large vocabulary, computed in chunks of tokens: the chapter on training.

The logits of a batch are by far its largest tensor: 4096 tokens × 10,000 classes take 164 MB, and
their softmax and its gradient as much again. Here, only one chunk of logits exists at a time, because
allocating new pages of memory takes longer than computing their content.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.fast.linear import onednn_linear
from annotated_transformer.model.loss import label_smoothed_cross_entropy
from annotated_transformer.model.transformer import Transformer

NO_ID = -1  # no label is padding
ROWS = 256  # tokens per chunk; with fewer, adding up the gradient of the weight takes longer


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
    loss: Tensor = _Chunks.apply(  # type: ignore[no-untyped-call, unused-ignore]
        hidden, weight, labels, smoothing, dtype
    )
    return loss


class _Chunks(torch.autograd.Function):
    """A loss whose forward pass has saved the gradients of hidden states and weight, too."""

    @staticmethod
    def forward(  # type: ignore[no-untyped-def]
        ctx, hidden: Tensor, weight: Tensor, labels: Tensor, smoothing: float, dtype: torch.dtype
    ) -> Tensor:
        h, w = hidden.detach().to(dtype), weight.detach().to(dtype)
        grad_hidden, grad_weight, losses = torch.empty_like(hidden), torch.zeros_like(weight), []
        for start in range(0, len(labels), ROWS):
            rows = slice(start, start + ROWS)
            logits = _matmul(h[rows], w.T).requires_grad_()
            with torch.enable_grad():
                mean = label_smoothed_cross_entropy(logits, labels[rows], smoothing=smoothing, pad_id=NO_ID)
                losses.append(mean * (len(logits) / len(labels)))
            (gradient,) = torch.autograd.grad(losses[-1], logits)
            grad_hidden[rows] = _matmul(gradient, w)
            grad_weight += _matmul(gradient.T, h[rows])
        ctx.save_for_backward(grad_hidden, grad_weight)
        return torch.stack(losses).detach().sum()

    @staticmethod
    def backward(  # type: ignore[no-untyped-def]
        ctx, grad: Tensor
    ) -> tuple[Tensor | None, ...]:
        grad_hidden, grad_weight = ctx.saved_tensors
        return grad * grad_hidden, grad * grad_weight, None, None, None


def _matmul(a: Tensor, b: Tensor) -> Tensor:
    return onednn_linear(b.T)(a) if a.dtype == torch.float32 else a @ b


class FastLoss(nn.Module):
    """The loss of `PlainLoss`, computed from hidden states without storing all logits at once."""

    def __init__(self, model: Transformer, *, smoothing: float, bf16: bool) -> None:
        """Keep the model; `bf16` computes matrix products in bfloat16."""
        super().__init__()
        self.model, self.smoothing, self.bf16 = model, smoothing, bf16

    def forward(self, batch: Any) -> Float[Tensor, ""]:
        """Return the mean over the labels of a `Batch` that are not padding, in nats."""
        batch = batch.to(self.model.embedding.weight.device)
        with torch.autocast(batch.src.device.type, torch.bfloat16, enabled=self.bf16):
            hidden = self.model.hidden(batch.src, batch.decoder_input)
        real = batch.labels != self.model.config.pad_id
        hidden, labels = hidden[real], batch.labels[real]
        weight: Tensor = self.model.to_logits.weight
        bias = self.model.output_bias
        if bias is not None:  # as one more column, which multiplies ones
            hidden = torch.cat([hidden, torch.ones_like(hidden[:, :1])], dim=1)
            weight = torch.cat([weight, bias[:, None]], dim=1)
        dtype = torch.bfloat16 if self.bf16 else weight.dtype
        return loss_in_chunks(hidden, weight, labels, smoothing=self.smoothing, dtype=dtype)
