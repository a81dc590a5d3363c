"""The parts put into a built translation model: decoded with a cache, or refused by the fast one."""

import itertools
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from annotated_transformer import registry
from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding.kv_cache import KeyValueCache, NoCache
from annotated_transformer.fast.kv_cache import FastKeyValueCache
from annotated_transformer.model.decoder import DecoderLayer
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.plain import NotPlain
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.modern.alibi import ALiBi
from annotated_transformer.modern.biased_attention import BiasedAttention
from annotated_transformer.modern.grouped_query_attention import GroupedQueryAttention
from annotated_transformer.modern.mixture_of_experts import MixtureOfExperts, Router
from annotated_transformer.modern.relative_bias import BucketedBias, RelativeBias
from annotated_transformer.modern.rms_norm import PreRMSNorm, RMSNorm
from annotated_transformer.modern.rotary import RotaryAttention, RotaryHalves, RotaryPositions
from annotated_transformer.modern.sliding_window import SlidingWindowAttention
from annotated_transformer.modern.swiglu import SwiGLU
from annotated_transformer.registry import register_attention

CONFIG = TransformerConfig(
    vocab_size=13, max_length=17, num_layers=2, d_model=12, d_ff=10, num_heads=3, dropout=0.0
)


def of_heads(make: Callable[[], nn.Module]) -> Callable[[], MultiHeadAttention]:
    return lambda: MultiHeadAttention(12, 3, attention=make())


ATTENTIONS: dict[str, Callable[[], MultiHeadAttention]] = {
    "grouped": lambda: GroupedQueryAttention(12, 3, 1),
    "rotary": of_heads(lambda: RotaryAttention(RotaryPositions(4))),
    "halves": of_heads(lambda: RotaryAttention(RotaryHalves(4))),
    "alibi": of_heads(lambda: BiasedAttention(ALiBi(3))),
    "relative": of_heads(lambda: BiasedAttention(RelativeBias(3, 2))),
    "buckets": of_heads(lambda: BiasedAttention(BucketedBias(3, 4, 8, causal=True))),
    "window": of_heads(lambda: SlidingWindowAttention(3)),
    "both": lambda: GroupedQueryAttention(12, 3, 1, attention=RotaryAttention(RotaryPositions(4))),
}
OTHERS: dict[str, Callable[[DecoderLayer], object]] = {
    "swiglu": lambda layer: setattr(layer, "feed_forward", SwiGLU(12, 7)),
    "experts": lambda layer: setattr(
        layer, "feed_forward", MixtureOfExperts(Router(12, 4, 2), (FeedForward(12, 5) for _ in range(4)))
    ),
    "rms norm inside": lambda layer: setattr(layer.add_norm_3, "norm", RMSNorm(12)),
    "pre-norm": lambda layer: setattr(layer, "add_norm_1", PreRMSNorm(12, 0.0)),
}
PLACES = "encoder.{}.self_attention", "decoder.{}.self_attention", "decoder.{}.cross_attention"
CHANGES = [*itertools.product(ATTENTIONS, PLACES), *((name, "decoder.{}") for name in OTHERS)]
each = pytest.mark.parametrize(("name", "place"), CHANGES)


def changed(name: str, place: str) -> Transformer:
    torch.manual_seed(0)
    model = Transformer(CONFIG)
    for i in range(CONFIG.num_layers):
        stack, _, part = place.format(i).partition(".")
        path, _, last = f"{stack}.layers.{part}".rpartition(".")
        if name in OTHERS:
            OTHERS[name](model.get_submodule(f"{path}.{last}"))
        else:
            setattr(model.get_submodule(path), last, ATTENTIONS[name]())
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model


def some_ids(tokens: int) -> Tensor:
    return torch.randint(3, 13, (2, tokens), generator=torch.Generator().manual_seed(tokens))


@each
def test_law_in_each_place_the_decoders_compute_what_one_full_pass_does_or_refuse(name: str, place: str):
    """Decoding calls a part with the queries so far, which are not the last of a source's positions."""
    model, tgt = changed(name, place), some_ids(7)
    counts = "cross" in place and name != "grouped"
    refused = pytest.raises(ValueError, match="counts distances") if counts else nullcontext()
    for src, decoder in itertools.product([some_ids(5), some_ids(9)], [KeyValueCache, NoCache]):
        with evaluating(model), refused:
            steps = decoder(model, src)
            logits = torch.stack([steps.step(tokens) for tokens in tgt.unbind(1)], dim=1)
            torch.testing.assert_close(logits, model(src, tgt), rtol=1e-4, atol=1e-4)


@pytest.mark.message
@pytest.mark.parametrize("name", [name for name in ATTENTIONS if name != "grouped"])
def test_message_an_attention_that_counts_distances_in_cross_attention(name: str, monkeypatch):
    monkeypatch.setattr(registry, "_attentions", {})
    register_attention("own")(lambda config, place: ATTENTIONS[name]())
    sentence = r"^cross-attention has a (\w+), which counts distances, .*; use \1 in .* place is 'cross'$"
    with pytest.raises(ValueError, match=sentence):
        Transformer(replace(CONFIG, attention="own"))


@pytest.mark.message
@pytest.mark.parametrize(("name", "place"), [own for own in CHANGES if own[1] in (PLACES[1], "decoder.{}")])
def test_message_the_fast_cache_says_what_to_use(name: str, place: str):
    sentence = r"^fast=True cannot compute your model \(\w+ is not .*\); run without fast=True"
    with pytest.raises(NotPlain, match=sentence):
        FastKeyValueCache(changed(name, place), some_ids(5))
