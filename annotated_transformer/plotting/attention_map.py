"""Attention weights as a map: queries down, keys across, one scale from 0 to 1 on every page."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import matplotlib
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from torch import Tensor

from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.plotting.figures import HOUSE_STYLE
from annotated_transformer.plotting.palette import (
    HEAT,
    HEAT_INK_HIGH,
    HEAT_INK_LOW,
    HEAT_SWITCH,
    MASKED,
    PAPER,
)

LARGEST_PRINTED = 8
WORDS: dict[str, Any] = {"parse_math": False}  # dollar signs in a word enclose no formula
CELL = "at-cell"  # marks a map's cells; the book turns the marks into classes and data attributes
SHADE = "at-shade"  # marks an area whose color follows the book's theme


@refuses_other_kinds
@matplotlib.rc_context(HOUSE_STYLE)
def draw_attention(
    ax: Axes,
    weights: Float[Tensor, "queries keys"],
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    mask: Bool[Tensor, "queries keys"] | None = None,
    print_values: bool = True,
) -> None:
    """Draw how much each query (row) reads from each key (column); where `mask` is False, a gray hatch.

    The weights are printed in maps of up to 8 × 8. On the book's pages, a map responds to mouse, touch, and
    arrow keys.

    Raises:
        ValueError: The words do not fit the weights, or the weights are not between 0 and 1.
    """
    shape = (len(queries), len(keys))
    if tuple(weights.shape) != shape:
        raise ValueError(f"weights has shape {tuple(weights.shape)}, but there are {shape} queries and keys")
    if mask is not None and tuple(mask.shape) != shape:
        raise ValueError(f"mask has shape {tuple(mask.shape)}, but there are {shape} queries and keys")
    low, high = weights.min().item(), weights.max().item()
    if not (low > -1e-6 and high < 1 + 1e-6):
        raise ValueError(
            f"weights run from {low:.4f} to {high:.4f}; draw them after the softmax, from 0 to 1"
        )
    printed = print_values and max(shape) <= LARGEST_PRINTED
    for row in range(shape[0]):
        for col in range(shape[1]):
            exact = float(weights[row, col])
            weight = round(exact, 3)  # low bits differ between processors
            hidden = mask is not None and not mask[row, col]
            cell = Rectangle((col, row), 1, 1, edgecolor=MASKED, linewidth=0.5, facecolor=heat(weight))
            total = f"{weights[row].sum().item():.2f}"
            words = quote(queries[row], safe=""), quote(keys[col], safe="")
            cell.set_gid("|".join([CELL, str(row), str(col), f"{exact:.2f}", total, *words]))
            if hidden:
                cell.set(facecolor="none", hatch="////", edgecolor=MASKED)
                cell.set_gid(None)
            ax.add_patch(cell)
            if printed and not hidden:
                ink = HEAT_INK_HIGH if weight > HEAT_SWITCH else HEAT_INK_LOW
                ax.text(col + 0.5, row + 0.5, f"{exact:.2f}", ha="center", va="center", color=ink)
    turned = max(map(len, keys)) * len(keys) > 28  # characters that stand side by side at the house width
    ax.set(xlim=(0, shape[1]), ylim=(shape[0], 0), aspect="equal", xlabel="keys", ylabel="queries")
    ax.set_xticks([col + 0.5 for col in range(shape[1])], keys, rotation=90 if turned else 0, **WORDS)
    ax.set_yticks([row + 0.5 for row in range(shape[0])], queries, **WORDS)
    ax.tick_params(length=0, labeltop=True, labelbottom=False)
    ax.xaxis.set_label_position("top")
    ax.spines[:].set_visible(False)


def heat(weight: float) -> str:
    """Return the color of a weight on a light page: paper at 0, `HEAT` at 1, mixed in sRGB as CSS mixes."""
    ends = [[int(end[i : i + 2], 16) for i in (1, 3, 5)] for end in (PAPER, HEAT)]
    mixed = [round(low + (high - low) * weight) for low, high in zip(*ends, strict=True)]
    return "#" + "".join(f"{part:02x}" for part in mixed)
