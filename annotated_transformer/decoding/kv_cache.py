"""One decoding step after another, remembered or not: the chapter on decoding.

Section 3.1 of the paper: the model reads what it has said so far, and says the next token.
`NoCache` does it to the letter; `KeyValueCache` keeps the keys and values that cannot
change any more, because no token attends to a later one. The two are equal, not similar.
"""

from collections.abc import Callable
from typing import Protocol

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.fast.compatibility import refuse_for_cache
from annotated_transformer.model.decoder import DecoderLayer, decoder_layers
from annotated_transformer.model.masks import decoder_mask, padding_mask
from annotated_transformer.model.transformer import Transformer


class StepDecoder(Protocol):
    """Targets that grow by one token at a time, one to a row; all begin empty."""

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each target, and return the scores of the next."""

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows, in this order; a row may be left out, or come many times."""


MakeDecoder = Callable[[Transformer, Tensor], StepDecoder]  # from a model and its sources


class NoCache:
    """Decode all of the target again at each step: slow, and the measure of the others."""

    def __init__(self, model: Transformer, src: Int[Tensor, "batch src_tokens"]) -> None:
        """Read the sources."""
        self.model = model
        self.memory_mask = padding_mask(src, model.config.pad_id)
        self.memory = model.encode(src, self.memory_mask)
        self.tgt = src[:, :0]

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each target, and return the scores of the next."""
        self.tgt = torch.cat([self.tgt, tokens[:, None]], dim=1)
        tgt_mask = decoder_mask(self.tgt, self.model.config.pad_id)
        hidden = self.model.decode(self.tgt, self.memory, tgt_mask, self.memory_mask)
        return self.model.logits(hidden[:, -1:])[:, 0]

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows, in this order; a row may be left out, or come many times."""
        self.tgt, self.memory = self.tgt[rows], self.memory[rows]
        self.memory_mask = self.memory_mask[rows]


class KeyValueCache:
    """Decode only the new token at each step; it attends to keys and values kept.

    A target of n tokens costs n tokens a layer, where `NoCache` costs n(n + 1)/2. The
    model's own modules do the work, so hooks on them see it; those on the decoder, a layer or an
    attention as a whole would not, and are refused. No target may hold padding: the searches never
    say it, and take a target out once it has ended.
    """

    def __init__(self, model: Transformer, src: Int[Tensor, "batch src_tokens"]) -> None:
        """Read the sources, and project the memory for every layer, once.

        Raises:
            ValueError: If the model decodes in another way; `refuse_for_cache` has the list.
        """
        refuse_for_cache(model)
        self.model = model
        memory_mask = padding_mask(src, model.config.pad_id)
        memory = model.encode(src, memory_mask)
        self.layers = [LayerCache(layer, memory, memory_mask) for layer in decoder_layers(model.decoder)]
        self.length = 0

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each target, and return the scores of the next."""
        x = self.model.embed(tokens[:, None], start=self.length)  # not at 0: it comes later
        for layer in self.layers:
            x = layer.step(x)
        self.length += 1
        return self.model.logits(self.model.decoder.final_norm(x))[:, 0]

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows, in this order; a row may be left out, or come many times."""
        for layer in self.layers:
            layer.select(rows)


class LayerCache:
    """A decoder layer that remembers what its two attentions have read."""

    def __init__(self, layer: DecoderLayer, memory: Tensor, memory_mask: Tensor) -> None:
        """Project the memory, and begin with a past of no tokens."""
        self.layer, self.memory_mask = layer, memory_mask
        self.memory = layer.cross_attention.project_memory(memory, memory)
        nothing = memory[:, :0]
        self.past = layer.self_attention.project_memory(nothing, nothing)

    def step(self, x: Float[Tensor, "rows 1 d_model"]) -> Float[Tensor, "rows 1 d_model"]:
        """Return what `DecoderLayer` returns for the newest token."""
        x = self.layer.add_norm_1(x, self._read_past)
        x = self.layer.add_norm_2(x, self._read_memory)
        x = self.layer.add_norm_3(x, self.layer.feed_forward)
        return x

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows of all that is remembered."""
        (k, v), (memory_k, memory_v) = self.past, self.memory
        self.past, self.memory = (k[rows], v[rows]), (memory_k[rows], memory_v[rows])
        self.memory_mask = self.memory_mask[rows]

    def _read_past(self, x: Tensor) -> Tensor:
        attention = self.layer.self_attention
        new = attention.project_memory(x, x)
        key, value = (torch.cat(pair, dim=2) for pair in zip(self.past, new, strict=True))
        self.past = key, value
        return attention.attend(attention.project_query(x), key, value)

    def _read_memory(self, x: Tensor) -> Tensor:
        attention = self.layer.cross_attention
        return attention.attend(attention.project_query(x), *self.memory, self.memory_mask)
