"""Memory of fixed size for decoding on a GPU, and what is recorded on it: the chapter on decoding.

Nobody has run this on a card yet; on a CPU, it is tested.
"""

from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from annotated_transformer.fast.decoder import FastDecoder
from annotated_transformer.fast.encoder import FastEncoder
from annotated_transformer.fast.recording import Recorded


class Sizes(NamedTuple):
    """What buffers have space for: each source has `beam` targets, which lie side by side."""

    sources: int
    beam: int
    src_tokens: int
    tgt_tokens: int

    @property
    def rows(self) -> int:
        """The number of targets."""
        return self.sources * self.beam


class Slots:
    """Buffers, and the recordings of what is computed on them.

    The buffers do not refer to the recordings: such a cycle would keep the memory of both.
    """

    def __init__(self, decoder: FastDecoder, sizes: Sizes) -> None:
        """Allocate the buffers; nothing is recorded yet."""
        self.sizes, self.buffers = sizes, StaticBuffers(decoder, sizes)
        device = self.buffers.position.device
        self.step = Recorded(self.buffers.step, device=device)
        self.reorder = Recorded(self.buffers.reorder, device=device)
        self.encoding: Recorded | None = None

    def encode(self, encoder: FastEncoder, src: Int[Tensor, "batch src_tokens"]) -> None:
        """Encode sources, whose ids must be in the vocabulary, by a recording of the first `encoder`."""
        config, sizes, batch = encoder.model.config, self.sizes, len(src)
        room = 0, sizes.src_tokens - src.size(1), 0, sizes.sources - batch
        ids = F.pad(src, room, value=config.pad_id)
        ids[batch:, 0] = config.eos_id  # padding alone would have nothing to attend to
        if self.encoding is None:
            function = partial(self.buffers.encode, encoder)
            self.encoding = Recorded(function, device=self.buffers.position.device)
        self.encoding(ids)


class StaticBuffers:
    """Keys and values of all layers, in memory that stays where it is, and the masks of their tokens."""

    def __init__(self, decoder: FastDecoder, sizes: Sizes) -> None:
        """Allocate everything."""
        self.decoder, self.sizes = decoder, sizes
        weight = decoder.embedding
        shapes = [(layer.heads, layer.d_k, layer.d_v) for layer in decoder.layers]
        widths = [heads * (d_k + d_v) for heads, d_k, d_v in shapes]
        # All layers of a row lie side by side, so one operation selects rows.
        self.past = weight.new_zeros(sizes.rows, sizes.tgt_tokens * sum(widths))
        self.memory = weight.new_zeros(sizes.sources, sizes.src_tokens * sum(widths))
        pasts = self.past.split([sizes.tgt_tokens * width for width in widths], dim=1)
        memories = self.memory.split([sizes.src_tokens * width for width in widths], dim=1)
        self.layers = [
            (StaticBuffer(past, *shape), StaticBuffer(memory, *shape))
            for past, memory, shape in zip(pasts, memories, shapes, strict=True)
        ]
        self.lowest = torch.finfo(weight.dtype).min  # not -inf: the softmax of a row of -inf is NaN
        self.tgt_mask = weight.new_full((1, 1, 1, sizes.tgt_tokens), self.lowest)
        self.memory_mask = weight.new_full((sizes.sources, 1, 1, sizes.src_tokens), self.lowest)
        self.position = torch.zeros(1, dtype=torch.int64, device=weight.device)

    def encode(self, encoder: FastEncoder, ids: Int[Tensor, "batch src_tokens"]) -> tuple[()]:
        """Encode sources, and do what `fill` does."""
        self.fill(*encoder(ids))
        return ()

    def fill(
        self,
        memory: Float[Tensor, "batch src_tokens d_model"],
        src_mask: Bool[Tensor, "batch 1 1 src_tokens"],
    ) -> None:
        """Forget what was in the buffers, which may have been NaN, and project the memory into them."""
        self.past.zero_()
        self.memory.zero_()
        self.tgt_mask.fill_(self.lowest)
        batch, src_tokens = len(memory), memory.size(1)
        self.memory_mask.fill_(self.lowest)
        self.memory_mask[:batch, ..., :src_tokens].masked_fill_(src_mask, 0.0)
        for layer, (_, own) in zip(self.decoder.layers, self.layers, strict=True):
            keys, values = layer.project(memory, src_mask[:, 0])
            own.keys[:batch, :, :src_tokens] = keys
            own.values[:batch, :, :src_tokens] = values

    def step(self, tokens: Int[Tensor, " rows"]) -> tuple[Float[Tensor, "rows vocab"]]:
        """Return the logits of the tokens that follow these, which are at `position`."""
        self.tgt_mask.index_fill_(-1, self.position, 0.0)
        masks = self.tgt_mask, self.memory_mask
        return (self.decoder.step(self.decoder.embed(tokens), self.position, self.layers, masks),)

    def reorder(self, rows: Int[Tensor, " rows"]) -> tuple[()]:
        """Select rows in place; those of a beam have the same source, which stays where it is."""
        own = [self.past] if self.sizes.beam > 1 else [self.past, self.memory, self.memory_mask]
        for each in own:
            each.copy_(each.index_select(0, rows))
        return ()

    def copy(
        self, other: "StaticBuffers", rows: Int[Tensor, " kept"], sources: Int[Tensor, " _sources"]
    ) -> None:
        """Copy these rows and these sources of other buffers, which have at most as many target tokens."""
        tokens = other.sizes.tgt_tokens
        self.past.zero_()
        self.tgt_mask.fill_(self.lowest)
        self.tgt_mask[..., :tokens] = other.tgt_mask
        self.memory[: len(sources)] = other.memory.index_select(0, sources)
        self.memory_mask[: len(sources)] = other.memory_mask.index_select(0, sources)
        for (own, _), (past, _) in zip(self.layers, other.layers, strict=True):
            own.keys[: len(rows), :, :tokens] = past.keys.index_select(0, rows)
            own.values[: len(rows), :, :tokens] = past.values.index_select(0, rows)


class StaticBuffer:
    """Keys and values of every head of every row, in memory that stays where it is."""

    def __init__(self, memory: Float[Tensor, "rows _numbers"], heads: int, d_k: int, d_v: int) -> None:
        """Lay out the keys before the values, in a part of a larger tensor."""
        keys = memory.size(1) // (d_k + d_v)
        parts = memory.split([keys * d_k, keys * d_v], dim=1)
        self.keys, self.values = (part.unflatten(1, (heads, keys // heads, -1)) for part in parts)

    def read(
        self, query: Float[Tensor, "_query_heads 1 d_k"], additive_mask: Float[Tensor, "#rows 1 1 keys"]
    ) -> Float[Tensor, "rows _beam heads d_v"]:
        r"""Return $\mathrm{softmax}(QK^\top / \sqrt{d_k} + M)\,V$ by PyTorch's fused attention.

        There may be several queries for each row of keys, side by side: those of a beam.
        """
        rows, heads = self.keys.shape[:2]
        queries = query.view(rows, -1, heads, query.size(-1)).transpose(1, 2)
        read = F.scaled_dot_product_attention(queries, self.keys, self.values, attn_mask=additive_mask)
        return read.transpose(1, 2)

    def write(self, position: Int[Tensor, "1"], key: Tensor, value: Tensor) -> None:
        """Set the key and the value of each head at a position, which is on the device."""
        self.keys.index_copy_(2, position, key.unflatten(0, self.keys.shape[:2]))
        self.values.index_copy_(2, position, value.unflatten(0, self.keys.shape[:2]))
