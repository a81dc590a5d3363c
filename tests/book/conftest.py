"""Fixtures that the book shares with its builder and with the model."""

from tests.builder.conftest import small
from tests.model.conftest import assert_same, draw, randomized

__all__ = ["assert_same", "draw", "randomized", "small"]
