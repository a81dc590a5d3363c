"""The feedback on a reader's answer to an exercise: a verdict and the next step, never a traceback."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec

import torch
from torch import Tensor

P = ParamSpec("P")


@dataclass(frozen=True, repr=False)
class Verdict:
    """The result of a check, shown as one sentence; true if the answer is right."""

    passed: bool
    message: str

    def __repr__(self) -> str:
        return f"✓ {self.message}" if self.passed else f"✗ Not yet: {self.message}"

    def __bool__(self) -> bool:
        return self.passed


class Unmet(Exception):
    """An expectation that the reader's answer does not meet; `judge` turns it into a verdict."""


def expect(condition: bool, message: str) -> None:
    """Stop the check with `message` unless `condition` holds."""
    if not condition:
        raise Unmet(message)


def expect_tensor(result: object, *, what: str) -> Tensor:
    """Return `result`, or stop the check unless it is a tensor."""
    expect(isinstance(result, Tensor), f"{what} should be a tensor, not {type(result).__name__}.")
    return torch.as_tensor(result)


def expect_shape(result: Tensor, wanted: Tensor, *, what: str) -> None:
    """Stop the check unless `result` has the shape of `wanted`."""
    shape, right = tuple(result.shape), tuple(wanted.shape)
    expect(shape == right, f"{what} has shape {shape}, it should have {right}.")


def expect_close(result: object, wanted: Tensor, *, what: str, tolerance: float = 1e-5) -> None:
    """Stop the check unless `result` is a tensor of the shape and the numbers of `wanted`."""
    tensor = expect_tensor(result, what=what)
    expect_shape(tensor, wanted, what=what)
    gap = (tensor.to(wanted.dtype) - wanted).abs().nan_to_num(nan=float("inf")).max().item()
    expect(gap <= tolerance, f"{what} has the right shape, but differs by {gap:.4f} from what it should be.")


def judge(check: Callable[P, str]) -> Callable[P, Verdict]:
    """Turn a check that returns its praise, and stops at `expect`, into one that returns a `Verdict`.

    Any exception that the reader's code raises becomes part of the verdict: a wrong answer is to be expected.
    """

    @functools.wraps(check)
    def verdict(*args: P.args, **kwargs: P.kwargs) -> Verdict:
        try:
            return Verdict(True, check(*args, **kwargs))
        except Unmet as unmet:
            return Verdict(False, str(unmet))
        except NotImplementedError:
            return Verdict(False, "your answer is still empty; put it where NotImplementedError is raised.")
        except Exception as error:
            reason = (str(error).splitlines() or [""])[0]
            return Verdict(False, f"your code stopped with {type(error).__name__}: {reason}")

    return verdict
