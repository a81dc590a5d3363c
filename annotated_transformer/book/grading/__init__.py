"""Grading of the exercises in a reader's notebook, without executing the whole chapter."""
