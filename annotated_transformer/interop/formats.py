"""The formats of other libraries that `export` writes and `import` reads. Nothing here imports PyTorch."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple


class Format(NamedTuple):
    """A format. The module of its name has `to_NAME(model, tokenizer, folder, languages=…, dtype=…)`.

    If it is one of `READ`, `from_NAME(path)` returns a model, its tokenizer, and its languages or None.

    Attributes:
        about: What it is for, in a few words.
        dtypes: The types of weights that can be asked for.
    """

    about: str
    dtypes: tuple[str, ...]


FORMATS = {
    "marian": Format("Hugging Face's transformers", ("float32", "float16", "bfloat16")),
    "ctranslate2": Format("CTranslate2", ("float32", "float16", "bfloat16", "int8")),
    "onnx": Format("onnxruntime and others", ("float32", "float16", "int8")),
    "safetensors": Format("programs without PyTorch", ("float32", "float16", "bfloat16")),
}
READ = ["marian"]
DTYPES = list(dict.fromkeys(dtype for known in FORMATS.values() for dtype in known.dtypes))


def converter(direction: str, name: str) -> Callable[..., Any]:
    """Return the function `to_NAME` or `from_NAME` of a format."""
    return getattr(import_module(f"annotated_transformer.interop.{name}"), f"{direction}_{name}")
