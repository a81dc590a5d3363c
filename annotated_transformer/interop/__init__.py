"""Models of other libraries, and our models for them: conversion of weights, in both directions."""

from typing import TYPE_CHECKING

from annotated_transformer.lazy_names import lazy

if TYPE_CHECKING:  # imported on first use: most need a library of the extra `interop`
    from annotated_transformer.interop.marian import from_marian, to_marian
    from annotated_transformer.interop.torch_nn import from_torch, to_torch, torch_masks

EXPORTS = {  # by module
    "interop.marian": "from_marian to_marian",
    "interop.torch_nn": "from_torch to_torch torch_masks",
}

__all__ = [
    "from_marian",
    "from_torch",
    "to_marian",
    "to_torch",
    "torch_masks",
]

__getattr__, __dir__ = lazy(__name__, EXPORTS)
