"""Helpers for testing the exercise checkers: assert that a wrong answer is rejected."""

from collections.abc import Callable
from typing import Any

from annotated_transformer.book.checks.verdict import Verdict


def unanswered(*_: object) -> Any:
    """Stand in for the function that an exercise asks for, before the reader has written it."""
    raise NotImplementedError("your turn")


def assert_refused(check: Callable[..., Verdict], *answers: Any) -> Verdict:
    """Assert that a wrong answer is rejected with a sentence, and return the verdict."""
    verdict = check(*answers)
    assert not verdict.passed, repr(verdict)
    assert len(verdict.message.split()) > 5, repr(verdict)
    return verdict


def assert_refused_as_empty(check: Callable[..., Verdict], *answers: Any) -> None:
    """Assert that an empty answer is rejected with a message that calls it empty."""
    verdict = check(*answers)
    assert not verdict.passed, repr(verdict)
    assert "still empty" in verdict.message, repr(verdict)
