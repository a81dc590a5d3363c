"""Warnings that name the line of the user from which this package was called."""

import sys
import warnings

# What a call may pass through, the checks of shapes included.
INNER = (__package__, "contextlib", "functools", "torch", "jaxtyping", "beartype")


def warn(message: str) -> None:
    """Warn of the call whose line is the first one outside this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in INNER:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)
