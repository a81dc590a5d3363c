"""Fast matrix products on CPUs: for the fast path of training and for `FastKeyValueCache`."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

LARGE = 2**22  # multiplications; from this size on, oneDNN is faster
CACHED = 2**18  # numbers; reading a larger matrix from memory takes most of a product with few rows


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


def biases_of(linears: Sequence[nn.Linear]) -> list[Tensor] | None:
    """Return the bias of each linear map, zeros for one without; or None if all are without."""
    if all(linear.bias is None for linear in linears):
        return None
    return [x.weight.new_zeros(x.out_features) if x.bias is None else x.bias for x in linears]


class OutputProjection:
    """The function $x ↦ xW^T$ of rows, for a matrix that turns the hidden states of many steps into logits.

    A step with few rows takes as long as reading $W$ does, and that depends on the layout of $W$. So
    $W$ is copied once into the layout that suits the number of rows.
    """

    def __init__(self, weight: Float[Tensor, "vocab d_model"]) -> None:
        """Copy nothing yet. Once it was called, a changed weight needs another projection."""
        self.weight, self.linear = weight, onednn_linear(weight)
        self.copies = _onednn_is_faster(weight) and weight.numel() > CACHED
        self.single_rows = 0
        self.transposed: Tensor | None = None
        self.reordered: Tensor | None = None

    def __call__(self, x: Float[Tensor, "rows d_model"]) -> Float[Tensor, "rows vocab"]:
        """Return the logits of each row."""
        if not self.copies or not x.size(0):
            return self.linear(x)
        return self._of_one_row(x) if x.size(0) == 1 else self._of_rows(x)

    def _of_one_row(self, x: Tensor) -> Tensor:
        """Add the scaled columns of $W$, faster than a scalar product with each of its many rows."""
        self.single_rows += 1
        if self.single_rows == 1:  # maybe the only one: a beam begins with one row
            return self.linear(x)
        if self.transposed is None:
            self.transposed = self.weight.t().contiguous()
        return x @ self.transposed

    def _of_rows(self, x: Tensor) -> Tensor:
        if self.reordered is None:
            self.reordered = torch.ops.mkldnn._reorder_linear_weight(self.weight, len(x))
        return _onednn(x, self.reordered)


def _onednn_is_faster(weight: Tensor) -> bool:
    """Whether PyTorch has oneDNN's products for this weight, but does not use them itself."""
    operators = ("_linear_pointwise", "_reorder_linear_weight")
    on_cpu = weight.device.type == "cpu" and torch.backends.mkldnn.is_available()
    return on_cpu and weight.dtype == torch.float32 and all(hasattr(torch.ops.mkldnn, x) for x in operators)


def _onednn(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return product
