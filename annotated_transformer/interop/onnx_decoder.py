"""Our searches on onnxruntime: a decoder whose steps run the graphs of `onnx`.

Buffers are bound to the inputs and outputs of a graph once, and used again in the next step, all but the
logits, which belong to the caller. The number of rows changes when a target has ended, and the space for keys
every 16 steps; only then are buffers replaced.
"""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.checkpointing.checkpoint import TOKENIZER
from annotated_transformer.config import TransformerConfig
from annotated_transformer.interop.exported import plain_transformer, stored_languages
from annotated_transformer.interop.libraries import needed
from annotated_transformer.interop.onnx import CACHES, CONFIG, ENCODER, STEP, cache_names, onnx_files
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.id_checks import check_step, foreign_ids, refuse_outside
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.sentence_pairs import find_file
from annotated_transformer.text.sentence_pieces import saved_tokenizer

BLOCK = 16  # space for keys grows by it
TYPES = {torch.int64: "int64", torch.float32: "float32", torch.float16: "float16"}  # NumPy's names


@refuses_other_kinds
class OnnxDecoder:
    """A model in onnxruntime on the CPU: the `decoder` of a `Translator`, or of a search."""

    vocabulary: list[str] | None = None  # unknown, unless it is loaded from a folder

    def __init__(self, folder: str | Path, *, threads: int = 1) -> None:
        """Load a model that `to_onnx` wrote; `threads` is the number of threads of one operation."""
        names = (ENCODER, STEP, CONFIG, TOKENIZER)
        self._load({name: find_file(Path(folder), name).read_bytes() for name in names}, threads)
        text = Path(folder, TOKENIZER).read_text("utf-8")
        self.vocabulary = saved_tokenizer(text).vocabulary()

    @classmethod
    @refuses_other_kinds
    def from_model(cls, model: Transformer, *, dtype: str = "float32", threads: int = 1) -> "OnnxDecoder":
        """Export a model in memory, which takes seconds; arguments and errors are those of `to_onnx`."""
        decoder = cls.__new__(cls)
        decoder._load(onnx_files(plain_transformer(model, "ONNX"), None, dtype), threads)
        return decoder

    def __call__(self, model: Transformer, src: Int[Tensor, "batch src_tokens"]) -> "OnnxSteps":
        """Encode the sources, and return what computes the steps. The weights are those of the export."""
        foreign_ids(model.embedding, src)
        if src.device.type != "cpu":
            raise ValueError(
                f"source ids are on {src.device}, and OnnxDecoder computes on the CPU; move them"
            )
        if model.config != self.config:
            raise ValueError(
                f"the exported model has {self.config}, and this one {model.config}; export this model"
            )
        return OnnxSteps(self, src)

    def _load(self, files: dict[str, bytes], threads: int) -> None:
        runtime: Any = needed("onnxruntime", "OnnxDecoder")
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3  # errors; it warns of each initializer that it removes
        provider = ["CPUExecutionProvider"]
        self.encoder, self.one_step = (
            runtime.InferenceSession(files[name], options, providers=provider) for name in (ENCODER, STEP)
        )
        settings = json.loads(files[CONFIG])
        self.languages = stored_languages(settings, "{}")
        self.dtype = torch.float16 if settings["dtype"] == "float16" else torch.float32
        names = {field.name for field in fields(TransformerConfig)}
        self.config = TransformerConfig(**{name: settings[name] for name in names & settings.keys()})


