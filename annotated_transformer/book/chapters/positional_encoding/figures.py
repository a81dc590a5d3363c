"""The drawings of the chapter on positional encoding."""

import math
from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Circle, PathPatch
from matplotlib.path import Path
from torch import Tensor

from annotated_transformer.book.drawing.boxes import Point, draw_arrow
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import draw_matrix
from annotated_transformer.plotting.attention_map import SHADE, draw_attention, heat
from annotated_transformer.plotting.palette import FIRST, INK, LOOKS, MUTED, NEUTRAL, OUTPUT, SECOND

LEVELS = 8  # of a heat map, above the lowest


def draw_two_orders(outputs: Mapping[str, Mapping[str, Float[Tensor, " d_model"]]], *, word: str) -> Figure:
    """Draw what `word` receives in several sentences, in one panel without positions and one with them."""
    rows = sum(len(sentences) + 1.3 for sentences in outputs.values())
    fig, ax = new_canvas(14.0, 1.15 * rows)
    y = 1.15 * rows
    for title, sentences in outputs.items():
        y -= 1.2
        ax.text(0.1, y + 0.35, title, ha="left", va="center", weight="bold")
        ax.text(13.8, y + 0.35, f"output at {word}", ha="right", va="center", color=MUTED)
        vectors = list(sentences.values())
        for sentence, vector in sentences.items():
            y -= 1.15
            same = all((vector - other).abs().max() < 1e-9 for other in vectors)
            box = draw_matrix(ax, 8.4, y, vector[None], color=OUTPUT if same else FIRST, size=(1.36, 0.9))
            ax.text(0.1, box.left[1], sentence, ha="left", va="center")
            draw_arrow(ax, (7.75, box.left[1]), box.left)
        y -= 0.15
    return fig


def draw_clocks(
    table: Float[Tensor, "positions d_model"], positions: Sequence[int], wavelengths: Sequence[float]
) -> Figure:
    """Draw each pair of features as a clock, a column for each position and a row for each pair."""
    pairs = table.size(1) // 2
    step, pitch, left = 1.42, 1.5, 4.15
    fig, ax = new_canvas(14.0, 1.3 + step * pairs)
    for row, wavelength in enumerate(wavelengths):
        y = step * (pairs - row) - 0.5
        ax.text(0.1, y, f"1 turn in\n{wavelength:,.0f} words", ha="left", va="center")
        for column, values in enumerate(table.tolist()):
            _draw_dial(ax, (left + pitch * column, y), values[2 * row : 2 * row + 2])
    top = step * pairs + 0.55
    ax.text(0.1, top, "position", ha="left", va="center", color=MUTED)
    for column, position in enumerate(positions):
        ax.text(left + pitch * column, top, f"{position}", ha="center", va="center", weight="bold")
    return fig


def _draw_dial(
    ax: Axes, center: Point, hand: Sequence[float], *, color: str = FIRST, radius: float = 0.6
) -> None:
    """Draw a clock whose hand ends at (sine, cosine): at twelve for an angle of 0, then clockwise."""
    ax.add_patch(Circle(center, radius, fill=False, edgecolor=NEUTRAL, linewidth=1.2))
    _draw_hand(ax, center, hand, color=color, radius=radius)
    ax.plot(*center, color=INK, marker="o", markersize=3, linestyle="")


def _draw_hand(ax: Axes, center: Point, hand: Sequence[float], *, color: str, radius: float) -> None:
    sine, cosine = hand
    tip = center[0] + radius * sine, center[1] + radius * cosine
    ax.plot([center[0], tip[0]], [center[1], tip[1]], color=color, lw=2.4, linestyle="-", marker="")


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


def draw_wave(pair: Float[Tensor, "positions 2"], *, wavelength: float) -> Figure:
    """Draw the two features of a pair over the positions, and print how many words a turn takes."""
    fig, ax = new_figure(height=2.7)
    for column, (name, color, style) in enumerate((("sine", FIRST, "-"), ("cosine", SECOND, "--"))):
        ax.plot(range(len(pair)), pair[:, column], color=color, linestyle=style, marker="", label=name)
    ax.set(xlabel="position", ylabel="value", ylim=(-1.1, 1.1), xlim=(0, len(pair) - 1))
    ax.set_yticks([-1, 0, 1], ["−1", "0", "1"])
    ax.set_title(f"1 turn in {wavelength:,.1f} words", loc="left", weight="normal")
    ax.legend(loc="lower right", ncols=2, bbox_to_anchor=(1.02, 0.98), borderaxespad=0.0, handlelength=1.6)
    return fig


