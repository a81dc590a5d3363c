"""What the tests of the exercises' checks share: how they see that an answer is refused."""

from collections.abc import Callable
from typing import Any

from annotated_transformer.book.checks.verdict import Verdict


def unanswered(*_: object) -> Any:
    """Stand for the function that an exercise asks for, before anybody wrote it."""
    raise NotImplementedError("your turn")


def assert_refused(check: Callable[..., Verdict], *answers: Any) -> Verdict:
    """Return the verdict on a wrong answer: it fails, with a sentence."""
    verdict = check(*answers)
    assert not verdict.passed, repr(verdict)
    assert len(verdict.message.split()) > 5, repr(verdict)
    return verdict


def assert_refused_as_empty(check: Callable[..., Verdict], *answers: Any) -> None:
    """Assert that an empty answer fails, and is told that it is empty."""
    verdict = check(*answers)
    assert not verdict.passed, repr(verdict)
    assert "still empty" in verdict.message, repr(verdict)
