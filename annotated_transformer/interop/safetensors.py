"""A folder that other programs read without PyTorch: safetensors, JSON, and the tokenizer's own format."""

from pathlib import Path

import torch

from annotated_transformer.checkpointing.checkpoint import save
from annotated_transformer.interop.exported import refuse_undescribed
from annotated_transformer.interop.formats import FORMATS
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import Tokenizer

DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in FORMATS["safetensors"].dtypes}


@refuses_other_kinds
def to_safetensors(
    model: Transformer,
    tokenizer: Tokenizer,
    folder: str | Path,
    *,
    languages: tuple[str, str] | None = None,
    dtype: str = "float32",
) -> None:
    """Write what `save` writes, with the weights in the given type: it is the format for other programs, too.

    `NumpyModel` reads it in NumPy, which has no bfloat16. The tied embedding is stored once, and sinusoids
    are not stored.

    Raises:
        ValueError: If `save` would raise it, the model has hooks, or there is no such `dtype`.
    """
    if dtype not in DTYPES:
        raise ValueError(f"dtype={dtype!r} is not a type of stored weights; choose from {tuple(DTYPES)}")
    refuse_undescribed(model, "a program that reads the folder")
    save(folder, model, tokenizer, stored=DTYPES[dtype], languages=languages)
