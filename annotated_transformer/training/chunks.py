"""The loss over a large vocabulary, a few tokens at a time: the chapter on training.

The scores of a batch are its largest tensor by far: 4096 tokens × 10,000 classes are 164 MB,
their softmax and its gradient as much again. Here no more than a chunk of them exists.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

Loss = Callable[[Tensor, Tensor], Tensor]  # logits and labels to their mean

ROWS = 128  # of scores at a time: few enough to stay in the processor's cache


def loss_in_chunks(
    loss: Loss,
    hidden: Float[Tensor, "passes tokens d_model"],
    weight: Float[Tensor, "vocab d_model"],
    labels: Int[Tensor, " tokens"],
    *,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, ""]:
    r"""Return `loss` of the scores $hE^\top$ and the labels, and its gradients, in little memory.

    `loss` is a mean over tokens, so that of the whole is the weighted mean of the chunks'.
    Its gradient is taken chunk by chunk in the forward pass, while the scores are at hand;
    the backward pass only scales it. Products are in `dtype`.
    """
    total: Tensor = _Chunks.apply(hidden, weight, labels, loss, dtype)  # type: ignore[no-untyped-call]
    return total


class _Chunks(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[no-untyped-def]
        ctx, hidden: Tensor, weight: Tensor, labels: Tensor, loss: Loss, dtype: torch.dtype
    ) -> Tensor:
        h, w = hidden.detach().to(dtype), weight.detach().to(dtype)
        grad_hidden, grad_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        total = hidden.new_zeros((), dtype=torch.promote_types(dtype, torch.float32))
        size = max(1, ROWS // len(hidden))
        for start in range(0, len(labels), size):
            rows = slice(start, start + size)
            share = len(labels[rows]) / len(labels)
            with torch.enable_grad():
                logits = (h[:, rows] @ w.T).requires_grad_()
                part = share * loss(logits, labels[rows])
            (grad,) = torch.autograd.grad(part, logits)
            total += part.detach()
            grad_hidden[:, rows] = grad @ w
            grad_weight += grad.flatten(0, 1).T @ h[:, rows].flatten(0, 1)
        ctx.save_for_backward(grad_hidden, grad_weight)
        return total

    @staticmethod
    def backward(  # type: ignore[no-untyped-def]
        ctx, grad: Tensor
    ) -> tuple[Tensor, Tensor, None, None, None]:
        grad_hidden, grad_weight = ctx.saved_tensors
        return grad * grad_hidden, grad * grad_weight, None, None, None
