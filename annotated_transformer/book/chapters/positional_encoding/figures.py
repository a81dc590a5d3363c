"""The tables and results of the chapter on positional encoding."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from torch import Tensor

from annotated_transformer.book.drawing.boxes import draw_arrow
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import draw_matrix
from annotated_transformer.book.drawing.words import write
from annotated_transformer.plotting.attention_map import draw_attention
from annotated_transformer.plotting.palette import FIRST, LOOKS, MUTED, NEUTRAL, OUTPUT, SECOND

LEVELS = 4  # of either sign


def draw_two_orders(outputs: Mapping[str, Mapping[str, Float[Tensor, " d_model"]]], *, word: str) -> Figure:
    """Draw what `word` receives in several sentences, in one panel without positions and one with them."""
    rows = sum(len(sentences) + 1.3 for sentences in outputs.values())
    fig, ax = new_canvas(14.0, 1.15 * rows)
    y = 1.15 * rows
    for title, sentences in outputs.items():
        y -= 1.2
        write(ax, 0.1, y + 0.35, title, "left", weight="bold")
        write(ax, 13.8, y + 0.35, f"output at {word}", "right", color=MUTED)
        vectors = list(sentences.values())
        for sentence, vector in sentences.items():
            y -= 1.15
            same = all((vector - other).abs().max() < 1e-9 for other in vectors)
            box = draw_matrix(ax, 8.4, y, vector[None], color=OUTPUT if same else FIRST, size=(1.36, 0.9))
            write(ax, 0.1, box.left[1], sentence, "left")
            draw_arrow(ax, (7.75, box.left[1]), box.left)
        y -= 0.15
    return fig


def draw_table(table: Float[Tensor, "positions d_model"]) -> Figure:
    """Draw the table, violet where it is positive and amber where it is negative, and paper at 0."""
    fig, (scale, ax) = new_figure(2, 1, height=4.5)
    fig.set_layout_engine("none")  # which would give both the same height
    scale.set_position((0.3, 0.93, 0.54, 0.04))
    ax.set_position((0.15, 0.14, 0.82, 0.71))
    count = 2 * LEVELS + 1
    _draw_signed(scale, torch.linspace(-1, 1, count, dtype=table.dtype)[None])
    scale.set_xticks([0.5, count / 2, count - 0.5], ["−1", "0", "1"])
    scale.set_yticks([0.5], ["value"])
    scale.tick_params(length=0)
    _draw_signed(ax, table)
    ax.set(xlabel="feature", ylabel="position")
    for axis, places in zip((ax.yaxis, ax.xaxis), table.shape, strict=True):
        shown = [*range(0, places - 4, 10), places - 1]
        axis.set_ticks([place + 0.5 for place in shown], [str(place) for place in shown])
    return fig


def _draw_signed(ax: Axes, values: Float[Tensor, "rows columns"]) -> None:
    """Fill a cell for each value from −1 to 1, with one path for each level of each sign."""
    levels = (values * LEVELS).round()
    for level in range(-LEVELS, LEVELS + 1):
        cells = [
            Path(
                [(column, top), (column + 1, top), (column + 1, end), (column, end), (column, top)],
                closed=True,
            )
            for column, line in enumerate((levels == level).T.tolist())
            for top, end in _runs(line)
        ]
        if level and cells:
            color = to_rgba(FIRST if level > 0 else SECOND, abs(level) / LEVELS)
            ax.add_patch(PathPatch(Path.make_compound_path(*cells), facecolor=color, linewidth=0))
    ax.set(xlim=(0, values.size(1)), ylim=(values.size(0), 0))
    ax.spines[:].set_visible(True)


def _runs(line: Sequence[bool]) -> list[tuple[int, int]]:
    """Return where each run of True begins, and where it has ended."""
    edges = [place for place in range(len(line) + 1) if (*line, False)[place] != (False, *line)[place]]
    return list(zip(edges[0::2], edges[1::2], strict=True))


def draw_mirrors(maps: Mapping[str, Float[Tensor, "positions positions"]]) -> Figure:
    """Draw one attention map for each model, side by side, over the positions of the sequence."""
    fig, axes = new_figure(1, len(maps), height=2.75)
    for ax, (name, weights) in zip(axes, maps.items(), strict=True):
        positions = [str(position) for position in range(len(weights))]
        draw_attention(ax, weights, positions, positions, print_values=False)
        ax.set_title(name, pad=10)
    return fig


def draw_windows(
    runs: Mapping[str, Sequence[Sequence[float]]],
    starts: Sequence[int],
    *,
    trained: int,
    places: Sequence[tuple[float, float]],
) -> Figure:
    """Draw the accuracy on windows of text over where they start; training has seen `trained` positions."""
    fig, ax = new_figure(height=3.7)
    ax.axvspan(0, trained, color=NEUTRAL, alpha=0.25, linewidth=0)
    write(ax, 0.4, 0.03, "trained", "left", "bottom", color=MUTED)
    for (name, lines), (color, style, mark), place in zip(runs.items(), LOOKS, places, strict=False):
        for line in lines:
            shown = [round(value, 2) for value in line]
            ax.plot(starts, shown, color=color, linestyle=style, marker=mark, markersize=4, lw=1.5)
        write(ax, *place, name, "left")
    ax.set(xlabel="first position of the window", ylabel="accuracy", ylim=(0, 1.08), xlim=(0, None))
    ax.set(xticks=list(starts), yticks=[0, 0.5, 1], yticklabels=["0", "½", "1"])
    return fig
