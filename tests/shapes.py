"""A pytest plugin: jaxtyping checks each combination of shapes once, because the same would pass again.

A training run calls a function with the same shapes thousands of times, and checking a call takes longer than
most calls. `-p tests.shapes` comes with `--jaxtyping-packages`, as in the Makefile.
"""

from collections.abc import Callable
from functools import partial, wraps
from types import CodeType, FunctionType
from typing import Any

import jaxtyping
from torch import Tensor
from torch.nn import Parameter

Function = Callable[..., Any]
VARIES = object()  # the kind of what has contents that may be others with the next call: it is always checked
PASSED: dict[tuple[str, str, CodeType], dict[object, set[object]]] = {}  # kinds of arguments, and of results
check_each = jaxtyping.jaxtyped


def kind(value: object) -> object:
    """Return all that an annotation can require of a value, such as the shape and dtype of a tensor."""
    cls = type(value)
    if cls is Tensor or cls is Parameter:
        return cls, value.shape, value.dtype
    if cls is int or cls is str or cls is bool or isinstance(value, type):  # a size, a literal, or a class
        return cls, value
    if cls is tuple:
        kinds = tuple(map(kind, value))
        return VARIES if VARIES in kinds else kinds
    inside = isinstance(value, Tensor) or hasattr(cls, "__iter__") or hasattr(cls, "__getitem__")
    return VARIES if inside else cls


def check_once(function: Function | type | None = None, *, typechecker: Function) -> Function:
    """Return a function that has its arguments and result checked unless such ones have passed before."""
    if function is None:
        return partial(check_once, typechecker=typechecker)
    if not isinstance(function, FunctionType):
        return check_each(function, typechecker=typechecker)
    checked: list[Function] = []
    passed = PASSED.setdefault((function.__module__, function.__qualname__, function.__code__), {})

    @wraps(function)
    def call(*args: object, **kwargs: object) -> object:
        __tracebackhide__ = True
        if jaxtyping.config.jaxtyping_disable:
            return function(*args, **kwargs)
        kinds = *map(kind, args), *kwargs, *map(kind, kwargs.values())
        results = passed.get(kinds)
        if results is None:
            if not checked:
                checked.append(check_each(function, typechecker=typechecker))
            result = checked[0](*args, **kwargs)
            found = kind(result)
            if VARIES not in (*kinds, found):
                passed[kinds] = {found}
            return result
        result = function(*args, **kwargs)
        if (found := kind(result)) not in results:
            check_each(wraps(function)(lambda *_, **__: result), typechecker=typechecker)(*args, **kwargs)
            results |= {found} - {VARIES}
        return result

    # In a traceback, this is a line of the checker's, as without this plugin.
    call.__code__ = call.__code__.replace(co_filename=jaxtyping.__file__)
    return call


jaxtyping.jaxtyped = check_once
