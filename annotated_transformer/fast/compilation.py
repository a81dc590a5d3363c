"""Encoder and decoder as `torch.compile` makes them: the chapter on training."""

import os
import shutil

import torch
from torch import Tensor, nn

from annotated_transformer.model.transformer import Transformer

COMPILERS = ("g++", "clang++", "cl")


def compile_stacks(model: Transformer) -> None:
    """Have the encoder and the decoder of `model` compiled for training, in place.

    The first updates wait for it. Parameters keep their names; dropout draws other numbers
    than without. In evaluation both run as written: what is compiled would overlook the
    hooks by which a model is watched.

    Raises:
        FileNotFoundError: If there is no C++ compiler, which PyTorch needs for that.
    """
    if not any(map(shutil.which, (*COMPILERS, os.environ.get("CXX", "")))):
        raise FileNotFoundError(
            f"to compile a model, PyTorch needs a C++ compiler, and there is none of "
            f"{', '.join(COMPILERS)}; install one, or train without"
        )
    for stack in (model.encoder, model.decoder):
        _compile_in_training(stack)


def _compile_in_training(stack: nn.Module) -> None:
    plain = stack.forward
    compiled = torch.compile(plain, dynamic=True)  # sentences have any length

    def forward(*inputs: Tensor | None) -> Tensor:
        hidden: Tensor = compiled(*inputs) if stack.training else plain(*inputs)
        return hidden

    forward.same_in_evaluation = True  # type: ignore[attr-defined]  # so `overridden` lets it pass
    stack.forward = forward
