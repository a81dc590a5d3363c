"""How the tests of the exercise checks judge a chapter's answers.

A module `tests/book/exercises/test_….py` lists them at its top level: a check, and what it is called with.

    RIGHT = [(check_softmax, softmax), (check_pointers, pointers, draw_batch)]
    WRONG = {
        "softmax: without the exponential": (check_softmax, proportions),
        "pointers: too quiet": (check_pointers, lambda: pointers(loudness=1.0), draw_batch),
    }
    WORDS = {"pointers: too quiet": "mean squared error is"}  # what a verdict must contain

Each entry of a prediction, a dictionary or a list, is changed in turn, and must be rejected.
An answer that is empty, or that crashes for an unrelated reason, is not a plausible mistake and is reported.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from annotated_transformer.book.exercises.verdict import Verdict

Check = Callable[..., Verdict]
NEEDED = 2  # plausible wrong answers for each check
UNANSWERED = re.compile(r"still empty|no prediction for|'\?' is not one of")
NOT_PLAUSIBLE = re.compile("still empty|stopped with (NameError|AttributeError|SyntaxError)")


def unanswered(*_: object) -> Any:
    """Stand in for the function that an exercise asks for, before the reader has written it."""
    raise NotImplementedError("your turn")


def empty(answer: object) -> object:
    """Return an answer as the exercise's cell has it before the reader's turn."""
    if isinstance(answer, dict):
        return dict.fromkeys(answer, "?" if all(isinstance(x, str) for x in answer.values()) else ...)
    return None if isinstance(answer, list) else unanswered


def slips(answer: Any) -> Iterator[Any]:
    """Return copies of a prediction, each with one entry changed."""
    if isinstance(answer, dict):
        for key, entry in answer.items():
            yield from ({**answer, key: other} for other in slips(entry))
    elif isinstance(answer, list | tuple):
        for i, entry in enumerate(answer):
            yield from (type(answer)([*answer[:i], other, *answer[i + 1 :]]) for other in slips(entry))
    elif isinstance(answer, str):
        yield f"not {answer}"
    else:
        yield not answer if isinstance(answer, bool) else 5 * answer + 7


def faults(
    right: Iterable[tuple[Any, ...]],
    wrong: Mapping[str, tuple[Any, ...]],
    words: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """Report right answers that fail, and empty or wrong ones that pass or are rejected without a reason."""
    found, counted = [], Counter({check: 0 for check, *_ in right})
    for check, *answers in right:
        verdict, blank = check(*answers), check(*map(empty, answers))
        if not verdict.passed:
            found.append(f"{check.__name__}: the right answer: {verdict}")
        if blank.passed or not UNANSWERED.search(blank.message):
            found.append(f"{check.__name__}: an empty answer: {blank}")
        if isinstance(answers[0], dict | list):
            taken = [other for other in slips(answers[0]) if check(other)]
            found += [f"{check.__name__}: takes {other}" for other in taken]
    for mistake, (check, *answers) in wrong.items():
        verdict, said = check(*answers), words.get(mistake, "")
        reason = len(verdict.message.split()) > 3 and not NOT_PLAUSIBLE.search(verdict.message)
        if verdict.passed or not reason or said not in verdict.message:
            found.append(f"{mistake}: {verdict}")
        else:
            counted[check] += 1
    found += [f"{mistake}: no such mistake" for mistake in words.keys() - wrong.keys()]
    few = {check.__name__: count for check, count in counted.items() if count < NEEDED}
    return [*found, *(f"{name}: {count} wrong answers rejected" for name, count in few.items())]
