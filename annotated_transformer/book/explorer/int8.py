"""The shipped models as the explorer has them: with weights of 8 bits, which are sent in half the time.

The chapter on cost shows what such weights cost. `builder/explorer/pack.py` writes them for the page.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from annotated_transformer.decoding.translator import Translator


def matrices(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Yield the matrices of a model with their names, each once; vectors, which are few, stay as they are."""
    return ((name, weight) for name, weight in model.named_parameters() if weight.dim() == 2)


def whole_numbers(weight: Tensor, largest: Tensor, *, bits: int = 8) -> tuple[Tensor, Tensor]:
    """Return the weights as whole numbers, still in floating point, and the step that they are multiples of.

    `largest` is what 127, or the largest number of fewer bits, stands for: one for each row, or one.
    """
    most = 2 ** (bits - 1) - 1
    step = largest.clamp(min=torch.finfo(weight.dtype).tiny) / most
    return (weight / step).round().clamp(-most, most), step


def whole_numbers_by_row(weight: Tensor, *, bits: int = 8) -> tuple[Tensor, Tensor]:
    """Return the same with a step for each row, in a column."""
    return whole_numbers(weight, weight.abs().amax(dim=1, keepdim=True), bits=bits)


def explorer_translator(direction: str) -> Translator:
    """Return a shipped model with the weights that the explorer computes with."""
    translator = Translator.from_pretrained(direction)
    with torch.no_grad():
        for _, weight in matrices(translator.model):
            numbers, step = whole_numbers_by_row(weight)
            weight.copy_(numbers * step)
    return translator
