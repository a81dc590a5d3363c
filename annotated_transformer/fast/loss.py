"""The loss over a large vocabulary, a few tokens at a time: the chapter on training.

The scores of a batch are its largest tensor by far: 4096 tokens × 10,000 classes are 164 MB,
their softmax and its gradient as much again. Here no more than a chunk of them exists: to get
new pages of memory takes longer than to compute what they hold.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.fast.linear import onednn_linear
from annotated_transformer.training.loss import smoothed_losses_in_place

ROWS = 256  # of scores at a time: few, but enough that the gradient of the weight is seldom added to


def loss_in_chunks(
    hidden: Float[Tensor, "tokens d_model"],
    weight: Float[Tensor, "vocab d_model"],
    labels: Int[Tensor, " tokens"],
    *,
    smoothing: float,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, ""]:
    r"""Return `label_smoothed_cross_entropy` of the scores $hE^\top$, and its gradients.

    The gradient is taken chunk by chunk in the forward pass, while the scores are at hand;
    the backward pass only scales it. Products are in `dtype`. No label may be padding.
    """
    total: Tensor = _Chunks.apply(hidden, weight, labels, smoothing, dtype)  # type: ignore[no-untyped-call]
    return total


class _Chunks(torch.autograd.Function):
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
        to_scores, to_hidden = onednn_linear(w), onednn_linear(w.T)
        scores = torch.empty(ROWS, len(w), dtype=exact, device=w.device)
        exact_part = torch.empty_like(w, dtype=exact)
        grad_hidden, grad_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        total = torch.zeros((), dtype=exact, device=w.device)
        for start in range(0, len(labels), ROWS):
            rows = slice(start, start + ROWS)
            inputs = h[rows]
            product = to_scores(inputs)
            logits = product if dtype == exact else scores[: len(inputs)].copy_(product)
            total += smoothed_losses_in_place(logits, labels[rows], smoothing=smoothing)
            gradient = product if dtype == exact else product.copy_(logits)
            grad_hidden[rows] = to_hidden(gradient)
            grad_weight += exact_part.copy_(onednn_linear(inputs.T)(gradient.T))
        ctx.save_for_backward(grad_hidden, grad_weight)
        ctx.share = 1 / len(labels)
        return total * ctx.share

    @staticmethod
    def backward(  # type: ignore[no-untyped-def]
        ctx, grad: Tensor
    ) -> tuple[Tensor, Tensor, None, None, None]:
        grad_hidden, grad_weight = ctx.saved_tensors
        grad = grad * ctx.share
        return grad * grad_hidden, grad * grad_weight, None, None, None
