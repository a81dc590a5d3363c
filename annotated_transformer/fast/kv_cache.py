"""A key-value cache with fewer and larger operations: the chapter on decoding.

Decoding one token takes little arithmetic, so most of a step's time is the overhead of calling
operations. `FastKeyValueCache` calls fewer than half as many as `KeyValueCache`.
"""

import math
from functools import partial
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.decoding.kv_cache import decoder_results
from annotated_transformer.fast.decoder import FastDecoderLayer, KeyValueBuffer, fast_norm
from annotated_transformer.fast.linear import output_projection
from annotated_transformer.fast.proof import WAY_OUT, refuse_parts, stirred_copies
from annotated_transformer.fast.proof import refuse_other_devices as refuse_other_devices
from annotated_transformer.model.comparison import Comparison
from annotated_transformer.model.decoder import decoder_layers
from annotated_transformer.model.id_checks import check_step, refuse_outside
from annotated_transformer.model.inference import encode_sources
from annotated_transformer.model.transformer import Transformer

BLOCK = 16  # keys are padded to a multiple of it: PyTorch's softmax is slow over fewer numbers


class FastKeyValueCache:
    """Compute what `KeyValueCache` computes, faster and without gradients.

    It uses the weights of the decoder's modules without calling the modules, so changed lines, methods and
    hooks of the decoder have no effect. Therefore it first compares itself with the model.
    """

    def __init__(self, model: Transformer, src: Int[Tensor, "batch src_tokens"]) -> None:
        """Prove that the model is computed, encode the sources, and project the memory."""
        refuse_other_devices(model)
        refuse_other_steps(model)
        self.layers = [FastDecoderLayer(layer) for layer in decoder_layers(model.decoder)]
        self.final_norm = fast_norm(model.decoder.final_norm)
        self.embedding, self.scale = model.embedding.weight, math.sqrt(model.config.d_model)
        self.positions = cast(Tensor, model.positions.table).to(self.embedding.dtype)
        self.to_logits, self.output_bias = output_projection(model.to_logits.weight), model.output_bias
        self.heads = model.config.num_heads
        memory, src_mask = encode_sources(model, src)
        src_mask = src_mask[:, 0]
        # Not -inf: the softmax of a row of -inf is NaN.
        self.lowest = torch.finfo(memory.dtype).min
        mask = torch.zeros(src_mask.shape, dtype=memory.dtype, device=memory.device)
        mask = self._extend(mask.masked_fill(~src_mask, self.lowest), max(BLOCK - src.size(1), 0))
        self.memory_mask = mask.repeat_interleave(self.heads, dim=0)
        self.tgt_mask = self.memory_mask[:1, :, :0]
        projected = [layer.project(memory, src_mask) for layer in self.layers]
        buffers = [KeyValueBuffer(k.flatten(0, 1), v.flatten(0, 1)) for k, v in projected]
        self.buffers = [(each.without_keys(), each.extend(BLOCK - src.size(1))) for each in buffers]
        self.length = 0

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each target, and return the logits of the next token."""
        rows = len(self.memory_mask) // self.heads
        check_step(tokens, rows, self.length, len(self.positions))
        try:
            embedded = F.embedding(tokens, self.embedding)
        except IndexError:
            refuse_outside(tokens, len(self.embedding))
            raise
        if self.length % BLOCK == 0:
            self.tgt_mask = self._extend(self.tgt_mask, BLOCK)
            self.buffers = [(past.extend(BLOCK), memory) for past, memory in self.buffers]
        self.tgt_mask[..., self.length] = 0.0
        x = self.positions[self.length].add(embedded, alpha=self.scale)
        for layer, buffers in zip(self.layers, self.buffers, strict=True):
            x = layer.step(x, self.length, buffers, (self.tgt_mask, self.memory_mask))
        self.length += 1
        logits = self.to_logits(self.final_norm(x))
        return logits if self.output_bias is None else logits + self.output_bias

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows in this order; a row may be omitted or repeated."""
        heads = torch.arange(self.heads, device=rows.device)
        rows = (self.heads * rows[:, None] + heads).flatten()
        self.memory_mask = self.memory_mask[rows]
        self.buffers = [(past.select(rows), memory.select(rows)) for past, memory in self.buffers]

    def _extend(self, mask: Tensor, keys: int) -> Tensor:
        """Append masked keys."""
        return F.pad(mask, (0, keys), value=self.lowest)


refuse_other_steps = Comparison(
    "fast=True",
    WAY_OUT,
    refuse=refuse_parts,
    results=partial(decoder_results, FastKeyValueCache),
    copies=stirred_copies,
)
