"""The residual stream as the chapters draw it: what branches off, what is added, and the norms on it."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Circle, Rectangle

from annotated_transformer.book.drawing.boxes import Box, Point, draw_area, draw_arrow, draw_box, draw_line
from annotated_transformer.book.drawing.words import write
from annotated_transformer.plotting.palette import FIRST, INK, MUTED, NEUTRAL, PAPER


def draw_stream(ax: Axes, x: float, bottom: float, top: float) -> None:
    """Draw the thick line of the stream."""
    ax.plot([x, x], [bottom, top], color=FIRST, lw=5, ls="-", marker="", solid_capstyle="butt", zorder=1)


def draw_fork(ax: Axes, x: float, box: Box, inputs: Sequence[str], *, below: float = 0.3) -> None:
    """Draw the way from the stream at `x` into `box`: an arrow for each input, its name `below` the box."""
    middle, y = box.bottom[0], box.y - 0.6
    places = [middle + 1.6 * (number - (len(inputs) - 1) / 2) for number in range(len(inputs))]
    for place, name in zip(places, inputs, strict=True):
        draw_arrow(ax, (place, y), (place, box.y))
        write(ax, place + 0.3, box.y - below, name, "left")
    draw_line(ax, (min(x, *places), y), (max(x, *places), y))


def draw_add(ax: Axes, box: Box, spot: Point) -> None:
    """Draw the way from the top of `box` back to `spot` on the stream, where its output is added."""
    x, y = spot
    middle = box.top[0]
    draw_line(ax, box.top, (middle, y))
    draw_arrow(ax, (middle, y), (x + 0.42 if middle > x else x - 0.42, y))
    draw_plus(ax, spot)


def draw_plus(ax: Axes, spot: Point) -> None:
    """Draw the circle with a plus in which a residual connection ends."""
    ax.add_patch(Circle(spot, 0.42, facecolor=PAPER, edgecolor=INK, lw=1.5, zorder=3))
    write(ax, *spot, "+", zorder=4)


def draw_over(ax: Axes, box: Box, label: str, *, color: str = NEUTRAL, zorder: float = 3.0) -> None:
    """Draw `box` over the line that leads through it."""
    x, y, width, height = box
    ax.add_patch(Rectangle((x, y), width, height, facecolor=PAPER, lw=0, zorder=zorder - 0.5))
    draw_box(ax, x, y, width, height, "", color=color)
    ax.patches[-1].set_zorder(zorder)
    write(ax, *box.center, label, zorder=zorder + 1)


def draw_stack_panel(ax: Axes, panel: Box, color: str, *, step: float) -> None:
    """Draw the panel on which a layer stands, and two more layers behind it, each `step` farther away."""
    x, y, width, height = panel
    for offset in (2 * step, step):
        behind = x + offset, y + offset
        ax.add_patch(Rectangle(behind, width, height, facecolor=PAPER, edgecolor=to_rgba(color, 0.6), lw=1))
    ax.add_patch(Rectangle((x, y), width, height, facecolor=PAPER, lw=0))
    draw_area(ax, (x, y), width, height, color, 0.14, lw=1.5)


def write_shape(ax: Axes, x: float, y: float, shape: str, gap: float = 0.3) -> None:
    """Write the shape of what flows at `x`, at the right of it or, where `gap` is negative, at the left."""
    write(ax, x + gap, y, shape, "left" if gap > 0 else "right", color=MUTED)
