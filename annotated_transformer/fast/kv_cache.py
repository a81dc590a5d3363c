"""A key-value cache with fewer and larger operations: the chapter on decoding.

Decoding one token takes little arithmetic, so most of a step's time is the overhead of calling
operations. `FastKeyValueCache` calls fewer than half as many as `KeyValueCache`.
"""

import math
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.fast.compatibility import check_step, refuse_for_fast_cache
from annotated_transformer.fast.kv_cache_layer import BLOCK, FastDecoderLayer, fast_norm
from annotated_transformer.fast.linear import OutputProjection
from annotated_transformer.model.checks import check_ids
from annotated_transformer.model.decoder import decoder_layers
from annotated_transformer.model.masks import padding_mask
from annotated_transformer.model.transformer import Transformer


class FastKeyValueCache:
    """Compute what `KeyValueCache` computes, faster and without gradients.

    It uses the weights of the decoder's modules without calling the modules. A model with hooks on
    them, overridden methods or replaced modules is therefore refused.
    """

    def __init__(self, model: Transformer, src: Int[Tensor, "batch src_tokens"]) -> None:
        """Encode the sources, project the memory, and concatenate weights.

        Raises:
            TypeError: If the sources are not a tensor of integers.
            ValueError: If they do not have two dimensions, or if the model computes a step in a different
                way; `refuse_for_fast_cache` lists the conditions.
        """
        check_ids(src, "source ids")
        refuse_for_fast_cache(model)
        self.heads = model.config.num_heads
        src_mask = padding_mask(src, model.config.pad_id)[:, 0]
        memory = model.encode(src, src_mask[:, None])
        # Not -inf: the softmax of a row of -inf is NaN.
        self.lowest = torch.finfo(memory.dtype).min
        mask = torch.zeros(src_mask.shape, dtype=memory.dtype, device=memory.device)
        mask = self._extend(mask.masked_fill(~src_mask, self.lowest), max(BLOCK - src.size(1), 0))
        self.memory_mask = mask.repeat_interleave(self.heads, dim=0)
        self.tgt_mask = self.memory_mask[:1, :, :0]
        self.layers = [FastDecoderLayer(layer, memory, src_mask) for layer in decoder_layers(model.decoder)]
        self.final_norm = fast_norm(model.decoder.final_norm)
        self.embedding = model.embedding.weight
        self.to_logits = OutputProjection(self.embedding)
        self.positions = cast(Tensor, model.positions.table)
        self.scale, self.length = math.sqrt(model.config.d_model), 0

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each target, and return the logits of the next token.

        Raises:
            ValueError: If there is not one token for each target, the targets are as long as the model
                allows, or a token is not in the vocabulary.
        """
        check_step(tokens, len(self.memory_mask) // self.heads, self.length, len(self.positions))
        try:
            embedded = F.embedding(tokens, self.embedding)
        except IndexError as error:
            raise ValueError(
                f"tokens {int(tokens.min())} to {int(tokens.max())} are not all in the vocabulary of "
                f"{len(self.embedding)} tokens; give ids of this model's tokenizer"
            ) from error
        if self.length % BLOCK == 0:
            self.tgt_mask = self._extend(self.tgt_mask, BLOCK)
            for layer in self.layers:
                layer.extend()
        self.tgt_mask[..., self.length] = 0.0
        x = self.positions[self.length].add(embedded, alpha=self.scale)
        for layer in self.layers:
            x = layer.step(x, self.length, self.tgt_mask, self.memory_mask)
        self.length += 1
        return self.to_logits(self.final_norm(x))

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows in this order; a row may be omitted or repeated."""
        heads = torch.arange(self.heads, device=rows.device)
        rows = (self.heads * rows[:, None] + heads).flatten()
        self.memory_mask = self.memory_mask[rows]
        for layer in self.layers:
            layer.select(rows)

    def _extend(self, mask: Tensor, keys: int) -> Tensor:
        """Append masked keys."""
        return F.pad(mask, (0, keys), value=self.lowest)
