"""Checks run before their function; their sentences are tested where they are used."""

import pytest

from annotated_transformer.model.checks import refuses


def negative(y, x, *, low=2):
    if x < 0:
        raise ValueError(f"x={x} is negative")


def below(y, x, *, low=2):
    if x < low:
        raise ValueError(f"x={x} is below {low}")


@refuses(negative, below)
def shifted(y, x, *, low=2):
    """Say what comes out."""
    return x - y, low


@pytest.mark.message
def test_message_checks_run_first_with_the_same_arguments():
    assert shifted(1, 5) == (4, 2)
    assert shifted(x=5, y=1, low=3) == (4, 3)
    with pytest.raises(ValueError, match=r"^x=-1 is negative$"):
        shifted("not a number", -1)
    with pytest.raises(ValueError, match=r"^x=4 is below 5$"):
        shifted(0, x=4, low=5)
    assert (shifted.__name__, shifted.__doc__) == ("shifted", "Say what comes out.")
