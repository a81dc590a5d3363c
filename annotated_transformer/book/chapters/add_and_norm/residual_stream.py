"""A stack's output as a sum: one part from the input, one from each sub-layer, one from the norms' biases."""

from contextlib import ExitStack

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.model.encoder import Encoder
from annotated_transformer.model.inference import collecting, hooking
from annotated_transformer.model.normalization import AddNorm, LayerNorm, PostNorm


@torch.no_grad()
def split_stream(
    encoder: Encoder, x: Float[Tensor, "batch tokens d_model"]
) -> Float[Tensor, "parts batch tokens d_model"]:
    """Return the parts whose sum is `encoder(x)`: the input's, each sub-layer's in order, and the biases'.

    A norm subtracts a mean and divides by a deviation. If this is the deviation of
    the whole sum, the norm is linear, so it can be applied to each part; its bias is a separate part.
    """
    sums: dict[nn.Module, Tensor] = {}

    def keep_sum(norm: nn.Module, inputs: tuple[Tensor]) -> None:
        sums[norm] = inputs[0]

    surrounds = [module for module in encoder.modules() if isinstance(module, AddNorm)]
    norms = [module for module in encoder.modules() if isinstance(module, LayerNorm)]
    with collecting(surround.dropout for surround in surrounds) as added, ExitStack() as hooks:
        for norm in norms:
            hooks.enter_context(hooking(norm.register_forward_pre_hook, keep_sum))
        encoder(x)
    parts, biases = x[None], torch.zeros_like(x)[None]
    for surround, new in zip(surrounds, added, strict=True):
        parts = torch.cat([parts, new[None]])
        if isinstance(surround, PostNorm):
            parts, biases = _normed(parts, biases, surround.norm, sums[surround.norm])
    if isinstance(encoder.final_norm, LayerNorm):
        parts, biases = _normed(parts, biases, encoder.final_norm, sums[encoder.final_norm])
    return torch.cat([parts, biases])


def _normed(parts: Tensor, biases: Tensor, norm: LayerNorm, total: Tensor) -> tuple[Tensor, Tensor]:
    """Pass each part through a norm that divides by the deviation of `total`."""
    factor = norm.gain / (total.var(dim=-1, correction=0, keepdim=True) + norm.eps).sqrt()
    parts, biases = (x - x.mean(dim=-1, keepdim=True) for x in (parts, biases))
    return factor * parts, factor * biases + norm.bias


def shares(parts: Float[Tensor, "parts *batch d_model"]) -> Float[Tensor, " parts"]:
    """Return each part's share of the sum: its inner product with the sum, so that shares add up to 1."""
    total = parts.sum(dim=0)
    products = (parts * total).flatten(1).sum(dim=1)
    return products / total.square().sum()
