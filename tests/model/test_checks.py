"""Checks run before their function; their sentences are tested where they are used."""

import pytest

from annotated_transformer.model.checks import explains, refuses


def negative(x):
    if x < 0:
        raise ValueError(f"x={x} is negative")


def below(x, low):
    if x < low:
        raise ValueError(f"x={x} is below {low}")


@refuses(negative, below)
def shifted(y, x, *, low=2):
    """Say what comes out."""
    return x - y, low


@pytest.mark.message
def test_message_a_check_reads_its_arguments_by_name_and_runs_first():
    assert shifted(1, 5) == (4, 2)
    assert shifted(x=5, y=1, low=3) == (4, 3)
    with pytest.raises(ValueError, match=r"^x=-1 is negative$"):
        shifted("not a number", -1)
    with pytest.raises(ValueError, match=r"^x=1 is below 2$"):  # the default counts, too
        shifted(0, 1)
    with pytest.raises(ValueError, match=r"^x=4 is below 5$"):
        shifted(0, x=4, low=5)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        shifted(1)
    assert (shifted.__name__, shifted.__doc__) == ("shifted", "Say what comes out.")


@explains(negative)
def element(x):
    return "abc"[x]


@pytest.mark.message
def test_message_a_check_that_explains_runs_only_when_its_function_has_failed():
    assert element(-1) == "c"  # not refused: it did not fail
    with pytest.raises(ValueError, match=r"^x=-9 is negative$") as refused:
        element(x=-9)
    assert refused.value.__suppress_context__
    with pytest.raises(IndexError):  # what no check explains stays
        element(8)


def test_law_a_check_of_an_argument_that_a_function_does_not_have_is_refused_when_it_is_defined():
    """It would never run."""
    with pytest.raises(ValueError, match="'low' is not in list"):
        refuses(negative, below)(lambda x: x)
