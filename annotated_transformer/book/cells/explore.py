"""Interactive figures, redrawn by a live kernel: for any value, not only those of a slider's frames."""

from collections.abc import Callable
from typing import Any

from matplotlib.figure import Figure

from annotated_transformer.book.drawing.figures import image, svg
from annotated_transformer.book.output import CellOutput
from annotated_transformer.extras import extra


def explore(draw: Callable[..., Figure], **controls: Any) -> Any:
    """Return one control for each argument of `draw`, above the figure that they redraw.

    A control is written as for ipywidgets' `interact`: `(1, 64)` is a slider, `["a", "b"]` a menu. It needs a
    running kernel, so its cell is tagged `remove-output` and `nbval-ignore-output`.
    """
    with extra("notebooks", "a live cell"):
        import ipywidgets  # here, so that a book without live cells does not need it

    def redraw(**values: Any) -> CellOutput:
        alt = ", ".join(f"{name} = {value}" for name, value in values.items())
        return CellOutput(alt, image(svg(draw(**values)), f"The figure for {alt}"))

    return ipywidgets.interactive(redraw, {"auto_display": True}, **controls)
