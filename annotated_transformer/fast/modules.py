"""Accelerated modules for training: faster replacements of modules that are slow on CPUs.

Each computes the same function as the plain module, up to rounding, except that `ByteDropout` rounds its
probability: p = 0.1 becomes 26/256 = 0.1016. Parameters and saved files do not change. The memory that they
free is reused from batch to batch.
"""

import ctypes
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from annotated_transformer.model.attention import ScaledDotProductAttention
from annotated_transformer.model.checks import refuse_unfit_pairs
from annotated_transformer.model.normalization import LayerNorm
from annotated_transformer.model.plain import any_hook, hooks_of, overridden

SHORT = 16  # keys; PyTorch's softmax is slow over fewer
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
ALWAYS = 2**31 - 1  # bytes, the largest that mallopt takes


@contextmanager
def fast_modules(model: nn.Module) -> Iterator[None]:
    """Replace attention, dropout and LayerNorm in `model` by the modules below, and restore them.

    A module that is an instance of a subclass, has an overridden method or has hooks is not replaced.
    """
    swapped: list[tuple[nn.Module, str, nn.Module]] = []
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            fast = REPLACEMENTS.get(type(child))
            if fast is None or overridden(child) or any_hook(*hooks_of(child)):
                continue
            setattr(parent, name, fast(child))
            swapped.append((parent, name, child))
    try:
        yield
    finally:
        for parent, name, child in swapped:
            setattr(parent, name, child)


class FastAttention(nn.Module):
    """`ScaledDotProductAttention` with fewer and faster operations; `weights` is that of the plain module.

    One addition scales the scores, masks them and converts them to float32. A softmax over fewer than 16
    keys takes up to ten times as long per number, so short rows are padded with masked keys.
    """

    same_in_evaluation = True  # so that a model can be saved during training

    def __init__(self, attention: ScaledDotProductAttention) -> None:
        super().__init__()
        self.weights = attention.weights

    def forward(
        self,
        query: Float[Tensor, "*batch queries d_k"],
        key: Float[Tensor, "*batch keys d_k"],
        value: Float[Tensor, "*batch keys d_v"],
        mask: Bool[Tensor, "*#batch #queries #keys"] | None = None,
    ) -> Float[Tensor, "*batch queries d_v"]:
        """Return one weighted mean of the values for each query."""
        refuse_unfit_pairs(query, key, value, mask)
        key = key.contiguous()  # or the product copies its transpose, which takes several times as long
        scores, scale = query @ key.transpose(-2, -1), 1 / math.sqrt(query.size(-1))
        dtype = torch.promote_types(scores.dtype, torch.float32)
        lowest = torch.finfo(dtype).min  # not -inf: the softmax of a row of -inf is NaN
        if mask is None:
            scores = scale * scores.to(dtype)
        else:
            masked = torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, lowest)
            scores = torch.add(masked, scores, alpha=scale)
        keys = scores.size(-1)
        if keys < SHORT:
            scores = F.pad(scores, (0, SHORT - keys), value=lowest)
        weights = scores.softmax(dim=-1)[..., :keys]
        if mask is not None:
            sees = mask.any(dim=-1, keepdim=True)
            if not sees.all():
                weights = weights.masked_fill(~sees, 0.0)
        weights = self.weights(weights)
        return weights.to(value.dtype) @ value


class FusedLayerNorm(nn.Module):
    """`LayerNorm` computed by PyTorch's fused kernel, with the parameters of the plain module."""

    same_in_evaluation = True

    def __init__(self, norm: LayerNorm) -> None:
        super().__init__()
        self.gain, self.bias, self.eps = norm.gain, norm.bias, norm.eps

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Return every token normalized, then scaled by `gain` and shifted by `bias`."""
        x = x.to(self.gain.dtype)
        return F.layer_norm(x, self.gain.shape, self.gain, self.bias, self.eps)


class ByteDropout(nn.Module):
    """Dropout that draws one random byte per element, whereas `nn.Dropout` draws a float.

    The probability is therefore rounded to a multiple of 1/256, between 1/256 and 255/256 unless `p`
    is 0. Elements that are kept are scaled according to the rounded probability, so the mean does not
    change.
    """

    same_in_evaluation = True

    def __init__(self, p: float) -> None:
        super().__init__()
        self.dropped = min(max(round(256 * p), 1), 255) if p else 0  # of the 256 bytes

    def forward(self, x: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """Return `x` with some elements set to zero and the others scaled; in evaluation mode, return `x`."""
        if not self.training or self.dropped == 0:
            return x
        dropped: Tensor = _Drop.apply(x, self.dropped)  # type: ignore[no-untyped-call, unused-ignore]
        return dropped


REPLACEMENTS: dict[type[nn.Module], Callable[[Any], nn.Module]] = {
    ScaledDotProductAttention: FastAttention,
    LayerNorm: FusedLayerNorm,
    nn.Dropout: lambda dropout: ByteDropout(dropout.p),
}


class _Drop(torch.autograd.Function):
    """Forward and backward multiply by the same mask, one byte per element, which is all that is saved."""

    @staticmethod
    def forward(ctx, x: Tensor, dropped: int) -> Tensor:  # type: ignore[no-untyped-def]
        words = torch.empty(-(-x.numel() // 8), dtype=torch.int64, device=x.device)
        draws = words.random_(-(2**63), None).view(torch.uint8)[: x.numel()]
        keep = draws.ge_(dropped).view(x.shape)  # 0 or 1, and still bytes: a product with booleans is slow
        ctx.save_for_backward(keep)
        ctx.scale = 256 / (256 - dropped)
        return (x * keep).mul_(ctx.scale)

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None]:  # type: ignore[no-untyped-def]
        (keep,) = ctx.saved_tensors
        return (grad * keep).mul_(ctx.scale), None


def keep_freed_memory() -> None:
    """Let this process keep the memory that tensors free, for the tensors of the next batch.

    By default, glibc returns large blocks to the system, and the first write to each page of a new block
    costs a page fault: we counted up to 20,000 for a batch. With this setting, the process keeps its peak
    memory, or more if small blocks fragment the large ones. Without glibc, this does nothing.
    """
    if sys.platform == "win32":
        return  # CDLL(None) is an error there
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, ALWAYS)
        mallopt(M_TRIM_THRESHOLD, ALWAYS)
