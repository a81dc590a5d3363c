"""Positional encodings: section 3.5 of the paper."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.config import refuse_odd_width
from annotated_transformer.model.checks import refuse_positions_outside
from annotated_transformer.model.initialization import ComputedTable, initialize_table


def sinusoids(length: int, d_model: int) -> Float[Tensor, "{length} {d_model}"]:
    r"""Return $PE_{(p, 2i)} = \sin(p / 10000^{2i/d_\text{model}})$ and cosines (3.5).

    Feature $2i + 1$ is the cosine of the same angle. The table is computed in float64,
    so that the chapters can check identities up to rounding.
    """
    refuse_odd_width(d_model)
    position = torch.arange(length, dtype=torch.float64)[:, None]
    divisor = 10_000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angle = position / divisor
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


def rotation(offset: int, d_model: int) -> Float[Tensor, "{d_model} {d_model}"]:
    r"""Return the matrix of an offset $k$: $PE_{p+k} = R_k\,PE_p$ for each $p$ (3.5).

    The paper calls it a linear function. Pair $i$ turns by
    $k / 10000^{2i/d_\text{model}}$; a negative offset turns back.
    """
    step = sinusoids(2, d_model)[1].unflatten(0, (-1, 2))  # of one step: sine, cosine
    angle = offset * torch.atan2(step[:, 0], step[:, 1])
    sine, cosine = angle.sin(), angle.cos()
    turn = torch.stack([cosine, sine, -sine, cosine], dim=-1)
    return torch.block_diag(*turn.unflatten(1, (2, 2)))


def select_positions(
    table: Float[Tensor, "max_length d_model"], embedded: Tensor, start: int
) -> Float[Tensor, "tokens d_model"]:
    """Return the rows of `table` for the tokens of `embedded`, the first of them at `start`."""
    refuse_positions_outside(table, embedded, start)
    return table[start : start + embedded.size(1)].to(embedded)


class SinusoidalPositions(ComputedTable):
    """Add the paper's sinusoids, which are neither learned nor saved."""

    def __init__(self, d_model: int, max_length: int) -> None:
        """Compute the table once, in float32 even if the default type is less exact."""
        super().__init__()
        dtype = torch.promote_types(torch.get_default_dtype(), torch.float32)
        table = sinusoids(max_length, d_model).to(dtype)
        self.register_buffer("table", table, persistent=False)

    def forward(
        self, embedded: Float[Tensor, "batch tokens d_model"], start: int = 0
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Add each token's position vector; the first token has position `start`."""
        return embedded + select_positions(self.table, embedded, start)


class LearnedPositions(nn.Module):
    """Add a learned vector for each position, up to `max_length` (table 3, row E)."""

    def __init__(self, d_model: int, max_length: int) -> None:
        """Create the table, at the scale of the unscaled token embedding."""
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_length, d_model))
        initialize_table(self.table)

    def forward(
        self, embedded: Float[Tensor, "batch tokens d_model"], start: int = 0
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Add each token's position vector; the first token has position `start`."""
        return embedded + select_positions(self.table, embedded, start)
