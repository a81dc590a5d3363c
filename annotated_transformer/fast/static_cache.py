"""A key-value cache of fixed size for CUDA, where a step is one recorded graph: the chapter on decoding.

A step on a card takes less time than launching its kernels one by one, and than asking the card for a number.
Nobody has run this on a card yet; on a CPU, where it is slower than `FastKeyValueCache`, it is tested.
"""

from contextlib import suppress
from itertools import chain
from operator import is_

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.fast.decoder import FastDecoder
from annotated_transformer.fast.encoder import FastEncoder
from annotated_transformer.fast.kv_cache import refuse_for_fast_cache
from annotated_transformer.fast.recording import power_of_2
from annotated_transformer.fast.static_buffers import Sizes, Slots
from annotated_transformer.model.id_checks import check_ids, check_step, foreign_ids
from annotated_transformer.model.inference import encode_sources
from annotated_transformer.model.plain import NotPlain
from annotated_transformer.model.transformer import Transformer

SRC_TOKENS, TGT_TOKENS = 16, 32  # the smallest buffers; larger ones have 2, 4, 8 … times as many
KEPT = 24  # buffers, each with its recorded step


class StaticCaches:
    """Make a decoder for each batch; those of one model share buffers and what is recorded on them.

    The model is checked as `FastKeyValueCache` checks it: once, and again if a module was changed since.
    Changed weights count from the next batch on. An encoder that is plain, too, is recorded; another one is
    called for each batch. A copy starts with nothing recorded.
    """

    def __init__(self) -> None:
        """Record nothing yet."""
        self.parts: ModelParts | None = None

    def __reduce__(self) -> tuple[type["StaticCaches"], tuple[()]]:
        return StaticCaches, ()

    @torch.inference_mode()
    def __call__(self, model: Transformer, src: Int[Tensor, "batch src_tokens"]) -> "StaticKeyValueCache":
        """Encode the sources, and project the memory.

        Raises:
            NotPlain: If the model computes a step in a different way; `refuse_for_fast_cache` lists the
                conditions.
            TypeError: If the sources are not a tensor of integers.
            ValueError: If they do not have two dimensions, or the model lacks an id or a position of theirs.
        """
        if self.parts is None or self.parts.changed(model):
            refuse_for_fast_cache(model)
            encoder = _recordable_encoder(model)
            self.parts = ModelParts(model, *[] if encoder else [model.encoder])
            self.shelf = Shelf(FastDecoder(model), encoder)
        self.shelf.decoder.update()
        check_ids(src, "source ids")
        encoder = self.shelf.encoder
        if encoder is None or src.size(1) > len(self.shelf.decoder.positions):
            memory, src_mask = encode_sources(model, src)  # which refuses too many tokens
            targets = StaticKeyValueCache(self.shelf, *src.shape)
            targets.slots.buffers.fill(memory, src_mask)
        else:
            foreign_ids(model.embedding, src)
            targets = StaticKeyValueCache(self.shelf, *src.shape)
            targets.slots.encode(encoder, src)
        return targets


def _recordable_encoder(model: Transformer) -> FastEncoder | None:
    with suppress(NotPlain):
        return FastEncoder(model)
    return None


