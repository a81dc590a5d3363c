"""The formats of other libraries that `export` writes and `import` reads. Nothing here imports PyTorch."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple


class Format(NamedTuple):
    """A format, and the functions that write and read it.

    Attributes:
        about: What it is for, in a few words.
        module: The module with the functions, in this package.
        to: The name of the function that writes a folder, or None. It is called as
            `to(model, tokenizer, folder, languages=…)`, with `dtype=…` if one was asked for.
        from_: The name of the function that reads it, or None. Called with a path, it returns a model, its
            tokenizer, and its languages or None.
        dtypes: The types of weights that `to` takes as `dtype`.
    """

    about: str
    module: str
    to: str | None = None
    from_: str | None = None
    dtypes: tuple[str, ...] = ()

    def function(self, name: str | None) -> Callable[..., Any]:
        """Return the function of this name, `to` or `from_`."""
        return getattr(import_module(f"annotated_transformer.interop.{self.module}"), name or "")


FORMATS = {
    "marian": Format(
        "Hugging Face's transformers",
        "marian",
        to="to_marian",
        from_="from_marian",
        dtypes=("float32", "float16", "bfloat16"),
    ),
    "ctranslate2": Format(
        "CTranslate2", "ctranslate2", to="to_ctranslate2", dtypes=("float32", "float16", "bfloat16", "int8")
    ),
    "onnx": Format("onnxruntime and others", "onnx", to="to_onnx", dtypes=("float32", "float16", "int8")),
    "safetensors": Format(
        "programs without PyTorch",
        "safetensors",
        to="to_safetensors",
        dtypes=("float32", "float16", "bfloat16"),
    ),
}
WRITTEN = [name for name, known in FORMATS.items() if known.to]
READ = [name for name, known in FORMATS.items() if known.from_]
DTYPES = list(dict.fromkeys(dtype for known in FORMATS.values() for dtype in known.dtypes))
