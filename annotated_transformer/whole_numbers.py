"""What a whole number is: whatever `operator.index` takes, such as `numpy.int64(3)`, but for a bool."""

import operator
from dataclasses import fields
from typing import Any, cast


def whole_number(value: object) -> int | None:
    """Return a whole number as one of Python's, or None if the value is none."""
    try:
        return None if isinstance(value, bool) else operator.index(cast(Any, value))
    except TypeError:
        return None


def is_positive_whole(value: object) -> bool:
    """Return whether a value is a whole number from 1 on."""
    return (whole_number(value) or 0) > 0


def store_whole_numbers(settings: Any) -> None:
    """Replace the whole numbers in a frozen dataclass by Python's, which JSON can store."""
    for field in fields(settings):
        if (number := whole_number(getattr(settings, field.name))) is not None:
            object.__setattr__(settings, field.name, number)
