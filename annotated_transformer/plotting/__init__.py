"""Attention maps and the curves of a training run, drawn by matplotlib: the extra `plot`."""

from typing import TYPE_CHECKING

from annotated_transformer.extras import extra
from annotated_transformer.lazy_names import lazy

if TYPE_CHECKING:  # imported on first use: a caller needs only part of it
    from annotated_transformer.plotting.attention_map import draw_attention
    from annotated_transformer.plotting.figures import Plot, new_plot, to_svg
    from annotated_transformer.plotting.reports import read_reports, read_schedule
    from annotated_transformer.plotting.training_curves import (
        describe_curves,
        draw_curves,
        plot_curves,
        summarize_curves,
    )

EXPORTS = {  # by module
    "plotting.attention_map": "draw_attention",
    "plotting.training_curves": "describe_curves draw_curves plot_curves summarize_curves",
    "plotting.figures": "Plot new_plot to_svg",
    "plotting.reports": "read_reports read_schedule",
}

__all__ = [
    "Plot",
    "describe_curves",
    "draw_attention",
    "draw_curves",
    "new_plot",
    "plot_curves",
    "read_reports",
    "read_schedule",
    "summarize_curves",
    "to_svg",
]

_get, __dir__ = lazy(__name__, EXPORTS)


def __getattr__(name: str) -> object:
    """Import a name on first use; all but `read_reports` and `read_schedule` need matplotlib.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    with extra("plot", "drawing", "matplotlib"):
        found: object = _get(name)
        return found
