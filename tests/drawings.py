"""What the tests of the figures read from a drawing: its words, and the numbers that its marks show."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from annotated_transformer.book.drawing.figures import check_legible


def texts(fig: Figure) -> list[str]:
    """Return the text of a drawing in order, after checking that it is legible and not cut off."""
    check_legible(fig)
    return [text.get_text() for ax in fig.axes for text in ax.texts]


def bold(fig: Figure) -> list[str]:
    return [text.get_text() for ax in fig.axes for text in ax.texts if text.get_weight() == "bold"]


def hatched(fig: Figure) -> int:
    return sum(bool(patch.get_hatch()) for ax in fig.axes for patch in ax.patches)


def curves(ax: Axes) -> list[list[float]]:
    return [list(line.get_ydata()) for line in ax.lines]


def marks(ax: Axes) -> list[list[float]]:
    """Return the values of each row of marks that no line joins."""
    return [list(line.get_xdata()) for line in ax.lines if line.get_linestyle() == "None"]
