"""The curves of a training run as a numbered figure of a chapter."""

from annotated_transformer.book.cells.output import CellOutput
from annotated_transformer.book.drawing.figures import figure_output
from annotated_transformer.plotting.reports import Schedule
from annotated_transformer.plotting.training_curves import draw_curves, headline, summarize_curves
from annotated_transformer.training.metrics import EpochMetrics

CAPTION = (
    "Markers are epochs, or every few epochs of a long run. The training loss includes label smoothing and "
    "dropout, if the run has them, and the validation loss neither, so compare each curve only with itself. "
    "An encoder cosine near 1 means that the encoder returns almost the same vector at each position; a "
    "cross-attention entropy near 1 means that the decoder reads all source tokens about equally."
)
SHADED = "The shaded steps are the warm-up."  # only a schedule tells how long it is


def show_curves(
    reports: list[EpochMetrics], *, number: str, title: str | None = None, schedule: Schedule | None = None
) -> CellOutput:
    """Show what `draw_curves` draws as a numbered figure with a text alternative.

    Without a `title`, one is made from the losses.

    Raises:
        ValueError: There are no reports, or the schedule contradicts them.
    """
    figure = draw_curves(reports, schedule)
    alt = summarize_curves(reports, schedule)
    caption = CAPTION if schedule is None else f"{CAPTION} {SHADED}"
    return figure_output(figure, number=number, title=title or headline(reports), alt=alt, caption=caption)
