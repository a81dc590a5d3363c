"""ONNX, a format of computation graphs: our encoder and one step of our decoder, for any runtime of it."""

import copy
import dataclasses
import json
import logging
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import nn

from annotated_transformer.checkpointing.checkpoint import TOKENIZER, rounded
from annotated_transformer.checkpointing.files import write_together
from annotated_transformer.interop.exported import exportable
from annotated_transformer.interop.formats import FORMATS
from annotated_transformer.interop.libraries import needed
from annotated_transformer.interop.onnx_graphs import EncoderGraph, StepGraph
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.sentence_pairs import Languages, refuse_one_language
from annotated_transformer.text.tokenizer import Tokenizer

ENCODER, STEP, CONFIG = "encoder.onnx", "step.onnx", "config.json"
OPSET = 20
CACHES = ("past_key", "past_value", "memory_key", "memory_value")  # names of inputs, each with `_LAYER`


@refuses_other_kinds
def to_onnx(
    model: Transformer,
    tokenizer: Tokenizer,
    folder: str | Path,
    *,
    languages: tuple[str, str] | None = None,
    dtype: str = "float32",
) -> None:
    """Write `encoder.onnx`, `step.onnx`, `config.json` and `tokenizer.json` to `folder`.

    The graphs are those of `onnx_graphs`. Their sizes are dynamic: number of sources and of targets, tokens
    of a source, and space in the cache. With `dtype="float16"`, inputs and outputs are in float16, too. With
    "int8", onnxruntime has quantized the weights of matrix products and the embeddings, and quantizes the
    inputs of matrix products as it runs.

    All files are complete on disk before the first older one is replaced, as with `save`.

    Raises:
        ValueError: If the graphs do not have a part of the model, model and tokenizer do not belong together,
            there is no such `dtype`, or both languages are the same.
    """
    model = exportable(model, tokenizer, Path(folder), "ONNX")
    files = onnx_files(model, languages, dtype)
    write_together(Path(folder), files | {TOKENIZER: tokenizer.to_json().encode() + b"\n"})


def onnx_files(model: Transformer, languages: tuple[str, str] | None, dtype: str) -> dict[str, bytes]:
    """Return the files that `to_onnx` writes for a plain model, all but the tokenizer's."""
    if dtype not in (dtypes := FORMATS["onnx"].dtypes):
        raise ValueError(f"dtype={dtype!r} is not a type of exported weights; choose from {dtypes}")
    stored = torch.float16 if dtype == "float16" else torch.float32  # also of what is not quantized
    rounded(model.state_dict(), stored)  # refuses overflow
    settings = dataclasses.asdict(model.config) | {"dtype": dtype}
    if languages is not None:
        refuse_one_language(*languages)
        settings |= Languages(*languages)._asdict()
    model = copy.deepcopy(model).cpu().to(stored).eval().requires_grad_(False)
    graphs = {ENCODER: _encoder(model), STEP: _step(model)}
    if dtype == "int8":
        graphs = {name: _quantized(graph) for name, graph in graphs.items()}
    return graphs | {CONFIG: json.dumps(settings, indent=2).encode() + b"\n"}


def cache_names(kinds: tuple[str, ...], layers: int) -> list[str]:
    """Return the names of caches of these kinds: all layers of the first, then all of the next."""
    return [f"{kind}_{layer}" for kind in kinds for layer in range(layers)]


def _encoder(model: Transformer) -> bytes:
    batch, src_tokens = (torch.export.Dim(name, min=1) for name in ("batch", "src_tokens"))
    src = torch.full((3, 5), model.config.eos_id)
    outputs = ["memory_mask", *cache_names(CACHES[2:], model.config.num_layers)]
    return _export(EncoderGraph(model), (src,), ({0: batch, 1: src_tokens},), ["src"], outputs)


def _step(model: Transformer) -> bytes:
    c, dtype = model.config, model.embedding.weight.dtype
    names = ("rows", "src_tokens", "capacity")
    rows, src_tokens, capacity = (torch.export.Dim(name, min=1) for name in names)
    d_k, d_v = (width or c.d_model // c.num_heads for width in (c.d_k, c.d_v))
    sizes = [(7, d_k), (7, d_v), (5, d_k), (5, d_v)]
    caches = [torch.zeros(3, c.num_heads, *size, dtype=dtype) for size in sizes for _ in range(c.num_layers)]
    lengths = [capacity] * (2 * c.num_layers) + [src_tokens] * (2 * c.num_layers)
    masks = torch.zeros(7, dtype=dtype), torch.zeros(3, 1, 1, 5, dtype=dtype)
    inputs = (torch.full((3,), c.bos_id), torch.tensor(1), *masks, caches)
    shapes: Any = (
        {0: rows},
        {},
        {0: capacity},
        {0: rows, 3: src_tokens},
        [{0: rows, 2: length} for length in lengths],
    )
    inputs_by_name = ["tokens", "position", "past_mask", "memory_mask", *cache_names(CACHES, c.num_layers)]
    return _export(StepGraph(model), inputs, shapes, inputs_by_name, ["logits", "new_keys", "new_values"])


def _export(graph: nn.Module, inputs: Any, shapes: Any, names: list[str], outputs: list[str]) -> bytes:
    for name in ("onnx", "onnxscript"):
        needed(name, "exporting to ONNX")
    logger = logging.getLogger("torch.onnx._internal.exporter._registration")  # misses torchvision
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of PyTorch about PyTorch, and about names of equal sizes
            program: Any = torch.onnx.export(
                graph.eval(),
                inputs,
                dynamo=True,
                dynamic_shapes=shapes,
                input_names=names,
                output_names=outputs,
                opset_version=OPSET,
                external_data=False,
                verbose=False,
            )
    finally:
        logger.setLevel(level)
    data: bytes = program.model_proto.SerializeToString(deterministic=True)
    return data


def _quantized(graph: bytes) -> bytes:
    """Return a graph whose matrix products and embeddings have weights in int8."""
    onnx, quantization = (needed(x, "quantization") for x in ("onnx", "onnxruntime.quantization"))
    model = onnx.load_model_from_string(graph)
    # What this names has been done by the exporter; without it, onnxruntime logs that it should be.
    model.metadata_props.add(key="onnx.quant.pre_process", value="onnxruntime.quant")
    with TemporaryDirectory() as folder:
        path = Path(folder, "quantized.onnx")
        with_weights = ["MatMul", "Gemm", "Gather"]  # the last one looks up embeddings
        quantization.quantize_dynamic(model, path, with_weights, per_channel=True, reduce_range=True)
        return path.read_bytes()
