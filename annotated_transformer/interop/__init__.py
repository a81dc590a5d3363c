"""Models of other libraries, and our models for them: conversion of weights, in both directions."""

from typing import TYPE_CHECKING

from annotated_transformer.lazy_names import lazy

if TYPE_CHECKING:  # imported on first use: most need a library of the extra `interop`
    from annotated_transformer.interop.ctranslate2 import CTranslate2Engine, to_ctranslate2
    from annotated_transformer.interop.marian import from_marian, to_marian
    from annotated_transformer.interop.numpy_model import NumpyModel
    from annotated_transformer.interop.onnx import to_onnx
    from annotated_transformer.interop.onnx_decoder import OnnxDecoder
    from annotated_transformer.interop.safetensors import to_safetensors
    from annotated_transformer.interop.torch_nn import from_torch, to_torch, torch_masks

EXPORTS = {  # by module
    "interop.ctranslate2": "CTranslate2Engine to_ctranslate2",
    "interop.marian": "from_marian to_marian",
    "interop.numpy_model": "NumpyModel",
    "interop.onnx": "to_onnx",
    "interop.onnx_decoder": "OnnxDecoder",
    "interop.safetensors": "to_safetensors",
    "interop.torch_nn": "from_torch to_torch torch_masks",
}

__all__ = [
    "CTranslate2Engine",
    "NumpyModel",
    "OnnxDecoder",
    "from_marian",
    "from_torch",
    "to_ctranslate2",
    "to_marian",
    "to_onnx",
    "to_safetensors",
    "to_torch",
    "torch_masks",
]

__getattr__, __dir__ = lazy(__name__, EXPORTS)
