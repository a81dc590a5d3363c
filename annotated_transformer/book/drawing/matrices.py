"""Matrices with numbers in their cells, with which the book draws products, masks, and the softmax."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from jaxtyping import Bool
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle
from torch import Tensor

from annotated_transformer.book.drawing.boxes import Box, Point
from annotated_transformer.book.drawing.words import Words, write, write_beside
from annotated_transformer.plotting.palette import INK, KEY_TEXT, MASKED, MUTED, PAPER, QUERY_TEXT

AXIS_COLORS = {"queries": QUERY_TEXT, "keys": KEY_TEXT}
LETTER = 0.33  # of the house font, in units of a canvas 14 units wide
POINTS = 7.6  # the same in points
CROWDED = 1.2  # times the width of a cell: from here on, numbers touch their neighbors
Numbers = Tensor | Sequence[Sequence[float | int | str]]


class Highlight(NamedTuple):
    """The cells that are lit: a row, a column, or a single cell; None stands for all rows or columns."""

    row: int | None
    column: int | None


def row(number: int) -> Highlight:
    """Light up a row."""
    return Highlight(number, None)


def column(number: int) -> Highlight:
    """Light up a column."""
    return Highlight(None, number)


def cell(row: int, column: int) -> Highlight:
    """Light up one cell."""
    return Highlight(row, column)


def draw_matrix(
    ax: Axes,
    x: float,
    y: float,
    numbers: Numbers,
    *,
    color: str,
    name: str = "",
    rows: Words = (),
    columns: Words = (),
    axes: tuple[str, str] = ("", ""),
    highlight: Sequence[Highlight] = (),
    mask: Bool[Tensor, "rows columns"] | None = None,
    size: Point = (1.1, 0.9),
) -> Box:
    """Draw a matrix with its numbers in cells of `size`, its lower left corner at (x, y), and return its box.

    `rows` and `columns` name each row and column; `axes` names the two axes, in the color of their role;
    `name` stands below. Lit cells are filled and bold, cells where `mask` is False are hatched. Strings are
    written as they are.

    Raises:
        ValueError: The names or the mask do not fit the numbers.
    """
    lines = as_lists(numbers)
    shape = len(lines), len(lines[0])
    for kind, names, count in (("rows", rows, shape[0]), ("columns", columns, shape[1])):
        if names and len(names) != count:
            raise ValueError(f"{kind}={list(names)} names {len(names)}, but the matrix has {count}")
    if mask is not None and tuple(mask.shape) != shape:
        raise ValueError(f"mask has shape {tuple(mask.shape)}, but the matrix has {shape}")
    width, height = size
    box = Box(x, y, shape[1] * width, shape[0] * height)
    for i, line in enumerate(lines):
        for j, number in enumerate(line):
            lit = any(light.row in (None, i) and light.column in (None, j) for light in highlight)
            hidden = mask is not None and not mask[i, j]
            corner = x + j * width, y + box.height - (i + 1) * height
            _draw_cell(ax, corner, size, write_number(number), color, lit=lit, hidden=hidden)
    ax.add_patch(Rectangle((x, y), box.width, box.height, fill=False, edgecolor=color, linewidth=2, zorder=4))
    for i, word in enumerate(rows):
        spot = x - 0.15, y + box.height - (i + 0.5) * height
        write(ax, *spot, word, "right")
    upright = any(LETTER * len(word) > width for word in columns)
    for j, word in enumerate(columns):
        spot = x + (j + 0.5) * width, y + box.height + 0.12
        write(ax, *spot, word, height="bottom", rotation=90 if upright else 0)
    above = max(map(len, columns), default=0) if upright else 2 * bool(columns)
    _name_axes(ax, box, axes, letters=(max(map(len, rows), default=0), above))
    if name:
        write(ax, box.center[0], y - 0.15, name, height="top", weight="bold", color=INK)
    return box


def as_lists(numbers: Numbers) -> list[list[Any]]:
    """Return a matrix as a list of its rows."""
    return numbers.tolist() if isinstance(numbers, Tensor) else [list(line) for line in numbers]


def draw_operator(ax: Axes, x: float, y: float, text: str) -> None:
    """Write what happens between two matrices, such as × or =, centered at (x, y)."""
    write(ax, x, y, text, fontsize=17 if len(text) == 1 else 12, color=INK)


def write_number(number: float | int | str) -> str:
    """Write a number with at most two decimals, without trailing zeros, and with a true minus sign."""
    if isinstance(number, str):
        return number
    if number in (float("inf"), float("-inf")):
        return "∞" if number > 0 else "−∞"
    text = f"{number:.2f}".rstrip("0").rstrip(".") if number % 1 else f"{number:.0f}"
    return ("0" if text == "-0" else text).replace("-", "−")


def _draw_cell(
    ax: Axes, corner: Point, size: Point, text: str, color: str, *, lit: bool, hidden: bool
) -> None:
    face = "none" if hidden else to_rgba(color, 0.5 if lit else 0.13)
    hatch = "////" if hidden else None
    grid = MASKED if hidden else to_rgba(color, 0.6)
    frame = Rectangle(corner, *size, facecolor=face, edgecolor=grid, hatch=hatch, linewidth=0.7)
    ax.add_patch(frame)
    spot = corner[0] + size[0] / 2, corner[1] + size[1] / 2
    if hidden and text:  # a plate, so that the hatching does not cross the text
        plate = spot[0] - 0.4 * size[0], spot[1] - 0.3 * size[1]
        ax.add_patch(Rectangle(plate, 0.8 * size[0], 0.6 * size[1], facecolor=PAPER, edgecolor="none"))
    weight = "bold" if lit else "normal"
    label = ax.text(*spot, text, ha="center", va="center", weight=weight, color=MUTED if hidden else INK)
    wide, room = (part.get_window_extent().width for part in (label, frame))
    if text.replace("−", "").startswith("0.") and wide > CROWDED * room:
        label.set_text(write_number(round(float(text.replace("−", "-")), 1)))


def _name_axes(ax: Axes, box: Box, axes: tuple[str, str], *, letters: tuple[int, int]) -> None:
    """Name the axes at the left and above, beyond row and column names of `letters` characters."""
    for name, point, offset, rotation, ha, va in (
        (axes[0], box.left, (-4.0 - POINTS * letters[0], 0.0), 90, "right", "center"),
        (axes[1], box.top, (0.0, 4.0 + POINTS * letters[1]), 0, "center", "bottom"),
    ):
        if name:
            color = AXIS_COLORS.get(name, MUTED)
            write_beside(ax, point, offset, name, ha, va, rotation=rotation, color=color)
