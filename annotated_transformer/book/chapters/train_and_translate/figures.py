"""The figure of overfitting in the guide "Train and translate"."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from annotated_transformer.book.drawing.figures import new_figure
from annotated_transformer.book.drawing.words import label_ends
from annotated_transformer.plotting.palette import FIRST, SECOND
from annotated_transformer.training.metrics import EpochMetrics


def draw_overfitting(history: Sequence[EpochMetrics], lowest: EpochMetrics) -> Figure:
    """Draw both losses over the updates, and mark the lowest validation loss."""
    fig, ax = new_figure(height=2.6)
    steps = [report.step for report in history]
    for name, color, style in (("training", FIRST, "-"), ("validation", SECOND, "--")):
        values = [getattr(report, f"{name}_loss") for report in history]
        ax.plot(steps, values, color=color, linestyle=style, marker="", label=name)
    ax.set(xlim=(0, steps[-1]), ylim=(0, 2.5), xticks=[0, 30, 60, 90])
    label_ends(ax)
    ax.set_xlabel("training steps")
    ax.set_ylabel("loss (nats per token)")
    spot = lowest.step, lowest.validation_loss
    ax.plot(*spot, color=SECOND, marker="o")
    ax.annotate("lowest", spot, (0, -20), weight="bold", textcoords="offset points", ha="left")
    return fig
