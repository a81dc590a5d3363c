"""Fixtures that the book shares with its builder and with the model."""

from tests.builder.conftest import insert, small
from tests.model.conftest import assert_same, draw, randomized

__all__ = ["assert_same", "draw", "insert", "randomized", "small"]
