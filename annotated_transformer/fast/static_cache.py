"""A key-value cache of fixed size for CUDA, where a step is one recorded graph: the chapter on decoding.

A step on a card takes less time than launching its kernels one by one, and than asking the card for a number.
Nobody has run this on a card yet; on a CPU, where it is slower than `FastKeyValueCache`, it is tested.
"""

from functools import cached_property
from itertools import chain
from operator import is_

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from annotated_transformer.fast.decoder import FastDecoder
from annotated_transformer.fast.kv_cache import refuse_for_fast_cache
from annotated_transformer.fast.recording import Recorded, power_of_2
from annotated_transformer.model.id_checks import check_step
from annotated_transformer.model.inference import encode_sources
from annotated_transformer.model.transformer import Transformer

SRC_TOKENS, TGT_TOKENS = 16, 32  # the smallest buffers; larger ones have 2, 4, 8 … times as many
KEPT = 24  # buffers, each with its recorded step


class StaticCaches:
    """Make a decoder for each batch; those of one model share buffers and recorded steps.

    The model is checked as `FastKeyValueCache` checks it: once, and again if a module was changed since.
    Changed weights count from the next batch on. A copy starts with nothing recorded.
    """

    def __init__(self) -> None:
        """Record nothing yet."""
        self.parts: DecoderParts | None = None

    def __reduce__(self) -> tuple[type["StaticCaches"], tuple[()]]:
        return StaticCaches, ()

    @torch.inference_mode()
    def __call__(self, model: Transformer, src: Int[Tensor, "batch src_tokens"]) -> "StaticKeyValueCache":
        """Encode the sources, and project the memory.

        Raises:
            NotPlain: If the model computes a step in a different way; `refuse_for_fast_cache` lists the
                conditions.
            TypeError: If the sources are not a tensor of integers.
            ValueError: If they do not have two dimensions.
        """
        if self.parts is None or self.parts.changed(model):
            refuse_for_fast_cache(model)
            self.parts, self.shelf = DecoderParts(model), Shelf(FastDecoder(model))
        self.shelf.decoder.update()
        return StaticKeyValueCache(self.shelf, *encode_sources(model, src))


class DecoderParts:
    """What a step of decoding depends on: classes, attributes, hooks and submodules, and where weights are.

    Comparing it takes a fraction of the time of the checks.
    """

    def __init__(self, model: Transformer) -> None:
        """Remember the parts of a model, except those of the encoder."""
        stacks = (child.modules() for child in model.children() if child is not model.encoder)
        self.modules = [model, *chain.from_iterable(stacks)]
        attributes = [vars(module) for module in self.modules]
        inner = [value for own in attributes for value in own.values() if isinstance(value, dict)]
        self.dictionaries = attributes + inner
        self.values = self._values()
        self.tensors = [value for value in self.values if isinstance(value, Tensor)]
        self.places = self._places()

    def changed(self, model: Transformer) -> bool:
        """Return whether it is another model, or one of its parts was replaced, or moved to another place."""
        now = self._values()
        same = len(now) == len(self.values) and all(map(is_, now, self.values))
        return model is not self.modules[0] or not same or self._places() != self.places

    def _values(self) -> list[object]:
        return [*map(type, self.modules), *chain.from_iterable(map(dict.values, self.dictionaries))]

    def _places(self) -> list[tuple[int, torch.dtype]]:
        return [(tensor.data_ptr(), tensor.dtype) for tensor in self.tensors]


