r"""How weights are initialized; the paper names no scheme.

- Matrices: Xavier uniform.
- Query, key and value projections: Xavier uniform with gain $1/\sqrt{2}$, as one draw over the three
  matrices side by side would give. With gain 1 the post-norm encoder collapses to one direction and
  learns poorly, while its loss looks healthy.
- Token embeddings, learned positions, and an output matrix of its own: $\mathcal{N}(0, 1/d_\text{model})$.
- Biases: 0.
- Positions of sinusoids: computed, once they are on a device that holds values.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.model.multi_head_attention import MultiHeadAttention

PROJECTION_GAIN = 2**-0.5  # of query, key and value


@torch.no_grad()
def initialize(model: nn.Module, generator: torch.Generator | None = None) -> None:
    """Initialize the matrices and biases of linear layers, and tables of vectors, in place."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight, generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        else:
            for table in module.parameters(recurse=False):
                if table.ndim == 2:  # the vectors of LayerNorm stay as they are
                    initialize_table(table, generator)
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            for projection in (module.to_query, module.to_key, module.to_value):
                projection.weight.mul_(PROJECTION_GAIN)


def initialize_table(
    table: Float[Tensor, "rows d_model"], generator: torch.Generator | None = None
) -> None:
    r"""Draw the vectors of tokens or positions from $\mathcal{N}(0, 1/d_\text{model})$."""
    nn.init.normal_(table, std=table.size(1) ** -0.5, generator=generator)


class ComputedTable(nn.Module):
    """A module made of two sizes, whose `table` no file holds: built on "meta", it is computed later.

    That is when `to_empty` gives the model memory, or `load_state_dict(…, assign=True)` its weights.
    """

    table: Tensor

    def _apply(self, *inputs: Any, **options: Any) -> "ComputedTable":
        had_values = not self.table.is_meta
        super()._apply(*inputs, **options)  # type: ignore[no-untyped-call, unused-ignore]
        if not (had_values or self.table.is_meta):
            self.table.copy_(self._computed())  # `to_empty` leaves what was in memory
        return self

    def _load_from_state_dict(
        self, state: Any, prefix: str, metadata: dict[str, Any], *rest: Any
    ) -> None:
        super()._load_from_state_dict(state, prefix, metadata, *rest)
        if "assign_to_params_buffers" in metadata and self.table.is_meta:
            self.table = self._computed()

    def _computed(self) -> Tensor:
        with torch.device("cpu"):  # the default may still be "meta"
            return type(self)(*reversed(self.table.shape)).table
