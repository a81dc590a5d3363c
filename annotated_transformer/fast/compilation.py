"""Encoder and decoder compiled by `torch.compile`: the chapter on training."""

import os
import shutil
from collections.abc import Callable

import torch
from torch import Tensor, nn

from annotated_transformer.model.transformer import Transformer

COMPILERS = ("g++", "clang++", "cl")


def compile_stacks(model: Transformer) -> None:
    """Compile the encoder and the decoder of `model` for training, in place.

    The first updates take longer, because they compile. Parameters keep their names; dropout draws
    different masks. In evaluation mode, the plain modules run, because compiled ones would ignore the
    hooks that observe a model. A copy of the model is compiled as well.

    Raises:
        FileNotFoundError: If there is no C++ compiler, which PyTorch needs.
    """
    if not any(map(shutil.which, (*COMPILERS, os.environ.get("CXX", "")))):
        raise FileNotFoundError(
            f"to compile a model, PyTorch needs a C++ compiler, and there is none of "
            f"{', '.join(COMPILERS)}; install one, or train without compiling"
        )
    stacks: tuple[nn.Module, ...] = (model.encoder, model.decoder)
    for stack in stacks:
        stack.forward = CompiledForward(stack, stack.forward)


def is_compiled(model: Transformer) -> bool:
    """Return whether `compile_stacks` has compiled the model."""
    return isinstance(vars(model.encoder).get("forward"), CompiledForward)


class CompiledForward:
    """The `forward` of a stack: compiled in training mode, and plain in evaluation mode.

    If the stack is copied or pickled, the new stack gets one of its own.
    """

    same_in_evaluation = True  # so that a cache need not call it, and the model can be saved

    def __init__(self, stack: nn.Module, plain: Callable[..., Tensor]) -> None:
        self.stack, self.plain = stack, plain
        self.compiled = torch.compile(plain, dynamic=True)  # the length of sentences varies

    def __call__(self, *inputs: Tensor | None) -> Tensor:
        """Return the hidden states."""
        hidden: Tensor = (self.compiled if self.stack.training else self.plain)(*inputs)
        return hidden

    def __reduce__(self) -> tuple[object, ...]:
        return CompiledForward, (self.stack, self.plain)
