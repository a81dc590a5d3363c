"""Fast matrix products on CPUs: for the fast path of training and for `FastKeyValueCache`."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

LARGE = 2**22  # multiplications; from this size on, oneDNN is faster
CACHED = 2**18  # numbers; reading a larger matrix from memory takes most of a product with few rows
FEW = 4  # rows of a step, such as those of a beam


def onednn_linear(weight: Tensor, bias: Tensor | None = None) -> Callable[[Tensor], Tensor]:
    """Return the function $x ↦ xW^T + b$ of rows; it computes large products by oneDNN.

    oneDNN often takes half the time. The function has no gradients. In float32, PyTorch offers oneDNN
    only to its own compiler, through operators that may be missing. In half precision, `F.linear`
    calls oneDNN itself.

    Args:
        weight: The matrix $W$. If its numbers are changed in place, the new ones count at once.
        bias: The vector $b$, likewise.
    """
    if not _onednn_is_faster(weight):
        return lambda x: F.linear(x, weight, bias)
    large = LARGE / weight.numel()

    def product(x: Tensor) -> Tensor:
        return _onednn(x, weight, bias) if x.size(0) >= large else F.linear(x, weight, bias)

    return product


def output_projection(weight: Float[Tensor, "vocab d_model"]) -> Callable[[Tensor], Tensor]:
    """Return the function $x ↦ xW^T$ of rows that computes the logits of many steps.

    A step with few rows takes as long as reading $W$ does, which depends on its layout. So a large matrix is
    copied once; if it changes, it needs another projection.
    """
    if weight.numel() <= CACHED or not _onednn_is_faster(weight):
        return onednn_linear(weight)
    reordered = torch.ops.mkldnn._reorder_linear_weight(weight, FEW)
    return lambda x: _onednn(x, reordered) if x.size(0) else F.linear(x, weight)


def _onednn_is_faster(weight: Tensor) -> bool:
    """Whether PyTorch has oneDNN's products for this weight, but does not use them itself."""
    operators = ("_linear_pointwise", "_reorder_linear_weight")
    on_cpu = weight.device.type == "cpu" and torch.backends.mkldnn.is_available()
    return on_cpu and weight.dtype == torch.float32 and all(hasattr(torch.ops.mkldnn, x) for x in operators)


def _onednn(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return product
