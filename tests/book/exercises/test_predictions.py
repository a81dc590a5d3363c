"""A prediction that is missing is asked for, and a complete one is returned as it was written."""

import pytest

from annotated_transformer.book.exercises.predictions import predicted, predicted_for
from annotated_transformer.book.exercises.verdict import Unmet


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "your answer is still empty; put three numbers in its place."),
        ([3, 5], "give three numbers, one for each head."),
        ((3, 5, 7, 11), "give three numbers, one for each head."),
        ((number for number in (3, 5, 7)), None),
    ],
)
def test_law_as_many_predictions_are_asked_for_as_are_needed(answer, words):
    needed = {"put": "three numbers", "give": "three numbers, one for each head"}
    if words is None:
        assert predicted(answer, 3, **needed) == [3, 5, 7]
    else:
        with pytest.raises(Unmet, match=words):
            predicted(answer, 3, **needed)


@pytest.mark.parametrize("answer", [{}, {"rows": None}, {"rows": ...}])
def test_law_a_missing_prediction_is_named(answer):
    assert predicted_for({**answer, "rows": 0}, "rows", put="a number") == 0
    with pytest.raises(Unmet, match="rows is still empty; put a number there"):
        predicted_for(answer, "rows", put="a number")
