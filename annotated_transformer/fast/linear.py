"""Fast matrix products on CPUs: for the fast path of training and for `FastKeyValueCache`."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

LARGE = 2**20  # multiplications; from this size on, oneDNN is faster


def onednn_linear(weight: Tensor, bias: Tensor | None = None) -> Callable[[Tensor], Tensor]:
    """Return the function $x ↦ xW^T + b$ of rows; it computes large products by oneDNN.

    oneDNN often takes half the time. The function has no gradients. In float32, PyTorch offers oneDNN
    only to its own compiler, through an operator that may be missing. In half precision, `F.linear`
    calls oneDNN itself.
    """
    onednn = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    on_cpu = weight.device.type == "cpu" and torch.backends.mkldnn.is_available()
    if onednn is None or not on_cpu or weight.dtype != torch.float32:
        return lambda x: F.linear(x, weight, bias)
    large = LARGE / weight.numel()

    def product(x: Tensor) -> Tensor:
        if len(x) < large:
            return F.linear(x, weight, bias)
        return onednn(x, weight, bias, "none", [], "")

    return product
