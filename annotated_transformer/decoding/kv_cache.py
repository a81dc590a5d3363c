"""Decoding step by step, with and without a key-value cache: the chapter on decoding.

Section 3.1 of the paper: at each step, the decoder reads the tokens generated so far and predicts
the next one. `NoCache` decodes all of them at each step. `KeyValueCache` keeps the keys and values of
earlier tokens, which do not change, because no token attends to a later one.
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.calls import warn
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.cacheable import CachedLayer, refuse_uncacheable
from annotated_transformer.model.checks import refuse_distances
from annotated_transformer.model.decoder import Decoder, DecoderLayer, decoder_layers
from annotated_transformer.model.id_checks import check_step
from annotated_transformer.model.inference import encode_sources
from annotated_transformer.model.masks import decoder_mask
from annotated_transformer.model.plain import NotPlain, refuse_changed
from annotated_transformer.model.trainable import StepDecoder as StepDecoder
from annotated_transformer.model.transformer import Transformer

MakeDecoder = Callable[[Transformer, Tensor], StepDecoder]  # from a model and its sources


@refuses_other_kinds
class NoCache:
    """Decode the whole target again at each step: slow, and the reference for the caches."""

    def __init__(self, model: Transformer, src: Int[Tensor, "batch src_tokens"]) -> None:
        """Encode the sources.

        Raises:
            NotPlain: If `forward` or `hidden` of the model is changed.
            ValueError: If cross-attention counts distances.
        """
        refuse_for_decoding(model)
        self.model = model
        self.memory, self.memory_mask = encode_sources(model, src)
        self.tgt = src[:, :0]

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each target, and return the logits of the next token."""
        check_step(tokens, len(self.tgt), self.tgt.size(1), self.model.config.max_length)
        self.tgt = torch.cat([self.tgt, tokens[:, None]], dim=1)
        tgt_mask = decoder_mask(self.tgt, self.model.config.pad_id)
        hidden = self.model.decode(self.tgt, self.memory, tgt_mask, self.memory_mask)
        return self.model.logits(hidden[:, -1:])[:, 0]

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows in this order; a row may be omitted or repeated."""
        self.tgt, self.memory = self.tgt[rows], self.memory[rows]
        self.memory_mask = self.memory_mask[rows]


@refuses_other_kinds
class KeyValueCache:
    """Decode only the new token at each step; it attends to the cached keys and values.

    For a target of n tokens, each layer decodes n tokens, and n(n + 1)/2 with `NoCache`. The cache
    runs the lines of `Decoder`, `DecoderLayer` and `MultiHeadAttention` with attentions that remember, and
    calls the model's other modules, so their hooks run. It refuses hooks on the decoder, a layer or an
    attention. Targets must not contain padding: the searches never generate it, and remove a target once
    it has ended.
    """

    def __init__(self, model: Transformer, src: Int[Tensor, "batch src_tokens"]) -> None:
        """Encode the sources, and project the memory once for every layer.

        Raises:
            NotPlain: If the model decodes in a different way; `refuse_for_cache` lists the conditions.
        """
        refuse_for_cache(model)
        self.model, self.final_norm = model, model.decoder.final_norm
        memory, mask = encode_sources(model, src)
        self.memory_mask = None if mask.all() else mask  # asked once, not in each layer of each step
        self.layers = [CachedLayer(layer, memory[:, :0], memory) for layer in decoder_layers(model.decoder)]
        self.rows, self.length = len(src), 0

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each target, and return the logits of the next token."""
        check_step(tokens, self.rows, self.length, self.model.config.max_length)
        x = self.model.embed(tokens[:, None], start=self.length)  # its position, which is not 0
        # The layers know the memory, and may see the whole past: neither is given.
        hidden = Decoder.forward(cast(Any, self), x, x, None, self.memory_mask)
        logits = self.model.logits(hidden)[:, 0]
        self.length += 1
        return logits

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows in this order; a row may be omitted or repeated."""
        self.rows = len(rows)
        self.memory_mask = None if self.memory_mask is None else self.memory_mask[rows]
        for layer in self.layers:
            layer.select(rows)


def refuse_for_decoding(model: Transformer) -> None:
    """Refuse a changed `forward` or `hidden`: decoding calls `encode`, `decode`, and `logits`.

    Cross-attention that counts distances would give the last token other logits than `forward` does.
    """
    because = "which decoding would not call; remove that, or override encode, decode, or logits instead"
    refuse_changed("model", model, Transformer, "forward", "hidden", because=because)
    for name, part in model.decoder.named_modules():
        if name.endswith(".cross_attention"):
            refuse_distances(part)


def refuse_for_cache(model: Transformer) -> None:
    """Refuse a model with a changed part that `KeyValueCache` does not call.

    The cache does not call `decode`, nor the decoder, its layers and their two attentions as modules: it runs
    the `forward` of our classes. It calls an attention with the newest query alone, which is only right if
    that query's output does not depend on how many come with it.
    """
    refuse_for_decoding(model)
    way_out = "decode with NoCache, which calls decode as a whole"
    because = f"which KeyValueCache would not call; remove that, or {way_out}"
    refuse_changed("model", model, Transformer, "decode", because=because)
    refuse_changed("decoder", model.decoder, Decoder, "forward", because=because)
    past = torch.full((1, min(64, model.config.max_length)), model.config.eos_id)
    if (~decoder_mask(past, model.config.pad_id)).tril().any():
        raise NotPlain(f"decoder_mask hides earlier tokens, {because}")
    for i, layer in enumerate(decoder_layers(model.decoder)):
        name = f"decoder.layers.{i}"
        refuse_changed(name, layer, DecoderLayer, "forward", because=because)
        for part in ("self_attention", "cross_attention"):
            refuse_uncacheable(f"{name}.{part}", getattr(layer, part), "KeyValueCache", because)


def cached_or_not(model: Transformer, src: Int[Tensor, "batch src_tokens"]) -> "KeyValueCache | NoCache":
    """Return the cache, or `NoCache` with a warning if the cache refuses the model as it is now."""
    try:
        return KeyValueCache(model, src)
    except NotPlain as refusal:
        decoder = NoCache(model, src)
        warn(f"decoding without a cache, which is slower: {refusal}")
        return decoder