class StaticKeyValueCache:
    """Compute what `KeyValueCache` computes, without waiting for the device, and in steps that are recorded.

    Make one with `StaticCaches`. It has room for a power of two of rows. Tokens must be in the vocabulary: on
    CUDA, others are a fatal error of the device.
    """

    interval = 8  # steps between questions to the device, in the searches

    def __init__(
        self,
        shelf: "Shelf",
        memory: Float[Tensor, "batch src_tokens d_model"],
        src_mask: Bool[Tensor, "batch 1 1 src_tokens"],
    ) -> None:
        """Project the memory into buffers from the shelf."""
        self.shelf, self.rows, self.length = shelf, len(memory), 0
        self.slots = shelf.take(power_of_2(self.rows), power_of_2(memory.size(1), SRC_TOKENS), TGT_TOKENS)
        self.slots.start(memory, src_mask)

    @torch.inference_mode()
    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each target, and return the logits of the next token.

        Raises:
            ValueError: If there is not one token for each target, or the targets are as long as the model
                allows. On a CPU, also if a token is not in the vocabulary.
        """
        check_step(tokens, self.rows, self.length, len(self.shelf.decoder.positions))
        rows, src_tokens, tgt_tokens = self.slots.sizes
        if self.length == tgt_tokens:
            self._move((rows, src_tokens, 2 * tgt_tokens), self.slots.all_rows)
        self.slots.position.fill_(self.length)
        (logits,) = self.slots.step(_padded(tokens, rows))
        self.length += 1
        return logits[: self.rows].clone()  # the next step overwrites them

    @torch.inference_mode()
    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows in this order; a row may be omitted or repeated."""
        room, *tokens = self.slots.sizes
        self.rows = len(rows)
        if power_of_2(self.rows) == room:
            self.slots.reorder(_padded(rows, room))
        else:
            self._move((power_of_2(self.rows), *tokens), rows)

    def close(self) -> None:
        """Let other batches use the buffers."""
        self.shelf.give_back(self.slots)

    def _move(self, sizes: tuple[int, ...], rows: Tensor) -> None:
        slots = self.shelf.take(*sizes)
        slots.copy(self.slots, rows)
        self.close()
        self.slots = slots


class Shelf:
    """The weights of a model's decoder, and the buffers that no batch uses now."""

    def __init__(self, decoder: FastDecoder) -> None:
        """Start without buffers."""
        self.decoder = decoder
        self.free: dict[tuple[int, int, int], Slots] = {}

    def take(self, rows: int, src_tokens: int, tgt_tokens: int) -> "Slots":
        """Return buffers of these sizes; no other batch (in another thread) gets them until they are back."""
        sizes = rows, src_tokens, tgt_tokens
        return self.free.pop(sizes, None) or Slots(self.decoder, sizes)

    def give_back(self, slots: "Slots") -> None:
        """Keep buffers for another batch, but not those that were not used for the longest time."""
        self.free[slots.sizes] = slots
        for sizes in [*self.free][:-KEPT]:
            if oldest := self.free.pop(sizes, None):
                oldest.position.item()  # wait: the card may still run its step