class OnnxSteps:
    """Targets that grow by one token per step, with the caches that the graphs read."""

    def __init__(self, decoder: OnnxDecoder, src: Int[Tensor, "batch src_tokens"]) -> None:
        self.config, self.dtype, self.session = decoder.config, decoder.dtype, decoder.one_step
        c = self.config
        self.widths = [width or c.d_model // c.num_heads for width in (c.d_k, c.d_v)]
        batch, src_tokens = src.shape
        src = src.long().contiguous()
        self.memory_mask = self._empty(batch, 1, 1, src_tokens)
        self.memory = [self._empty_cache(batch, src_tokens, width) for width in self.widths]
        binding = decoder.encoder.io_binding()
        bind(binding.bind_input, "src", src)
        bind(binding.bind_output, "memory_mask", self.memory_mask)
        self._bind_caches(binding.bind_output, CACHES[2:], self.memory)
        decoder.encoder.run_with_iobinding(binding)
        self.length = 0
        self.binding: Any = None  # until there are buffers of the right sizes
        self.past = [self._empty_cache(batch, 0, width) for width in self.widths]
        self.past_mask = self._empty(0)

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each target, and return the logits of the next token."""
        check_step(tokens, len(self.memory_mask), self.length, self.config.max_length)
        refuse_outside(tokens, self.config.vocab_size)
        if self.length == len(self.past_mask):
            self._extend()
        if self.binding is None:
            self.binding = self._bind(len(tokens))
        self.tokens.copy_(tokens)
        self.position.fill_(self.length)
        logits = self._empty(len(tokens), self.config.vocab_size)  # the caller's, so a new one in each step
        bind(self.binding.bind_output, "logits", logits)
        self.session.run_with_iobinding(self.binding)
        for past, new in zip(self.past, self.new, strict=True):
            past[:, :, :, self.length : self.length + 1] = new
        self.past_mask[self.length] = 0
        self.length += 1
        return logits

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows in this order; a row may be omitted or repeated."""
        if len(rows) == len(self.memory_mask) and torch.equal(rows, torch.arange(len(rows))):
            return
        self.memory_mask = self.memory_mask[rows]
        self.memory = [cache.index_select(1, rows) for cache in self.memory]
        self.past = [cache.index_select(1, rows) for cache in self.past]
        self.binding = None

    def _extend(self) -> None:
        """Make space for another block of keys, which are masked until there is one."""
        self.past = [F.pad(cache, (0, 0, 0, BLOCK)) for cache in self.past]
        lowest = torch.finfo(self.dtype).min
        self.past_mask = F.pad(self.past_mask, (0, BLOCK), value=lowest)
        self.binding = None

    def _bind(self, rows: int) -> Any:
        """Make buffers for this number of rows, and bind all inputs and outputs of a step."""
        self.tokens, self.position = torch.empty(rows, dtype=torch.int64), torch.empty((), dtype=torch.int64)
        self.new = [self._empty_cache(rows, 1, width) for width in self.widths]
        binding = self.session.io_binding()
        for name in ("tokens", "position", "past_mask", "memory_mask"):
            bind(binding.bind_input, name, getattr(self, name))
        self._bind_caches(binding.bind_input, CACHES[:2], self.past)
        self._bind_caches(binding.bind_input, CACHES[2:], self.memory)
        for name, buffer in zip(("new_keys", "new_values"), self.new, strict=True):
            bind(binding.bind_output, name, buffer)
        return binding

    def _bind_caches(self, bind_one: Any, kinds: tuple[str, ...], caches: list[Tensor]) -> None:
        """Bind the keys and values of each layer, which lie one after the other in memory."""
        names = cache_names(kinds, self.config.num_layers)
        for name, layer in zip(names, (layer for cache in caches for layer in cache), strict=True):
            bind(bind_one, name, layer)

    def _empty_cache(self, rows: int, tokens: int, width: int) -> Tensor:
        return self._empty(self.config.num_layers, rows, self.config.num_heads, tokens, width)

    def _empty(self, *shape: int) -> Tensor:
        return torch.empty(shape, dtype=self.dtype)


def bind(bind_one: Any, name: str, buffer: Tensor) -> None:
    """Let a graph read or write the memory of a tensor, which must live as long as the binding."""
    bind_one(name, "cpu", 0, TYPES[buffer.dtype], tuple(buffer.shape), buffer.data_ptr())
