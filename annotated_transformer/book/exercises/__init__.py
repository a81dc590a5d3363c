"""The checks of readers' answers: for each exercise, a `check_…` that returns a `Verdict`."""

from annotated_transformer.book.exercises.verdict import Verdict, expect, expect_close, judge

__all__ = ["Verdict", "expect", "expect_close", "judge"]
