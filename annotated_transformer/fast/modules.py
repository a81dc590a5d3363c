"""Accelerated modules for training: faster replacements of modules that are slow on CPUs.

Each computes the same function as the plain module. Parameters and saved files do not change.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.fast.overrides import has_hooks, overridden
from annotated_transformer.model.normalization import LayerNorm
from annotated_transformer.model.transformer import Transformer


@contextmanager
def fast_modules(model: Transformer) -> Iterator[None]:
    """Replace dropout and LayerNorm in `model` by `ByteDropout` and `FusedLayerNorm`, and restore them.

    A module that is an instance of a subclass, has an overridden method or has hooks is not replaced.
    """
    swapped: list[tuple[nn.Module, str, nn.Module]] = []
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Dropout) and _is_plain(child, nn.Dropout):
                setattr(parent, name, ByteDropout(child.p))
            elif isinstance(child, LayerNorm) and _is_plain(child, LayerNorm):
                setattr(parent, name, FusedLayerNorm(child))
            else:
                continue
            swapped.append((parent, name, child))
    try:
        yield
    finally:
        for parent, name, child in swapped:
            setattr(parent, name, child)


def _is_plain(module: nn.Module, kind: type[nn.Module]) -> bool:
    return type(module) is kind and not overridden(module, kind, "forward") and not has_hooks(module)


class FusedLayerNorm(nn.Module):
    """`LayerNorm` computed by PyTorch's fused kernel, with the parameters of the plain module."""

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

    def __init__(self, p: float) -> None:
        super().__init__()
        self.dropped = min(max(round(256 * p), 1), 255) if p else 0  # of the 256 bytes

    def forward(self, x: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """Return `x` with some elements set to zero and the others scaled; in evaluation mode, return `x`."""
        if not self.training or self.dropped == 0:
            return x
        dropped: Tensor = _Drop.apply(x, self.dropped)  # type: ignore[no-untyped-call]
        return dropped


class _Drop(torch.autograd.Function):
    """Forward and backward multiply by the same mask, one byte per element, which is all that is saved."""

    @staticmethod
    def forward(ctx, x: Tensor, dropped: int) -> Tensor:  # type: ignore[no-untyped-def]
        words = torch.empty(-(-x.numel() // 8), dtype=torch.int64, device=x.device)
        draws = words.random_(-(2**63), None).view(torch.uint8)[: x.numel()]
        keep = (draws >= dropped).view(x.shape)
        ctx.save_for_backward(keep)
        ctx.scale = 256 / (256 - dropped)
        return (x * keep).mul_(ctx.scale)

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None]:  # type: ignore[no-untyped-def]
        (keep,) = ctx.saved_tensors
        return (grad * keep).mul_(ctx.scale), None
