"""Answers that are values, such as numbers and shapes: a notebook judges them, and a page of the book.

A check of this kind declares what is right and what mistakes give; the builder writes both into the page.
"""

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from annotated_transformer.book.exercises.rules import expect_without
from annotated_transformer.book.exercises.verdict import (
    Mistakes,
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
    A number may be off by `tolerance`, of it or of 1, or rounded to two digits. A text may have `choices`.
    """

    value: Any
    clue: str
    mistakes: Mistakes = field(default_factory=dict)
    tolerance: float = 1e-9
    choices: tuple[str, ...] = ()

    def expect(self, given: object, *, what: str) -> None:
        """Stop the check, and say why, if the answer is wrong, or none."""
        read = self._read(given, what)
        if not (self._same(read, self.value) or _rounded(read, self.value, 2)):
            found = [why for gives, why in self.named() if self._same(read, gives)]
            found += ["It is near: write more digits."] * _rounded(read, self.value, 1)
            found += [why for gives, why in self.named() if _rounded(read, gives, 2)]
            expect(False, f"for {what} the answer is not {given}. {[*found, self.clue][0]}")

    def named(self) -> list[tuple[Any, str]]:
        """Return what each mistake gives and what a verdict says about it, unless it gives what is right."""
        said = [(gives, f"It looks as if {why}.") for why, gives in self.mistakes.items()]
        return [(gives, why) for gives, why in said if not self._same(gives, self.value)]

    def exported(self) -> dict[str, Any]:
        """Return all of it as JSON has it, with a name for the kind of the answer.

        Raises:
            ValueError: Two mistakes give the same, so that a verdict would name the wrong one.
        """
        for (gives, why), (other, reason) in combinations(self.named(), 2):
            if self._same(gives, other):
                raise ValueError(
                    f"two mistakes give {gives}: {why!r} and {reason!r} Choose an exercise that tells them "
                    "apart, or make one clause of both"
                )
        value, kind, choices = self.value, "number", self.choices
        if isinstance(value, bool):
            value, choices = str(value), TRUTHS
        if isinstance(value, str):
            kind = "choice" if choices else "text"
        elif isinstance(value, tuple):
            kind = "shape"
        elif isinstance(value, list):
            kind = "rows" if isinstance(value[0], list) else "truths" if isinstance(value[0], bool) else "row"
        fields = {"kind": kind, "value": value, "tolerance": self.tolerance, "clue": self.clue}
        return fields | {"mistakes": self.named(), "choices": choices}

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


def _rounded(given: Any, value: Any, least: int) -> bool:
    """Return whether each number is that of a value, rounded to as many digits, and at least so many."""
    if isinstance(given, list) and isinstance(value, list):
        return len(given) == len(value) and all(map(_rounded, given, value, [least] * len(value)))
    whole, _, decimals = repr(given).lstrip("-0").partition(".") if isinstance(given, float) else ("", "", "")
    if not isinstance(value, float | int) or not decimals.isdecimal():
        return bool(given == value)
    missing = max(0, least - len((whole + decimals).lstrip("0")))
    return abs(given - value) <= 0.500001 * 10.0 ** -(len(decimals) + missing)


Answers = Mapping[str, Answer]
Case = tuple[Any, ...]


class Judged(ABC):
    """A check that declares what is right, so that a page of the book can judge as well."""

    def __init__(self, declare: Callable[..., Any], shows: str) -> None:
        """Take a function that returns what is right, since that may have to be computed, and the praise."""
        functools.update_wrapper(self, declare)
        self.declare, self.shows = functools.cache(declare), shows

    def __call__(self, answer: Any) -> Verdict:
        """Judge a reader's answer; the first fault decides."""
        return judge(self._judge)(answer)

    def exported(self) -> dict[str, Any]:
        """Return all that a page needs to judge."""
        fields = [{"name": name, **answer.exported()} for name, answer in self.asked().items()]
        return {"shows": self.shows, "fields": fields}

    @abstractmethod
    def asked(self) -> Answers:
        """Return what a page asks for, by name."""

    @abstractmethod
    def _judge(self, answer: Any) -> str: ...


class Predictions(Judged):
    """A check of several answers, which are given by name or in order; `put` says what to write for one."""

    def __init__(self, declare: Callable[[], Answers], *, put: str, shows: str) -> None:
        super().__init__(declare, shows)
        self.put = put

    def asked(self) -> Answers:
        """Return all answers."""
        return self.declare()

    def _judge(self, answer: Any) -> str:
        answers = self.asked()
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
            right.expect(given, what=repr(name))
        return self.shows


class Formula(Judged):
    """A check of a function by what it returns in several cases; a page asks for the first of them."""

    def __init__(
        self, declare: Callable[..., Answer], *cases: Case, shows: str, shown: int, rules: Sequence[str]
    ) -> None:
        super().__init__(declare, shows)
        self.cases, self.shown, self.rules = cases, shown, rules

    def asked(self) -> Answers:
        """Return the answers in the first cases."""
        return {self.name(case): self.declare(*case) for case in self.cases[: self.shown]}

    def name(self, case: Case) -> str:
        """Return the arguments of a case, with their names."""
        names = inspect.signature(self.declare).parameters
        return ", ".join(f"{name}={_told(value)}" for name, value in zip(names, case, strict=True))

    def _judge(self, answer: Any) -> str:
        expect_without(answer, *self.rules)
        for case in self.cases:
            self.declare(*case).expect(answer(*case), what=self.name(case))
        return self.shows


def _told(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def predictions(*, put: str, shows: str) -> Callable[[Callable[[], Answers]], Predictions]:
    """Turn a function that returns the right answers by name into their check, which `shows` why."""
    return lambda declare: Predictions(declare, put=put, shows=shows)


def formula(
    *cases: Case, shows: str, shown: int = 1, rules: Sequence[str] = ()
) -> Callable[[Callable[..., Answer]], Formula]:
    """Turn a function that returns the right answer in a case into a check of functions."""
    return lambda declare: Formula(declare, *cases, shows=shows, shown=shown, rules=rules)
