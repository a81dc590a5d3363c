"""Decoding step by step, with and without a key-value cache: the chapter on decoding.

Section 3.1 of the paper: at each step, the decoder reads the tokens generated so far and predicts
the next one. `NoCache` computes all of them at each step. `KeyValueCache` keeps the keys and values of
earlier tokens, which do not change, because no token attends to a later one.
"""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.calls import warn
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.cacheable import refuse_uncacheable, with_cache
from annotated_transformer.model.checks import refuse_distances
from annotated_transformer.model.comparison import Comparison, Results, example_ids, step_results
from annotated_transformer.model.id_checks import check_step
from annotated_transformer.model.inference import encode_sources
from annotated_transformer.model.masks import decoder_mask
from annotated_transformer.model.plain import NotPlain, any_hook, hooks_of
from annotated_transformer.model.trainable import StepDecoder as StepDecoder
from annotated_transformer.model.transformer import Transformer

MakeDecoder = Callable[[Transformer, Tensor], StepDecoder]  # from a model and its sources


@refuses_other_kinds
class NoCache:
    """Call `model(src, tgt)` at each step: slow, and the reference for the caches."""

    def __init__(self, model: Transformer, src: Int[Tensor, "batch src_tokens"]) -> None:
        """Start one empty target for each source.

        Raises:
            ValueError: If cross-attention counts distances.
        """
        _refuse_distances(model)
        self.model, self.src, self.tgt = model, src, src[:, :0]

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each target, and return the logits of the next token."""
        check_step(tokens, len(self.tgt), self.tgt.size(1), self.model.config.max_length)
        self.tgt = torch.cat([self.tgt, tokens[:, None]], dim=1)
        logits: Tensor = self.model(self.src, self.tgt)
        return logits[:, -1]

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows in this order; a row may be omitted or repeated."""
        self.src, self.tgt = self.src[rows], self.tgt[rows]


@refuses_other_kinds
class KeyValueCache:
    """Decode only the new token at each step; it attends to the cached keys and values.

    For a target of n tokens, each layer decodes n tokens, and n(n + 1)/2 with `NoCache`. The cache
    calls the model's own decoder, in which the attentions are copies that remember. Targets must not
    contain padding: the searches never generate it, and remove a target once it has ended.

    Whether it computes what the model does is tried on two targets of 40 random tokens. What an edited model
    does only for longer ones, or for tokens that are not among these, does not show.
    """

    def __init__(self, model: Transformer, src: Int[Tensor, "batch src_tokens"]) -> None:
        """Encode the sources.

        Raises:
            NotPlain: If the cache would not compute what `model(src, tgt)` does, which it tries at the first
                use, and again when the code, a part, or a weight of the model has changed.
        """
        refuse_other_steps(model)
        self.model = model
        self.memory, self.memory_mask = encode_sources(model, src)
        self.decoder, self.caches = with_cache(model.decoder, self.memory)
        self.tgt = src[:, :0]

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each target, and return the logits of the next token."""
        check_step(tokens, len(self.tgt), self.tgt.size(1), self.model.config.max_length)
        x = self.model.embed(tokens[:, None], start=self.tgt.size(1))
        self.tgt = torch.cat([self.tgt, tokens[:, None]], dim=1)
        mask = decoder_mask(self.tgt, self.model.config.pad_id)[:, :, -1:]
        hidden = self.decoder(x, self.memory, mask, self.memory_mask)
        return self.model.logits(hidden)[:, 0]

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows in this order; a row may be omitted or repeated."""
        self.tgt, self.memory = self.tgt[rows], self.memory[rows]
        self.memory_mask = self.memory_mask[rows]
        for cache in self.caches:
            cache.select(rows, self.memory)


def cached_or_not(model: Transformer, src: Int[Tensor, "batch src_tokens"]) -> "KeyValueCache | NoCache":
    """Return the cache, or `NoCache` with a warning if the cache refuses the model as it is now."""
    try:
        return KeyValueCache(model, src)
    except NotPlain as refusal:
        decoder = NoCache(model, src)
        warn(f"decoding without a cache, which is slower: {refusal}")
        return decoder


def _refuse(model: Transformer) -> None:
    _refuse_distances(model)
    if any_hook(*hooks_of(model)):
        raise NotPlain(f"model has hooks, which KeyValueCache would not call; remove them, or {WAY_OUT}")
    refuse_uncacheable("decoder", model.decoder, "KeyValueCache", WAY_OUT)


def _refuse_distances(model: Transformer) -> None:
    """Refuse cross-attention that counts distances: it gives the last token of a target other logits."""
    for name, part in model.decoder.named_modules():
        if name.endswith(".cross_attention"):
            refuse_distances(part)


def decoder_results(make: MakeDecoder, model: Transformer) -> Results:
    """Return what the model and the steps of a decoder compute, for a `Comparison`."""
    src, tgt = (ids.to(model.embedding.weight.device) for ids in example_ids(model.config))
    with torch.inference_mode():
        return step_results(partial(make, model), partial(model, src), src, tgt)


WAY_OUT = "decode with NoCache, which calls the model as a whole"
refuse_other_steps = Comparison(
    "KeyValueCache", WAY_OUT, refuse=_refuse, results=partial(decoder_results, KeyValueCache)
)
