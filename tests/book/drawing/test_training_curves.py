"""A chapter shows the curves of a training run as a numbered figure with its words."""

import pytest

from annotated_transformer.book.drawing.training_curves import CAPTION, SHADED, show_curves
from annotated_transformer.plotting.training_curves import summarize_curves
from tests.run_reports import REPORTS


def schedule(step: int) -> float:
    """Return the learning rate of `REPORTS` at a step, and 0 between them."""
    return {report.step: report.lr for report in REPORTS}.get(step, 0.0)


def test_law_the_output_contains_the_description_and_the_drawing():
    page = show_curves(REPORTS, number="7.3", schedule=schedule)
    title, alt = "The validation loss falls from 5.5 to 3.25", summarize_curves(REPORTS, schedule)
    assert repr(page) == f"Figure 7.3. {title}\n\n{alt}\n\n{CAPTION} {SHADED}"
    assert f'alt="{alt}"' in page._repr_html_()
    assert 'id="figure-7-3"' in page._repr_html_()
    assert repr(show_curves(REPORTS, number="7.3")).endswith(f"\n\n{CAPTION}"), "nothing is shaded"
    assert "Figure 7.3. It falls\n" in repr(show_curves(REPORTS, number="7.3", title="It falls"))


@pytest.mark.message
def test_message_a_run_without_reports():
    with pytest.raises(ValueError, match="there are no reports to draw; train for an epoch or more"):
        show_curves([], number="7.3")
