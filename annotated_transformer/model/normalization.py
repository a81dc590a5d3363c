"""Layer normalization, and Add & Norm around a sub-layer: sections 3.1 and 5.4."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.model.checks import other_width


class LayerNorm(nn.Module):
    r"""Normalize each token, $\gamma \odot (x-\mu) / \sqrt{\sigma^2+\epsilon} + \beta$.

    $\mu$ and $\sigma^2$ are the mean and the biased variance of the token's `d_model`
    features (Ba et al., 2016). The result for a token does not depend on the rest
    of the batch, on padding or on later tokens.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        """Make `gain` (γ) and `bias` (β); `eps` is added to the variance."""
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """Return each token centered and scaled, times `gain`, plus `bias`.

        Half precision is computed in float32: in float16, the square of 256 overflows.
        """
        if x.shape[-1:] != self.gain.shape:  # it might be broadcast
            raise other_width(x, self.gain)
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        centered = wide - wide.mean(dim=-1, keepdim=True)
        variance = centered.square().mean(dim=-1, keepdim=True)
        normed = self.gain * centered / (variance + self.eps).sqrt() + self.bias
        return normed.to(torch.promote_types(x.dtype, self.gain.dtype))


class AddNorm(nn.Module):
    """The base class of both kinds of Add & Norm: a norm and a dropout."""

    def __init__(self, d_model: int, dropout: float) -> None:
        """Create the norm and the dropout; subclasses place the norm."""
        super().__init__()
        self.norm = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)


class PostNorm(AddNorm):
    r"""The paper's Add & Norm: the norm follows the sum.

    $\mathrm{LayerNorm}(x + \mathrm{Dropout}(\mathrm{Sublayer}(x)))$
    """

    def forward(
        self,
        x: Float[Tensor, "batch tokens d_model"],
        sublayer: Callable[[Tensor], Tensor],
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Add the sub-layer's output to `x`, then normalize the sum."""
        normed: Tensor = self.norm(x + self.dropout(sublayer(x)))
        return normed


class PreNorm(AddNorm):
    r"""Pre-norm, a later departure from the paper: the norm precedes the sub-layer.

    $x + \mathrm{Dropout}(\mathrm{Sublayer}(\mathrm{LayerNorm}(x)))$

    Nothing normalizes the sum, so a stack of these ends with a `LayerNorm`.
    """

    def forward(
        self,
        x: Float[Tensor, "batch tokens d_model"],
        sublayer: Callable[[Tensor], Tensor],
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Apply the sub-layer to normalized `x`, and add its output to `x` itself."""
        added: Tensor = x + self.dropout(sublayer(self.norm(x)))
        return added
