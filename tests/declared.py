"""What a check that declares its answers says of those that are right but for one."""

from typing import Any

from annotated_transformer.book.exercises import Verdict
from annotated_transformer.book.exercises.answers import Formula, Judged


def as_given(check: Judged, wrong: dict[str, Any]) -> Verdict:
    """Judge what is right, but for what is `wrong` by name, as a notebook does."""
    if isinstance(check, Formula):
        answers = {case: wrong.get(check.name(case), check.declare(*case).value) for case in check.cases}
        return check(lambda *case: answers[case])
    return check({name: answer.value for name, answer in check.asked().items()} | wrong)
