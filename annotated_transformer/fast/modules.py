"""The same training in less time: small stand-ins for modules that the processor finds slow.

Each computes what its plain one does; nothing that is learned or saved changes.
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
    """Put `ByteDropout` and `FusedLayerNorm` into `model`, and take them out at the end.

    A module that was changed, by a subclass, a method of its own or hooks, stays where it is.
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
    """`LayerNorm` by PyTorch's fused kernel, with the parameters of another."""

    def __init__(self, norm: LayerNorm) -> None:
        super().__init__()
        self.gain, self.bias, self.eps = norm.gain, norm.bias, norm.eps

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Return every token with mean `bias` and deviation `gain`."""
        x = x.to(self.gain.dtype)
        return F.layer_norm(x, self.gain.shape, self.gain, self.bias, self.eps)


class ByteDropout(nn.Module):
    """Dropout that draws one random byte an element, where `nn.Dropout` draws a float.

    So its probability is that of `nn.Dropout` to the nearest 256th, of which it drops one or
    more and keeps one or more. What it keeps is scaled by the probability it has, so that
    the mean stays.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.dropped = min(max(round(256 * p), 1), 255) if p else 0  # of the 256 bytes

    def forward(self, x: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """Return `x` with some elements zero and the others scaled; as it is in evaluation."""
        if not self.training or self.dropped == 0:
            return x
        dropped: Tensor = _Drop.apply(x, self.dropped)  # type: ignore[no-untyped-call]
        return dropped


class _Drop(torch.autograd.Function):
    """Both directions multiply by one mask of a byte an element, all that is kept between them."""

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
