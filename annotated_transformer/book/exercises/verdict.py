"""The feedback on a reader's answer to an exercise: a verdict, the next step, and the reader's own lines."""

import functools
import sysconfig
import textwrap
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import inf, isclose
from pathlib import Path
from types import CodeType, MappingProxyType
from typing import Any, ParamSpec

import numpy as np
import torch
from torch import Tensor, allclose, nn
from torch.utils._pytree import tree_map_only

P = ParamSpec("P")
Mistakes = Mapping[str, object]  # what went wrong, as a clause, and the result that it gives
NONE: Mistakes = MappingProxyType({})
UNTOUCHED = "your turn"  # what an exercise's cell raises before the reader has written anything
EMPTY = "your answer is still empty; put it where NotImplementedError is raised."
WIDTH = 88  # characters; in a window of 1280 pixels, JupyterLab breaks lines of more than 107, inside words
SHOWN_LINES = 6  # of the reader's part of a traceback
_LIBRARIES = {
    str(Path(place).resolve())
    for place in (
        str(Path(__file__).parents[2]),
        *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")),
    )
}


@dataclass(frozen=True, repr=False)
class Verdict:
    """The result of a check, shown as text; true if the answer is right.

    `arguments` are those of the last call of the reader's function, in case it wants to be repeated.
    """

    passed: bool
    message: str
    arguments: tuple[Any, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        if self.passed:
            return _wrap(f"✓ {self.message}")
        tensors = any(isinstance(argument, Tensor) for argument in self.arguments)
        inputs = "\n  (The inputs of this call are in _.arguments.)" if tensors else ""
        return _wrap(f"✗ Not yet: {self.message}{inputs}")

    def __bool__(self) -> bool:
        return self.passed


def _wrap(text: str) -> str:
    """Break long lines between words, and indent what follows by two more spaces."""
    wrapped = []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()))
        wrapper = textwrap.TextWrapper(WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ")
        wrapper.break_long_words = wrapper.break_on_hyphens = False
        wrapped.append(wrapper.fill(line.lstrip()))
    return "\n".join(wrapped)


class Unmet(Exception):
    """An expectation that the reader's answer does not meet; `judge` turns it into a verdict."""


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Return "1 head" or "3 heads"; `nouns` is the plural if it is not formed with an s."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def expect(condition: bool, message: str) -> None:
    """Stop the check with `message` unless `condition` holds."""
    if not condition:
        raise Unmet(message)


def named_type(result: object) -> str:
    """Return the name of the result's type and a full stop; after None, ask for the forgotten `return`."""
    return "None. Is a `return` missing?" if result is None else f"{type(result).__name__}."


def expect_tensor(result: object, *, what: str) -> Tensor:
    """Return `result` as a tensor, as well a number, an array, or lists of numbers, or stop the check."""
    if isinstance(result, np.ndarray | list | tuple | int | float):
        with suppress(TypeError, ValueError, RuntimeError):
            result = torch.from_numpy(np.asarray(tree_map_only(Tensor, Tensor.detach, result)).copy())
    expect(isinstance(result, Tensor), f"{what} should be a tensor, not {named_type(result)}")
    return torch.as_tensor(result)


def expect_tuple(result: Any, size: int | None = None, *, what: str = "the result") -> tuple[Any, ...]:
    """Return a list or a tensor with axes as a tuple, too, or stop the check; a size of None is any."""
    parts = isinstance(result, tuple | list) or (isinstance(result, Tensor) and result.ndim > 0)
    if not parts or size not in (None, len(result)):
        other = f"{type(result).__name__} of {len(result)}." if parts else named_type(result)
        raise Unmet(f"{what} should be a {f'tuple of {size}' if size else 'list'}, not {other}")
    return tuple(result)


def expect_shape(result: Tensor, wanted: Tensor, *, what: str) -> None:
    """Stop the check unless `result` has the shape of `wanted`."""
    shape, right = tuple(result.shape), tuple(wanted.shape)
    expect(shape == right, f"{what} should have shape {right}, not {shape}.")


def expect_close(
    result: object, wanted: Tensor, *, what: str, tolerance: float = 1e-5, mistakes: Mistakes = NONE
) -> None:
    """Stop the check unless `result` is a tensor of the shape and the numbers of `wanted`.

    A number may stand for a tensor without axes. `mistakes` are what the answer would be after the mistakes
    that people make here; if it is one of these, the verdict names the mistake.
    """
    tensor = expect_tensor(result, what=what).detach()
    expected = wanted.detach()
    if tensor.is_floating_point() and tensor.dtype.itemsize < expected.dtype.itemsize:  # it rounds more
        largest = max(expected.nan_to_num(0, 0, 0).abs().flatten().tolist(), default=0.0)
        tolerance = max(tolerance, 1e-5 * largest)
    if _agree(tensor, expected, tolerance):
        return
    possible = {why: gives for why, gives in mistakes.items() if not _same(gives, expected, tolerance)}
    expect_no_mistake(tensor, possible, what=what, tolerance=tolerance)
    expect_shape(tensor, expected, what=what)
    gaps = (tensor.to(expected.dtype) - expected).abs().nan_to_num(nan=inf)
    place = tuple(int(index) for index in np.unravel_index(int(gaps.argmax()), gaps.shape))
    where = f" at {list(place)}" if place else ""
    got, right = told_apart(tensor[place].item(), expected[place].item())
    close = gaps.max() <= 0.001 * expected.abs().max()
    hint = " That is close: is something rounded, or is a small term in the wrong place?" if close else ""
    raise Unmet(f"{what} should be {right}{where}, not {got}.{hint}")


def expect_number(
    result: object, wanted: float | int, *, what: str, tolerance: float = 1e-9, mistakes: Mistakes = NONE
) -> None:
    """Stop the check unless `result` is the number `wanted`, with a relative and absolute tolerance."""
    number = as_number(result, what=what)
    if not isclose(number, wanted, rel_tol=tolerance, abs_tol=tolerance):
        expect_no_mistake(number, mistakes, what=what)
        got, right = told_apart(number, wanted)
        raise Unmet(f"{what} should be {right}, not {got}.")


def as_number(result: object, *, what: str) -> float | int:
    """Return a number of Python, NumPy, or PyTorch as one of Python, or stop the check."""
    if isinstance(result, Tensor | np.generic | np.ndarray) and result.ndim == 0:
        result = result.item()
    if not isinstance(result, int | float):
        raise Unmet(f"{what} should be a number, not {named_type(result)}")
    return result


def as_shape(result: object, *, what: str) -> tuple[object, ...]:
    """Return a predicted shape as a tuple, or stop the check; a text is a sequence, too, but no shape."""
    if not isinstance(result, list | tuple):
        raise Unmet(f"{what} should be a shape, such as (2, 3), not {named_type(result)}")
    return tuple(result)


def expect_equal(result: object, wanted: object, *, what: str, mistakes: Mistakes = NONE) -> None:
    """Stop the check unless `result` equals `wanted`, such as a list or a truth value."""
    if isinstance(result, Tensor) and isinstance(wanted, list):
        result = result.tolist()
    if not _same(result, wanted):
        expect_no_mistake(result, mistakes, what=what)
        raise Unmet(f"{what} should be {wanted!r}, not {result!r}.")


def expect_no_mistake(result: object, mistakes: Mistakes, *, what: str, tolerance: float = 0.0) -> None:
    """Stop the check if `result` is what one of the mistakes gives, and name that mistake, or all that do."""
    alike = [mistake for mistake, given in mistakes.items() if _same(result, given, tolerance)]
    expect(not alike, f"{what} should be different. It looks as if {', or as if '.join(alike)}.")


@contextmanager
def explained(kind: type[Exception], message: str) -> Iterator[None]:
    """Replace the text of an exception whose reason is known; the reader's lines are still shown."""
    try:
        yield
    except kind as error:
        raise Unmet(message) from error


def judge(check: Callable[P, str]) -> Callable[P, Verdict]:
    """Turn a check that returns its praise, and stops at `expect`, into one that returns a `Verdict`.

    Any exception that the reader's code raises becomes part of the verdict: a wrong answer is to be expected.
    """

    @functools.wraps(check)
    def verdict(*args: P.args, **kwargs: P.kwargs) -> Verdict:
        calls: list[tuple[Any, ...]] = []
        answers: Any = [_noted(answer, calls) for answer in args]
        try:
            return Verdict(True, check(*answers, **kwargs))
        except Unmet as unmet:
            lines = _readers_lines(unmet.__cause__, check.__code__) if unmet.__cause__ else []
            message = "\n".join([str(unmet), *lines])
        except Exception as error:
            if isinstance(error, NotImplementedError) and str(error) == UNTOUCHED:
                return Verdict(False, EMPTY)
            message = _stopped(error, check.__code__)
        return Verdict(False, message, calls[-1] if calls else ())

    return verdict


def _noted(answer: object, calls: list[tuple[Any, ...]]) -> object:
    """Return a function that notes the arguments of each call, or the answer itself if it is none.

    The reader's function gets copies of tensors, which it may overwrite: the check uses its own afterwards.
    What it returns as arrays and numbers of NumPy, the check sees as tensors and numbers of Python.
    """
    if not callable(answer) or isinstance(answer, type | nn.Module):
        return answer
    function: Callable[..., object] = answer

    @functools.wraps(function)
    def noting(*args: Any, **kwargs: Any) -> object:
        calls.append(args)
        own: tuple[tuple[Any, ...], dict[str, Any]] = tree_map_only(Tensor, _own, (args, kwargs))
        return tree_map_only((np.ndarray, np.generic), _without_numpy, function(*own[0], **own[1]))

    return noting


def _own(given: Tensor) -> Tensor:
    """Return a copy; a tensor with a gradient stays, because the check asks it for that."""
    return given if given.requires_grad else given.clone()


def _without_numpy(result: Any) -> object:
    return torch.from_numpy(result.copy()) if isinstance(result, np.ndarray) else result.item()


def _stopped(error: Exception, check: CodeType) -> str:
    """Return what a verdict says about an exception: its text, and the reader's lines that led to it."""
    reason = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    if lines := _readers_lines(error, check):
        return "\n".join([f"your code stopped with {reason}", *lines])
    return f"the check could not use your answer: {reason}"


def _readers_lines(error: BaseException, check: CodeType) -> list[str]:
    """Return the reader's part of a traceback, outermost call first, without our and the libraries' lines."""
    walk = traceback.walk_tb(error.__traceback__)
    calls = [(frame, line) for frame, line in walk if frame.f_code is not check]
    frames = traceback.StackSummary.extract(iter(calls))
    lines = [
        f"  line {frame.lineno} of your answer, in {frame.name}: {frame.line}"
        for frame in frames
        if not _is_ours(frame.filename)
    ]
    lines = list(dict.fromkeys(lines))  # recursion repeats a line
    if len(lines) > SHOWN_LINES:
        half = SHOWN_LINES // 2
        lines = [*lines[:half], "  …", *lines[-half:]]
    return lines


def _is_ours(filename: str) -> bool:
    """Return whether code is this package's, a library's, or generated by one."""
    if filename.startswith(("<frozen", "<@", "<__array")):
        return True
    return any(str(parent) in _LIBRARIES for parent in Path(filename).resolve().parents)


def _agree(
    result: Tensor, other: Tensor, tolerance: float, *, relative: float = 0.0, nan: bool = False
) -> bool:
    """Return whether two tensors have the same shape and nearly the same numbers; `nan` is one, or none."""
    if result.shape != other.shape:
        return False
    return allclose(result.double(), other.double(), rtol=relative, atol=tolerance, equal_nan=nan)


def _same(result: object, other: object, tolerance: float = 0.0) -> bool:
    """Return whether two results of any kind are the same, up to rounding."""
    if isinstance(result, Tensor) and isinstance(other, Tensor):
        return _agree(result.detach(), other.detach(), max(tolerance, 1e-9), relative=1e-6, nan=True)
    if isinstance(result, int | float) and isinstance(other, int | float):
        return isclose(result, other, rel_tol=1e-7, abs_tol=1e-12)
    return type(result) is type(other) and bool(result == other)


def told_apart(*numbers: float | int) -> list[str]:
    """Return numbers with as many digits as it takes to tell them apart."""
    if all(isinstance(number, int) for number in numbers):
        return [f"{number:,}" for number in numbers]
    for digits in (4, 9):
        told = [f"{number:.{digits}f}".rstrip("0").rstrip(".") for number in numbers]
        if len(set(told)) == len(numbers):
            return told
    return [repr(number) for number in numbers]
