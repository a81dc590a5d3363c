"""Fast matrix products on CPUs: for the fast path of training and for `FastKeyValueCache`."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

LARGE = 2**22  # multiplications; from this size on, oneDNN is faster


def onednn_linear(
    weight: Tensor, bias: Tensor | None = None, *, repeated: bool = False
) -> Callable[[Tensor], Tensor]:
    """Return the function $x ↦ xW^T + b$ of rows; it computes large products by oneDNN.

    oneDNN often takes half the time. The function has no gradients. In float32, PyTorch offers oneDNN
    only to its own compiler, through operators that may be missing. In half precision, `F.linear`
    calls oneDNN itself.

    Args:
        weight: The matrix $W$, which must not change.
        bias: The vector $b$.
        repeated: Whether to copy $W$ once into the layout that oneDNN computes with, because many
            products follow; otherwise each product copies it.
    """
    onednn = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    reorder = getattr(torch.ops.mkldnn, "_reorder_linear_weight", None)
    on_cpu = weight.device.type == "cpu" and torch.backends.mkldnn.is_available()
    if onednn is None or reorder is None or not on_cpu or weight.dtype != torch.float32:
        return lambda x: F.linear(x, weight, bias)
    large, matrix = LARGE / weight.numel(), weight

    def product(x: Tensor) -> Tensor:
        nonlocal matrix
        if len(x) < large:
            return F.linear(x, weight, bias)
        if repeated and matrix is weight:
            matrix = reorder(weight, len(x))
        return onednn(x, matrix, bias, "none", [], "")

    return product
