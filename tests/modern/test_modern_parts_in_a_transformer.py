"""The parts put into a built translation model: with a cache, they compute the same, or refuse."""

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
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
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


def of_heads(make: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    return lambda: MultiHeadAttention(12, 3, attention=make())


ATTENTIONS: dict[str, Callable[[], nn.Module]] = {
    "grouped": lambda: GroupedQueryAttention(12, 3, 1),
    "rotary": of_heads(lambda: RotaryAttention(RotaryPositions(4))),
    "halves": of_heads(lambda: RotaryAttention(RotaryHalves(4))),
    "alibi": of_heads(lambda: BiasedAttention(ALiBi(3))),
    "relative": of_heads(lambda: BiasedAttention(RelativeBias(3, 2))),
    "buckets": of_heads(lambda: BiasedAttention(BucketedBias(3, 4, 8, causal=True))),
    "window": of_heads(lambda: SlidingWindowAttention(3)),
    "both": lambda: GroupedQueryAttention(12, 3, 1, attention=RotaryAttention(RotaryPositions(4))),
}
PLACES = (
    "encoder.layers.{}.self_attention",
    *(f"decoder.layers.{{}}.{x}_attention" for x in ("self", "cross")),
)
OTHERS: dict[str, tuple[str, Callable[[], nn.Module]]] = {
    "swiglu": ("feed_forward", lambda: SwiGLU(12, 7)),
    "experts": (
        "feed_forward",
        lambda: MixtureOfExperts(Router(12, 4, 2), (FeedForward(12, 5) for _ in range(4))),
    ),
    "rms norm inside": ("add_norm_3.norm", lambda: RMSNorm(12)),
    "pre-norm": ("add_norm_1", lambda: PreRMSNorm(12, 0.0)),
}
CHANGES = {(name, place): make for name, make in ATTENTIONS.items() for place in PLACES}
CHANGES |= {(name, f"decoder.layers.{{}}.{part}"): make for name, (part, make) in OTHERS.items()}


def changed(name: str, place: str) -> Transformer:
    torch.manual_seed(0)
    model = Transformer(CONFIG)
    for i in range(CONFIG.num_layers):
        path, _, last = place.format(i).rpartition(".")
        setattr(model.get_submodule(path), last, CHANGES[name, place]())
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model


def some_ids(tokens: int) -> Tensor:
    return torch.randint(3, 13, (2, tokens), generator=torch.Generator().manual_seed(tokens))


@pytest.mark.parametrize(("name", "place"), CHANGES)
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
