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
from annotated_transformer.book.drawing.matrices import draw_matrix, draw_operator
from annotated_transformer.book.drawing.words import label_ends, write
from annotated_transformer.plotting.attention_map import SHADE, draw_attention, heat
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import FIRST, LOOKS, MUTED, NEUTRAL, OUTPUT, SECOND

LEVELS = 8  # of a heat map, above the lowest


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
    """Draw the table as a heat map, from paper at −1 to the fullest color at 1."""
    fig, (scale, ax) = new_figure(2, 1, height=4.5)
    fig.set_layout_engine("none")  # which would give both the same height
    scale.set_position((0.3, 0.93, 0.54, 0.04))
    ax.set_position((0.15, 0.14, 0.82, 0.71))
    steps = torch.arange(LEVELS + 1, dtype=table.dtype) * 2 / LEVELS - 1
    _draw_heat(scale, steps[None])
    scale.set_xticks([0.5, LEVELS / 2 + 0.5, LEVELS + 0.5], ["−1", "0", "1"])
    scale.set_yticks([0.5], ["value"])
    scale.tick_params(length=0)
    _draw_heat(ax, table)
    ax.set(xlabel="feature", ylabel="position")
    for axis, count in zip((ax.yaxis, ax.xaxis), table.shape, strict=True):
        places = [*range(0, count - 4, 10), count - 1]
        axis.set_ticks([place + 0.5 for place in places], [str(place) for place in places])
    return fig


def _draw_heat(ax: Axes, values: Float[Tensor, "rows columns"]) -> None:
    """Fill a cell for each value from −1 to 1.

    Each shade covers the cells with at least its value, so that it lies on the one below without a gap.
    """
    levels = ((values + 1) / 2 * LEVELS).round()
    for level in range(LEVELS + 1):
        cells = [
            Path(
                [(column, top), (column + 1, top), (column + 1, end), (column, end), (column, top)],
                closed=True,
            )
            for column, line in enumerate((levels >= level).T.tolist())
            for top, end in _runs(line)
        ]
        area = PathPatch(Path.make_compound_path(*cells), facecolor=heat(level / LEVELS), linewidth=0)
        area.set_gid(f"{SHADE}|{level / LEVELS:.3f}")
        ax.add_patch(area)
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


def draw_room(variances: Mapping[str, Sequence[float]]) -> Figure:
    """Draw the variance of positions and of trained word vectors over groups of features, fast ones first."""
    fig, (above, below) = new_figure(2, 1, height=4.6)
    for name, values in variances.items():
        ax = below if name == "positions" else above
        color, style, mark = (NEUTRAL, "-", "^") if ax is below else LOOKS[len(ax.lines)]
        ax.plot(range(1, len(values) + 1), values, color=color, linestyle=style, marker=mark, label=name)
    for ax in (above, below):
        ax.set(xticks=list(range(1, 9)), ylabel="variance")
    above.set_title("words", loc="left")
    label_ends(above)
    below.set_title("positions", loc="left")
    below.set(xlabel="group of 20 features, fastest first", ylim=(0, None))
    return fig


def draw_sums(
    word: str, vector: Float[Tensor, " d_model"], encodings: Mapping[int, Float[Tensor, " d_model"]]
) -> Figure:
    """Draw the vector of a word, the encodings that are added to it at several positions, and the sums."""
    high, size = len(vector), (1.75, 0.9)
    fig, ax = new_canvas(19.5, 0.9 * high + 2.4, width=WIDE)
    for group, (position, encoding) in enumerate(encodings.items()):
        x = 0.3 + 10.2 * group
        ax.text(x, 0.9 * high + 2.0, f"{word} at position {position}", va="center", weight="bold")
        columns = (
            ("word", vector, FIRST),
            ("position", encoding, SECOND),
            ("input", vector + encoding, NEUTRAL),
        )
        for place, (name, numbers, color) in enumerate(columns):
            box = draw_matrix(ax, x + 3.0 * place, 0.3, numbers[:, None], color=color, size=size)
            write(ax, box.center[0], box.top[1] + 0.2, name, height="bottom", color=MUTED)
            if place < 2:
                draw_operator(ax, box.right[0] + 0.62, box.right[1], "+="[place])
    return fig


def draw_scores(maps: Mapping[str, Float[Tensor, "queries keys"]]) -> Figure:
    """Draw scores between positions as a heat map each, from paper at the lowest score to the highest."""
    fig, axes = new_figure(1, len(maps), width=WIDE, height=2.55)
    for ax, (title, scores) in zip(axes, maps.items(), strict=True):
        low, high = scores.min(), scores.max()
        _draw_heat(ax, 2 * (scores - low) / (high - low) - 1)
        ax.set_title(title, loc="left")
        ax.set(aspect="equal", xlabel="position of the key")
        ends = [0, len(scores) - 1]
        for set_ticks in (ax.set_xticks, ax.set_yticks):
            set_ticks([place + 0.5 for place in ends], [str(place) for place in ends])
    axes[0].set_ylabel("position of the query")
    return fig


def draw_ranges(
    training: Mapping[str, Sequence[int]], windows: Sequence[int], *, length: int, last: int
) -> Figure:
    """Draw at which positions sequences lie in training, and below them the windows of the test."""
    rows = {**training, "tested": windows}
    fig, ax = new_figure(height=0.5 + 0.19 * sum(len(starts) + 1.9 for starts in rows.values()))
    y = 0.0
    looks = (FIRST, ""), (SECOND, "///"), (NEUTRAL, "")
    for (name, starts), (color, hatch) in zip(rows.items(), looks, strict=True):
        write(ax, 0, y, name, "left", weight="bold")
        for start in starts:
            y += 1.0
            face = to_rgba(color, 0.5)
            ax.barh(y + 0.2, length, left=start, height=0.8, facecolor=face, edgecolor=color, hatch=hatch)
        y += 1.9
    ax.set(xlim=(0, last), ylim=(y - 1.0, -0.8), xlabel="position", yticks=[])
    ax.set_xticks(range(0, last + 1, length))
    ax.spines["left"].set_visible(False)
    return fig
