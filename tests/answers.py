"""How the tests of the exercise checks judge a chapter's answers.

The chapter's own solution is a right answer, and some solutions with mistakes are wrong ones. The tests of a
room, `tests/book/chapters/NAME/test_exercises.py`, add other answers, and what each check says to wrong ones:

    RIGHT = {"softmax": [by_hand], "pointers": [(louder, draw)]}  # for check_softmax and check_pointers
    WRONG = {  # with what the verdict must contain
        "softmax": [("without exponentials", proportions)],
        "window": [("one too long", solved.edited("window", "-n", "-n - 1"))],
    }

A tuple holds all arguments of one call. Right answers are listed where a check looks at more than results,
such as the calls of a function that it gives, where several results are right, and where no solution can be
executed alone. Whether a list or a tuple is returned, and a number, an array, or a tensor, makes no
difference, nor does rounding, nor whether an answer overwrites the tensors that it was given. Each entry of a
prediction, a dictionary or a list, is changed in turn, and must be rejected. A verdict on a wrong answer
names the mistake: it doesn't only say which number is wrong. An answer that is empty, or that crashes, is no
plausible mistake and is reported.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map_only

NEEDED = 2  # plausible wrong answers for each check
UNANSWERED = re.compile(r"still empty|no prediction for|'\?' is not one of")
NOT_PLAUSIBLE = re.compile("still empty|your code stopped with|could not use your answer")
ONLY_A_NUMBER = re.compile(r"should be \S+( at \[[\d, ]*\])?, not \S+\.$")
PLURALS = (
    "weights|logits|states|outputs|inputs|labels|values|keys|queries|heads|tokens|words|scores|steps|pairs|"
    "numbers|bits|maps|sentences|captions|attentions|units|parts|counts|ids"
)
UNGRAMMATICAL = re.compile(
    rf"(^|[.:,] |if )the ({PLURALS})( \w+){{0,6}} (has|differs|is|was) "  # the logits with 7 tokens has
    rf"|(?<![\w.,=−-])1 (\w+ )?({PLURALS})\b"  # 1 heads, 1 allowed keys
    r"|\(s\)|\drd\b|\ba [aeio]\w|\ban [bcdfgjklmnpqrstvwyz]|,,|[^.]\.\.( |$)|\w  \w|\w [,.;:]( |$)"
)


def unanswered(*_: object) -> Any:
    """Stand in for the function that an exercise asks for, before the reader has written it."""
    raise NotImplementedError("your turn")


def empty(answer: object) -> object:
    """Return an answer as the exercise's cell has it before the reader's turn."""
    if isinstance(answer, dict):
        return dict.fromkeys(answer, "?" if all(isinstance(x, str) for x in answer.values()) else ...)
    return None if isinstance(answer, list | tuple | Tensor) else unanswered


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


def respelled(answer: Any) -> Any:
    """Return an answer with other types and other rounding: of a prediction, or of a function's result.

    The function overwrites its arguments, as one may that computes in place.
    """
    if callable(answer) and not isinstance(answer, nn.Module):
        return wraps(answer)(lambda *given: _result_respelled(_overwriting(answer, given)))
    if isinstance(answer, dict):
        return {key: respelled(entry) for key, entry in reversed(answer.items())}
    if isinstance(answer, list | tuple):
        entries = map(respelled, answer)
        return [*entries] if isinstance(answer, tuple) else (*entries,)
    return float(answer) if type(answer) is int else answer


def _overwriting(answer: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    """Return the answer's result, and overwrite what it was given, unless that is still to be used."""
    result = tree_map_only(Tensor, Tensor.clone, answer(*given))
    leaves = tree_leaves(result)
    if all(
        isinstance(leaf, int | float) or (isinstance(leaf, Tensor) and not leaf.requires_grad)
        for leaf in leaves
    ):
        for argument in given:
            if isinstance(argument, Tensor) and not argument.requires_grad:
                argument.zero_()
    return result


def _result_respelled(result: Any) -> Any:
    if isinstance(result, tuple):
        return [*map(_result_respelled, result)]
    if isinstance(result, float):
        result = torch.tensor(result, dtype=torch.float64)
    if isinstance(result, Tensor) and result.is_floating_point():
        result = result + 1e-13 * result.frac().nan_to_num()  # whole numbers and infinities stay as they are
    return result.numpy() if isinstance(result, Tensor) and not result.requires_grad else result


def each_call(right: Mapping[Any, list[Any]]) -> Iterator[tuple[Any, ...]]:
    """Yield each check with what it is called with."""
    for check, cases in right.items():
        yield from ((check, *(case if isinstance(case, tuple) else (case,))) for case in cases)


def faults(right: Mapping[Any, list[Any]], wrong: Mapping[Any, list[tuple[Any, ...]]]) -> list[str]:
    """Report right answers that fail, and empty or wrong ones that pass or are rejected without a reason."""
    found, counted = [], Counter(dict.fromkeys(right, 0))
    for check, *answers in each_call(right):
        verdicts = check(*answers), check(*map(respelled, answers))
        bad = [verdict for verdict in verdicts if not verdict or UNGRAMMATICAL.search(verdict.message)]
        found += [f"{check.__name__}: the right answer: {verdict}" for verdict in bad[:1]]
        blank = check(*map(empty, answers))
        if blank.passed or not UNANSWERED.search(blank.message):
            found.append(f"{check.__name__}: an empty answer: {blank}")
        if isinstance(answers[0], dict | list):
            taken = [other for other in slips(answers[0]) if check(other)]
            found += [f"{check.__name__}: takes {other}" for other in taken]
    for check, cases in wrong.items():
        for words, *answers in cases:
            verdict = check(*answers)
            bad = (NOT_PLAUSIBLE, ONLY_A_NUMBER, UNGRAMMATICAL)
            named = bool(words) and words in verdict.message
            if verdict.passed or not named or any(kind.search(verdict.message) for kind in bad):
                found.append(f"{words}: {verdict}")
            else:
                counted[check] += 1
    few = {check.__name__: count for check, count in counted.items() if count < NEEDED}
    return [*found, *(f"{name}: {count} wrong answers rejected" for name, count in few.items())]
