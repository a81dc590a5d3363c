"""Find what would wait for the card: CUDA runs behind Python, until something asks for a value or a size."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

DEPENDS_ON_VALUES = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
COPIED_TO_PYTHON = (Tensor.tolist, Tensor.numpy, Tensor.__array__, Tensor.cpu)


@contextmanager
def no_synchronization() -> Iterator[None]:
    """Raise AssertionError at an operation that would make the CPU wait, if the tensors were on a card.

    So a test on the CPU finds them. Not found: a copy of a single number to the card, and `Tensor.to`.
    """
    with _Operations(), _Methods():
        yield


class _Operations(TorchDispatchMode):
    """Refuse operations whose result has a size that depends on values, or is a number of Python."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket._qualified_op_name.removeprefix("aten::")
        waits = bool(DEPENDS_ON_VALUES & {*func.tags})
        if name in ("index", "index_put", "index_put_"):  # by numbers is fine, and so is filling by a mask
            masks = any(index is not None and index.dtype == torch.bool for index in args[1])
            waits = masks and (name == "index" or args[2].numel() > 1)
        waits |= name == "multinomial"  # asks whether the probabilities are valid
        waits |= name == "lift_fresh" and args[0].ndim > 0  # a list of Python on its way to the card
        if waits:
            raise AssertionError(f"{name} would wait for the card")
        with self:  # in inference mode, operations that consist of others arrive whole
            parts = func.decompose(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {})) if parts is NotImplemented else parts


class _Methods(TorchFunctionMode):
    """Refuse methods that copy a tensor to Python without an operation."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in COPIED_TO_PYTHON:
            raise AssertionError(f"{func.__name__} would wait for the card")
        return func(*args, **(kwargs or {}))