class ModelParts:
    """What decoding depends on: classes, attributes, hooks and submodules, and where weights are.

    Comparing it takes a fraction of the time of the checks.
    """

    def __init__(self, model: Transformer, *left_out: nn.Module) -> None:
        """Remember the parts of a model, except those of the submodules that are left out."""
        stacks = (child.modules() for child in model.children() if child not in left_out)
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

    Make one with `StaticCaches`. It has room for a power of two of sources. Tokens must be in the vocabulary:
    on CUDA, others are a fatal error of the device.
    """

    interval = 8  # steps between questions to the device, in the searches

    def __init__(self, shelf: "Shelf", batch: int, src_tokens: int) -> None:
        """Take buffers from the shelf, in which nothing is encoded yet."""
        self.shelf, self.rows, self.length = shelf, batch, 0
        self.beam: int | None = None
        self.slots = shelf.take(Sizes(power_of_2(batch), 1, power_of_2(src_tokens, SRC_TOKENS), TGT_TOKENS))

    @torch.inference_mode()
    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each target, and return the logits of the next token.

        Raises:
            ValueError: If there is not one token for each target, or the targets are as long as the model
                allows. On a CPU, also if a token is not in the vocabulary.
        """
        check_step(tokens, self.rows, self.length, len(self.shelf.decoder.positions))
        sizes = self.slots.sizes
        if self.length == sizes.tgt_tokens:
            self._move(sizes._replace(tgt_tokens=2 * self.length), self._all(sizes.rows))
        self.slots.buffers.position.fill_(self.length)
        (logits,) = self.slots.step(_padded(tokens, sizes.rows))
        self.length += 1
        return logits[: self.rows].clone()  # the next step overwrites them

    @torch.inference_mode()
    def widen(self, beam_size: int) -> None:
        """Repeat each target `beam_size` times, side by side; sources are not repeated.

        From now on, `select` moves a row only within the beam of its source, which stays where it is.
        """
        sizes, self.beam = self.slots.sizes, beam_size
        self.rows *= beam_size
        if beam_size > 1:
            rows = self._all(sizes.rows).repeat_interleave(beam_size)
            self._move(sizes._replace(beam=beam_size), rows)

    @torch.inference_mode()
    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows in this order; a row may be omitted or repeated.

        Raises:
            ValueError: If there are beams, and not as many rows as before.
        """
        sizes = self.slots.sizes
        if self.beam is not None and len(rows) != self.rows:
            raise ValueError(
                f"{len(rows)} rows were selected, and there are {self.rows} in beams of {self.beam}; select "
                f"as many, each from its own beam"
            )
        self.rows = len(rows)
        if self.beam == 1:
            return  # each row stays
        if self.beam or power_of_2(self.rows) == sizes.sources:
            self.slots.reorder(_padded(rows, sizes.rows))
        else:
            self._move(sizes._replace(sources=power_of_2(self.rows)), rows, rows)

    def close(self) -> None:
        """Let other batches use the buffers."""
        self.shelf.give_back(self.slots)

    def _move(self, sizes: Sizes, rows: Tensor, sources: Tensor | None = None) -> None:
        """Copy rows and sources, by default all of them, to other buffers."""
        slots = self.shelf.take(sizes)
        sources = self._all(sizes.sources) if sources is None else sources
        slots.buffers.copy(self.slots.buffers, rows, sources)
        self.close()
        self.slots = slots

    def _all(self, count: int) -> Int[Tensor, " {count}"]:
        return torch.arange(count, device=self.slots.buffers.position.device)


class Shelf:
    """The weights of a model, and the buffers that no batch uses now."""

    def __init__(self, decoder: FastDecoder, encoder: FastEncoder | None) -> None:
        """Start without buffers; `encoder` is None if it cannot be recorded."""
        self.decoder, self.encoder = decoder, encoder
        self.free: dict[Sizes, Slots] = {}

    def take(self, sizes: Sizes) -> Slots:
        """Return buffers of these sizes; no other batch (in another thread) gets them until they are back."""
        return self.free.pop(sizes, None) or Slots(self.decoder, sizes)

    def give_back(self, slots: Slots) -> None:
        """Keep buffers for another batch, but not those that were not used for the longest time."""
        self.free[slots.sizes] = slots
        for sizes in [*self.free][:-KEPT]:
            if oldest := self.free.pop(sizes, None):
                oldest.buffers.position.item()  # wait: the card may still run its step


def _padded(ids: Int[Tensor, " _given"], rows: int) -> Int[Tensor, " _padded"]:
    return ids if len(ids) == rows else F.pad(ids, (0, rows - len(ids)))
