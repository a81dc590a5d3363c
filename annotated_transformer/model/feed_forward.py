"""The position-wise feed-forward network: section 3.3 of the paper."""

from jaxtyping import Float
from torch import Tensor, nn


class FeedForward(nn.Module):
    r"""Transform every token by itself, $\max(0, xW_1 + b_1)\,W_2 + b_2$ (eq. 2)."""

    def __init__(
        self, d_model: int, d_ff: int, activation: nn.Module | None = None
    ) -> None:
        """Make the two maps; an `activation` other than ReLU departs from the paper."""
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff)
        self.activation = activation or nn.ReLU()
        self.contract = nn.Linear(d_ff, d_model)

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """Return each token's transform; no token sees another."""
        output: Tensor = self.contract(self.activation(self.expand(x)))
        return output
