"""SwiGLU: a feed-forward network whose units are multiplied by a gate.

Shazeer, *GLU Variants Improve Transformer*, 2020, arXiv:2002.05202.
"""

from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.feed_forward import FeedForward


class SwiGLU(FeedForward):
    r"""Transform every token by itself, $(\mathrm{SiLU}(xW_g) \odot xW_1)\,W_2$.

    There are three matrices and no biases. $\mathrm{SiLU}(x) = x\,\sigma(x)$ is also called swish; with
    `nn.GELU()` instead, the network is a GEGLU.
    """

    def __init__(self, d_model: int, d_ff: int, activation: nn.Module | None = None) -> None:
        """Make the three maps; `gated_width` returns the `d_ff` of as many parameters as `FeedForward`."""
        super().__init__(d_model, d_ff, activation or nn.SiLU())
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.expand = nn.Linear(d_model, d_ff, bias=False)
        self.contract = nn.Linear(d_ff, d_model, bias=False)

    def forward(
        self,
        x: Float[Tensor, "*batch d_model"],
    ) -> Float[Tensor, "*batch d_model"]:
        """Return each token's transform; no token sees another."""
        output: Tensor = self.contract(self.activation(self.gate(x)) * self.expand(x))
        return output


@refuses_other_kinds
def gated_width(d_ff: int, multiple_of: int = 1) -> int:
    r"""Return $\tfrac23 d_\text{ff}$, rounded up to a multiple.

    Three matrices of this width have as many parameters as two of width `d_ff`. For the paper's
    $d_\text{ff} = 4\,d_\text{model}$, it is $\tfrac83 d_\text{model}$.
    """
    return -(-2 * d_ff // (3 * multiple_of)) * multiple_of
