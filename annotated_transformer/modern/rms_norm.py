"""RMSNorm instead of LayerNorm: tokens are scaled, but not centered."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.model.checks import other_width
from annotated_transformer.model.normalization import PreNorm


class RMSNorm(nn.Module):
    r"""Scale each token, $\gamma \odot x / \sqrt{\tfrac1d \sum_i x_i^2 + \epsilon}$.

    Of `LayerNorm`, the mean and $\beta$ are left out (Zhang and Sennrich, 2019,
    arXiv:1910.07467). The two agree where the features of a token have mean 0.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        """Make `gain` (γ); `eps` is added to the mean of the squares."""
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(
        self,
        x: Float[Tensor, "*batch d_model"],
    ) -> Float[Tensor, "*batch d_model"]:
        """Return each token divided by its root mean square, times `gain`.

        Half precision is computed in float32, as in `LayerNorm`.
        """
        if x.shape[-1:] != self.gain.shape:  # it might be broadcast
            raise other_width(x, self.gain)
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        mean_square = wide.square().mean(dim=-1, keepdim=True)
        normed = self.gain * wide / (mean_square + self.eps).sqrt()
        return normed.to(torch.promote_types(x.dtype, self.gain.dtype))


class PreRMSNorm(PreNorm):
    r"""Pre-norm with an `RMSNorm`: $x + \mathrm{Sublayer}(\mathrm{RMSNorm}(x))$.

    A stack of these ends with an `RMSNorm`.
    """

    def __init__(self, d_model: int, dropout: float) -> None:
        super().__init__(d_model, dropout)
        self.norm = RMSNorm(d_model)  # type: ignore[assignment]
