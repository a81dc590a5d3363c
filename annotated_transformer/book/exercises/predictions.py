"""Answers that are values, such as numbers and shapes: a notebook judges them, and a page of the book.

A check of this kind declares what is right and what mistakes give; the builder writes both into the page.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from annotated_transformer.book.exercises.verdict import (
    Mistakes,
    Unmet,
    Verdict,
    as_number,
    as_shape,
    expect,
    expect_tensor,
    judge,
)

TRUTHS = ("True", "False")


@dataclass(frozen=True)
class Answer:
    """What is expected: a number, a shape (a tuple), a row or rows (lists), a truth value, or a text.

    `mistakes` say what went wrong, as a clause, and what it gives; the `clue` is for any other answer.
    A number may be off by `tolerance`, of it or of 1. A text may have `choices`.
    """

    value: Any
    clue: str
    mistakes: Mistakes = field(default_factory=dict)
    tolerance: float = 1e-9
    choices: tuple[str, ...] = ()

    def why_not(self, given: object, *, what: str) -> str:
        """Return why the answer is wrong, or nothing if it is right; stop the check if it cannot be read."""
        read = self._read(given, what)
        if self._same(read, self.value):
            return ""
        named = [_looks(why) for why, gives in self.mistakes.items() if self._same(read, gives)]
        return named[0] if named else self.clue

    def exported(self) -> dict[str, Any]:
        """Return all of it as JSON has it, with a name for the kind of the answer."""
        value, kind, choices = self.value, "number", self.choices
        if isinstance(value, bool):
            value, choices = str(value), TRUTHS
        if isinstance(value, str):
            kind = "choice" if choices else "text"
        elif isinstance(value, tuple):
            kind = "shape"
        elif isinstance(value, list):
            kind = "rows" if isinstance(value[0], list) else "truths" if isinstance(value[0], bool) else "row"
        mistakes = [[gives, _looks(why)] for why, gives in self.mistakes.items()]
        fields = {"kind": kind, "value": value, "tolerance": self.tolerance, "clue": self.clue}
        return fields | {"mistakes": mistakes, "choices": choices}

    def _read(self, given: Any, what: str) -> object:
        if isinstance(self.value, bool):
            expect(not isinstance(given, str), f"{what} should be True or False, not a text.")
            return bool(given)
        if isinstance(self.value, str):
            listed = not self.choices or str(given).strip().lower() in self.choices
            expect(listed, f"{given!r} is not one of {', '.join(self.choices)}.")
            return str(given)
        if isinstance(self.value, tuple):
            return as_shape(given, what=what)
        if isinstance(self.value, list):
            return expect_tensor(given, what=what).tolist()
        return as_number(given, what=what)

    def _same(self, given: Any, other: Any) -> bool:
        if isinstance(other, str):
            return " ".join(given.lower().split()) == other.lower()
        if np.shape(given) != np.shape(other):
            return False
        return np.allclose(given, other, rtol=self.tolerance, atol=self.tolerance)


def _looks(mistake: str) -> str:
    return f"It looks as if {mistake}."


Answers = Mapping[str, Answer]


class Predictions:
    """A check of several answers, given by name or in order."""

    def __init__(self, declare: Callable[[], Answers], put: str, shows: str) -> None:
        """Take a function that returns what is right, since that may have to be computed."""
        functools.update_wrapper(self, declare)
        self.answers = functools.cache(declare)
        self.put, self.shows = put, shows

    def __call__(self, answer: Any) -> Verdict:
        """Judge the answers; the first one that is wrong decides."""
        return judge(self._judge)(answer)

    def _judge(self, answer: Any) -> str:
        answers = self.answers()
        if not isinstance(answer, Mapping):
            expect(answer is not None, f"your answer is still empty; put {self.put} in its place.")
            rows = list(answer) if isinstance(answer, Iterable) else []
            expect(len(rows) == len(answers), f"give one answer for each of these: {', '.join(answers)}.")
            answer = dict(zip(answers, rows, strict=True))
        named: dict[str, Any] = {str(name): given for name, given in answer.items()}
        for name, right in answers.items():
            given = named.get(name)
            empty = given is None or given is ... or (isinstance(given, str) and given == "?")
            expect(not empty, f"{name} is still empty; put {self.put} there.")
            if why := right.why_not(given, what=repr(name)):
                raise Unmet(f"for {name!r} the answer is not {given}. {why}")
        return self.shows

    def exported(self) -> dict[str, Any]:
        """Return all that a page needs to judge the same answers."""
        fields = [{"name": name, **answer.exported()} for name, answer in self.answers().items()]
        return {"shows": self.shows, "fields": fields}


def predictions(*, put: str, shows: str) -> Callable[[Callable[[], Answers]], Predictions]:
    """Turn a function that returns the right answers by name into a check of such answers.

    It asks a reader to `put` something in the place of an answer, and `shows` why all are right.
    """
    return lambda declare: Predictions(declare, put, shows)
