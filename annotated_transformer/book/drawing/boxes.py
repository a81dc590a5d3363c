"""The shapes of the book's drawings: boxes, and the arrows and lines between them."""

from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from annotated_transformer.plotting.palette import INK, MUTED, NEUTRAL, VALUE

Number = float | int
Point = tuple[Number, Number]


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


def draw_box(
    ax: Axes, x: Number, y: Number, width: Number, height: Number, label: str, *, color: str = NEUTRAL
) -> Box:
    """Draw an operation ("softmax") or a layer as a rounded box, from its lower left corner at (x, y)."""
    style = "round,pad=0,rounding_size=0.1"
    face = to_rgba(color, 0.3)
    ax.add_patch(FancyBboxPatch((x, y), width, height, style, facecolor=face, edgecolor=color, linewidth=1.5))
    box = Box(x, y, width, height)
    ax.text(*box.center, label, ha="center", va="center")
    return box


def draw_area(
    ax: Axes, corner: Point, width: Number, height: Number, color: str, share: float, **look: Any
) -> None:
    """Draw a rectangle from its lower left corner, edged in a color, and filled by a share of it."""
    look = {"facecolor": to_rgba(color, share), "edgecolor": color, **look}
    ax.add_patch(Rectangle(corner, width, height, **look))


def draw_frame(ax: Axes, corner: Point, width: Number, height: Number, color: str = INK, **look: Any) -> None:
    """Draw the outline of a rectangle from its lower left corner, around what is to be seen."""
    ax.add_patch(Rectangle(corner, width, height, fill=False, edgecolor=color, **look))


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
        offset, ha, va = (0.0, 4.0), "center", "bottom"
    else:
        offset, ha, va = (6.0, 0.0), "left", "center"
    if label:
        ax.annotate(label, middle, offset, textcoords="offset points", ha=ha, va=va, color=MUTED)


def draw_tip(ax: Axes, start: Point, tip: Point, color: str | tuple[float, ...], width: float) -> None:
    """Draw an arrow of that width, in points, whose tip ends exactly there."""
    look = {"arrowstyle": "-|>", "color": color, "lw": width, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", tip, start, arrowprops=look)


def draw_line(ax: Axes, *points: Point, color: str = INK) -> None:
    """Draw a thin line through all points, behind what stands on it."""
    across, up = zip(*points, strict=True)
    ax.plot(across, up, color=color, lw=1.5, ls="-", marker="", zorder=1)


def draw_weight(ax: Axes, start: Point, end: Point, weight: float, *, color: str = VALUE) -> None:
    """Draw a line that is wider for a larger weight."""
    across, up = zip(start, end, strict=True)
    ax.plot(across, up, color=color, lw=_width(weight), ls="-", marker="", alpha=0.75, solid_capstyle="butt")


def draw_weight_arrow(ax: Axes, start: Point, end: Point, weight: float, *, color: str = VALUE) -> None:
    """Draw an arrow from what is read to what reads it, wider for a larger weight."""
    width = _width(weight)
    style = f"simple,tail_width={width:.2f},head_width={width + 8:.2f},head_length={width + 5:.2f}"
    look: dict[str, Any] = {"facecolor": to_rgba(color, 0.75), "edgecolor": "none"}
    ax.add_patch(
        FancyArrowPatch(start, end, arrowstyle=style, mutation_scale=1, shrinkA=0, shrinkB=0, **look)
    )


def _width(weight: float) -> float:
    """Return the points of what stands for a weight."""
    return max(0.6, 9 * weight)


def _side(place: Point | Box, other: Point | Box) -> Point:
    """Return where an arrow to or from `other` meets `place`: the middle of the side that faces it."""
    if not isinstance(place, Box):
        return place
    to = other.center if isinstance(other, Box) else other
    right, up = to[0] - place.center[0], to[1] - place.center[1]
    if abs(right) * place.height > abs(up) * place.width:
        return place.right if right > 0 else place.left
    return place.top if up > 0 else place.bottom
