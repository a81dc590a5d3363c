"""Encoder and decoder compiled by `torch.compile`: the chapter on training."""

import os
import shutil

import torch
from torch import Tensor, nn

from annotated_transformer.model.transformer import Transformer

COMPILERS = ("g++", "clang++", "cl")


def compile_stacks(model: Transformer) -> None:
    """Compile the encoder and the decoder of `model` for training, in place.

    The first updates take longer, because they compile. Parameters keep their names; dropout draws
    different masks. In evaluation mode, the plain modules run, because compiled ones would ignore the
    hooks that observe a model.

    Raises:
        FileNotFoundError: If there is no C++ compiler, which PyTorch needs.
    """
    if not any(map(shutil.which, (*COMPILERS, os.environ.get("CXX", "")))):
        raise FileNotFoundError(
            f"to compile a model, PyTorch needs a C++ compiler, and there is none of "
            f"{', '.join(COMPILERS)}; install one, or train without compiling"
        )
    for stack in (model.encoder, model.decoder):
        _compile_in_training(stack)


def _compile_in_training(stack: nn.Module) -> None:
    plain = stack.forward
    compiled = torch.compile(plain, dynamic=True)  # the length of sentences varies

    def forward(*inputs: Tensor | None) -> Tensor:
        hidden: Tensor = compiled(*inputs) if stack.training else plain(*inputs)
        return hidden

    forward.same_in_evaluation = True  # type: ignore[attr-defined]  # so that `overridden` ignores it
    stack.forward = forward
