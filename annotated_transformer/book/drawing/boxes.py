"""The shapes of the book's drawings: a tensor is a box with named axes, and an operation is an arrow."""

from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from annotated_transformer.book.drawing.palette import INK, MUTED, NEUTRAL, PAPER

Point = tuple[float, float]


class Box(NamedTuple):
    """Where something was drawn; its sides are where arrows start and end."""

    x: float
    y: float
    width: float
    height: float

    @property
    def left(self) -> Point:
        """The middle of the left side."""
        return self.x, self.y + self.height / 2

    @property
    def right(self) -> Point:
        """The middle of the right side."""
        return self.x + self.width, self.y + self.height / 2

    @property
    def top(self) -> Point:
        """The middle of the upper side."""
        return self.x + self.width / 2, self.y + self.height

    @property
    def bottom(self) -> Point:
        """The middle of the lower side."""
        return self.x + self.width / 2, self.y

    @property
    def center(self) -> Point:
        """The middle."""
        return self.x + self.width / 2, self.y + self.height / 2


def draw_tensor(
    ax: Axes,
    x: float,
    y: float,
    rows: int,
    cols: int,
    color: str,
    label: str,
    *,
    axes: tuple[str, str] = ("tokens", "d_model"),
    unit: float = 0.25,
    text_color: str = INK,
) -> Box:
    """Draw a matrix of `rows` × `cols` cells, each `unit` wide, from its lower left corner at (x, y).

    `label` stands inside, `axes` names the rows at the left and the columns above; an empty name is left out.
    """
    box = Box(x, y, cols * unit, rows * unit)
    for row in range(1, rows):
        ax.plot([x, x + box.width], [y + row * unit] * 2, color=color, lw=0.6, ls="-", marker="")
    for col in range(1, cols):
        ax.plot([x + col * unit] * 2, [y, y + box.height], color=color, lw=0.6, ls="-", marker="")
    face = to_rgba(color, 0.3)
    ax.add_patch(Rectangle((x, y), box.width, box.height, facecolor=face, edgecolor=color, linewidth=2))
    plate = {"facecolor": PAPER, "alpha": 0.75, "edgecolor": "none", "pad": 1}  # above the grid
    ax.text(*box.center, label, ha="center", va="center", color=text_color, weight="bold", bbox=plate)
    _beside(ax, axes[0], box.left, (-3.0, 0.0), ha="right", va="center", rotation=90.0)
    _beside(ax, axes[1], box.top, (0.0, 3.0), ha="center", va="bottom")
    return box


def draw_box(
    ax: Axes, x: float, y: float, width: float, height: float, label: str, *, color: str = NEUTRAL
) -> Box:
    """Draw an operation ("softmax") or a layer as a rounded box, from its lower left corner at (x, y)."""
    style = "round,pad=0,rounding_size=0.1"
    face = to_rgba(color, 0.3)
    ax.add_patch(FancyBboxPatch((x, y), width, height, style, facecolor=face, edgecolor=color, linewidth=1.5))
    box = Box(x, y, width, height)
    ax.text(*box.center, label, ha="center", va="center")
    return box


def draw_arrow(ax: Axes, start: Point | Box, end: Point | Box, label: str = "", *, color: str = INK) -> None:
    """Draw an arrow and the operation that it stands for: above it, or at the right of an upright one.

    Between boxes it runs from side to side, so that it ends on their edges.
    """
    start, end = _side(start, end), _side(end, start)
    arrow = FancyArrowPatch(
        start, end, arrowstyle="-|>", mutation_scale=14, color=color, linewidth=1.5, shrinkA=0, shrinkB=0
    )
    ax.add_patch(arrow)
    middle = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    if abs(end[0] - start[0]) >= abs(end[1] - start[1]):
        _beside(ax, label, middle, (0.0, 4.0), ha="center", va="bottom")
    else:
        _beside(ax, label, middle, (6.0, 0.0), ha="left", va="center")


def draw_line(ax: Axes, *points: Point, color: str = INK) -> None:
    """Draw a thin line through all points, behind what stands on it."""
    across, up = zip(*points, strict=True)
    ax.plot(across, up, color=color, lw=1.5, ls="-", marker="", zorder=1)


def _side(place: Point | Box, other: Point | Box) -> Point:
    """Return where an arrow to or from `other` meets `place`: the middle of the side that faces it."""
    if not isinstance(place, Box):
        return place
    to = other.center if isinstance(other, Box) else other
    right, up = to[0] - place.center[0], to[1] - place.center[1]
    if abs(right) * place.height > abs(up) * place.width:
        return place.right if right > 0 else place.left
    return place.top if up > 0 else place.bottom


def _beside(
    ax: Axes, text: str, point: Point, offset: Point, *, ha: str, va: str, rotation: float = 0.0
) -> None:
    """Write `text` a few points away from `point`."""
    if text:
        ax.annotate(
            text, point, offset, textcoords="offset points", ha=ha, va=va, rotation=rotation, color=MUTED
        )
