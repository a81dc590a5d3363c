"""Predictions, which a reader writes down before running anything: several in order, or one for each name."""

from collections.abc import Iterable, Mapping
from typing import Any

from annotated_transformer.book.exercises.verdict import as_number, as_shape, expect


def predicted(answer: Any, count: int, *, put: str, give: str) -> list[Any]:
    """Return the predictions, or stop the check unless there are `count`.

    If there are none yet, it asks to `put` something in their place, and otherwise to `give` something.
    """
    expect(answer is not None, f"your answer is still empty; put {put} in its place.")
    given = list(answer) if isinstance(answer, Iterable) else []
    expect(len(given) == count, f"give {give}.")
    return given


def predicted_for(answer: Mapping[str, Any], name: str, *, put: str) -> Any:
    """Return the prediction for this name, or stop the check if there is none yet."""
    given = answer.get(name)
    expect(given is not None and given is not ..., f"{name} is still empty; put {put} there.")
    return given


def expect_predictions(
    answer: Mapping[str, Any], right: Mapping[str, tuple[Any, str]], *, put: str, off: float = 0.0
) -> None:
    """Stop the check at the first shape or number that is not `right`, with the clue that stands beside it.

    A number may be `off` by a share of it.
    """
    for name, (wanted, clue) in right.items():
        given = predicted_for(answer, name, put=put)
        if isinstance(wanted, tuple):
            holds = (given := as_shape(given, what=repr(name))) == wanted
        else:
            holds = abs((given := as_number(given, what=repr(name))) - wanted) <= off * abs(wanted)
        expect(holds, f"for {name!r} the answer is not {given}. {clue}")
