"""The fixtures of the model's tests, for the parts that replace the model's."""

from tests.model.conftest import assert_same, draw, one_thread, randomized

__all__ = ["assert_same", "draw", "one_thread", "randomized"]
