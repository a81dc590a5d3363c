"""Weights as small whole numbers with a scale, and the errors that this makes in a model."""

import copy
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.book.explorer.int8 import matrices, whole_numbers, whole_numbers_by_row

Rounding = Callable[[Tensor], Tensor]  # from a matrix to one that is as large, with fewer different numbers


def by_row(weight: Float[Tensor, "rows columns"], *, bits: int = 8) -> Float[Tensor, "rows columns"]:
    """Round to multiples of a step, a step for each row: its largest number / 127 with 8 bits."""
    numbers, step = whole_numbers_by_row(weight, bits=bits)
    return numbers * step


def by_matrix(weight: Float[Tensor, "rows columns"], *, bits: int = 8) -> Float[Tensor, "rows columns"]:
    """Round to multiples of one step for the whole matrix."""
    numbers, step = whole_numbers(weight, weight.abs().amax(), bits=bits)
    return numbers * step


def with_weights(model: nn.Module, rounding: Rounding) -> nn.Module:
    """Return a copy of a model with all matrices rounded."""
    rounded = copy.deepcopy(model)
    with torch.no_grad():
        for _, weight in matrices(rounded):
            weight.copy_(rounding(weight))
    return rounded


def output_errors(model: nn.Module, other: nn.Module, run: Callable[[nn.Module], object]) -> dict[str, float]:
    """Return how far the outputs of each layer of a stack are from those of another model, by its name.

    The error is the length of the difference, as a share of the output's length.
    """
    found = [_outputs(each, run) for each in (model, other)]
    return {name: float((found[1][name] - right).norm() / right.norm()) for name, right in found[0].items()}


def _outputs(model: nn.Module, run: Callable[[nn.Module], object]) -> dict[str, Tensor]:
    """Return the last output of each layer of the stacks."""
    kept: dict[str, Tensor] = {}

    def keep(name: str) -> Callable[[nn.Module, object, Tensor], None]:
        def hook(module: nn.Module, inputs: object, output: Tensor) -> None:
            kept[name] = output.detach()

        return hook

    layers = [(name, m) for name, m in model.named_modules() if name.rpartition(".")[0].endswith("layers")]
    hooks = [layer.register_forward_hook(keep(name)) for name, layer in layers]
    with torch.no_grad():
        run(model)
    for handle in hooks:
        handle.remove()
    return kept