def draw_turn(
    starts: Mapping[int, Float[Tensor, "pairs 2"]],
    angles: Sequence[float],
    products: Float[Tensor, " offsets"],
    *,
    offset: int,
) -> Figure:
    """Draw several positions turned by the same offset, and the dot product that belongs to it.

    `starts` has the pairs of each position, and `angles` how far each pair turns.
    """
    fig, (ax, curve) = new_figure(2, 1, height=5.4)
    columns, step = len(angles), 2.2
    ax.set(xlim=(-2.9, step * columns - 0.9), ylim=(-step * len(starts) + 1.0, 1.5), aspect="equal")
    ax.set_axis_off()
    for column, angle in enumerate(angles):
        ax.text(step * column, 1.3, f"{math.degrees(angle):,.0f}°", ha="center", va="center", weight="bold")
    ax.text(-2.8, 1.3, "turns by", ha="left", va="center", color=MUTED)
    for row, (position, pairs) in enumerate(starts.items()):
        y = -step * row
        ax.text(-2.8, y, f"{position} to {position + offset}", ha="left", va="center")
        for column, (hand, angle) in enumerate(zip(pairs.tolist(), angles, strict=True)):
            center = step * column, y
            _draw_dial(ax, center, hand, color=NEUTRAL, radius=0.9)
            begin = math.atan2(hand[0], hand[1])
            turned = math.sin(begin + angle), math.cos(begin + angle)
            _draw_hand(ax, center, turned, color=FIRST, radius=0.9)
            sweep = min(angle, 2 * math.pi)
            if sweep > 0:
                ends = [90 - math.degrees(begin + sweep), 90 - math.degrees(begin)]
                arc = Arc(center, 1.0, 1.0, theta1=ends[0], theta2=ends[1], color=SECOND, linewidth=2)
                ax.add_patch(arc)
    curve.plot(range(len(products)), products, color=NEUTRAL, linestyle="-", marker="")
    curve.plot([offset], [products[offset]], color=FIRST, linestyle="", marker="o", markersize=9)
    label = f"{products[offset]:.1f}"
    curve.annotate(label, (offset, products[offset]), (8, 6), textcoords="offset points", weight="bold")
    curve.set(xlabel="offset", ylabel="dot product", ylim=(0, 1.2 * float(products.max())))
    return fig


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
    ax.text(0.4, 0.03, "trained", ha="left", va="bottom", color=MUTED)
    for (name, lines), (color, style, mark), place in zip(runs.items(), LOOKS, places, strict=False):
        for line in lines:
            shown = [round(value, 2) for value in line]
            ax.plot(starts, shown, color=color, linestyle=style, marker=mark, markersize=4, lw=1.5)
        ax.text(*place, name, ha="left", va="center")
    ax.set(xlabel="first position of the window", ylabel="accuracy", ylim=(0, 1.08), xlim=(0, None))
    ax.set_xticks(list(starts))
    ax.set_yticks([0, 0.5, 1], ["0", "½", "1"])
    return fig


def draw_room(variances: Mapping[str, Sequence[float]]) -> Figure:
    """Draw the variance of positions and of trained word vectors over groups of features, fast ones first."""
    fig, (above, below) = new_figure(2, 1, height=4.6)
    for ax, wanted in ((above, False), (below, True)):
        for (name, values), (color, style, mark) in zip(variances.items(), LOOKS, strict=False):
            if (name == "positions") == wanted:
                groups = range(1, len(values) + 1)
                ax.plot(groups, values, color=color, linestyle=style, marker=mark, label=name)
        ax.set_xticks(list(range(1, 9)))
        ax.set_ylabel("variance")
    above.set_title("words", loc="left")
    above.legend(loc="lower right")
    below.set_title("positions", loc="left")
    below.set(xlabel="group of 20 features, fastest first", ylim=(0, None))
    return fig