class Slots:
    """Buffers for a fixed number of rows, source tokens and target tokens, and the recorded step on them."""

    def __init__(self, decoder: FastDecoder, sizes: tuple[int, int, int]) -> None:
        """Allocate the buffers."""
        self.decoder, self.sizes = decoder, sizes
        rows, src_tokens, tgt_tokens = sizes
        weight = decoder.embedding
        shapes = [(layer.heads, layer.d_k, layer.d_v) for layer in decoder.layers]
        widths = [heads * (d_k + d_v) for heads, d_k, d_v in shapes]
        # All layers of a row lie side by side, so one operation selects rows.
        self.past = weight.new_zeros(rows, tgt_tokens * sum(widths))
        self.memory = weight.new_zeros(rows, src_tokens * sum(widths))
        pasts = self.past.split([tgt_tokens * width for width in widths], dim=1)
        memories = self.memory.split([src_tokens * width for width in widths], dim=1)
        self.buffers = [
            (StaticBuffer(past, *shape), StaticBuffer(memory, *shape))
            for past, memory, shape in zip(pasts, memories, shapes, strict=True)
        ]
        self.lowest = torch.finfo(weight.dtype).min  # not -inf: the softmax of a row of -inf is NaN
        self.tgt_mask = weight.new_full((1, 1, 1, tgt_tokens), self.lowest)
        self.memory_mask = weight.new_full((rows, 1, 1, src_tokens), self.lowest)
        self.all_rows = torch.arange(rows, device=weight.device)
        self.position = self.all_rows[:1].clone()

    def start(
        self,
        memory: Float[Tensor, "batch src_tokens d_model"],
        src_mask: Bool[Tensor, "batch 1 1 src_tokens"],
    ) -> None:
        """Forget what was in the buffers, which may have been NaN, and project the memory into them."""
        self.past.zero_()
        self.memory.zero_()
        self.tgt_mask.fill_(self.lowest)
        rows, src_tokens = len(memory), memory.size(1)
        self.memory_mask.fill_(self.lowest)
        self.memory_mask[:rows, ..., :src_tokens].masked_fill_(src_mask, 0.0)
        for layer, (_, own) in zip(self.decoder.layers, self.buffers, strict=True):
            keys, values = layer.project(memory, src_mask[:, 0])
            own.keys[:rows, :, :src_tokens] = keys
            own.values[:rows, :, :src_tokens] = values

    def copy(self, other: "Slots", rows: Int[Tensor, " kept"]) -> None:
        """Copy these rows of other buffers, which have at most as many target tokens."""
        tokens = other.sizes[2]
        self.past.zero_()
        self.tgt_mask.fill_(self.lowest)
        self.tgt_mask[..., :tokens] = other.tgt_mask
        self.memory[: len(rows)] = other.memory.index_select(0, rows)
        self.memory_mask[: len(rows)] = other.memory_mask.index_select(0, rows)
        for (own, _), (past, _) in zip(self.buffers, other.buffers, strict=True):
            own.keys[: len(rows), :, :tokens] = past.keys.index_select(0, rows)
            own.values[: len(rows), :, :tokens] = past.values.index_select(0, rows)

    @cached_property
    def step(self) -> Recorded:
        """Compute a step at `position`."""
        return Recorded(self._step, device=self.all_rows.device)

    @cached_property
    def reorder(self) -> Recorded:
        """Select rows in place."""
        return Recorded(self._reorder, device=self.all_rows.device)

    def _reorder(self, rows: Tensor) -> tuple[()]:
        for own in (self.past, self.memory, self.memory_mask):
            own.copy_(own.index_select(0, rows))
        return ()

    def _step(self, tokens: Tensor) -> tuple[Tensor]:
        self.tgt_mask.index_fill_(-1, self.position, 0.0)
        masks = self.tgt_mask, self.memory_mask
        return (self.decoder.step(self.decoder.embed(tokens), self.position, self.buffers, masks),)


class StaticBuffer:
    """Keys and values of every head of every row, in memory that stays where it is."""

    def __init__(self, memory: Float[Tensor, "rows _numbers"], heads: int, d_k: int, d_v: int) -> None:
        """Lay out the keys before the values, in a part of a larger tensor."""
        keys = memory.size(1) // (d_k + d_v)
        parts = memory.split([keys * d_k, keys * d_v], dim=1)
        self.keys, self.values = (part.unflatten(1, (heads, keys // heads, -1)) for part in parts)

    def read(
        self, query: Float[Tensor, "_row_heads 1 d_k"], additive_mask: Float[Tensor, "#rows 1 1 keys"]
    ) -> Float[Tensor, "rows heads 1 d_v"]:
        r"""Return $\mathrm{softmax}(QK^\top / \sqrt{d_k} + M)\,V$ by PyTorch's fused attention."""
        return F.scaled_dot_product_attention(
            self._by_row(query), self.keys, self.values, attn_mask=additive_mask
        )

    def write(self, position: Int[Tensor, "1"], key: Tensor, value: Tensor) -> None:
        """Set the key and the value of each head at a position, which is on the device."""
        self.keys.index_copy_(2, position, self._by_row(key))
        self.values.index_copy_(2, position, self._by_row(value))

    def _by_row(self, x: Tensor) -> Tensor:
        return x.unflatten(0, self.keys.shape[:2])


def _padded(ids: Int[Tensor, " _given"], rows: int) -> Int[Tensor, " _padded"]:
    return ids if len(ids) == rows else F.pad(ids, (0, rows - len(ids)))
