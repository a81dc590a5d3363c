"""The parts put into a built translation model: decoded with a cache, or refused by the fast one."""

import pytest
import torch
from torch import Tensor, nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding.kv_cache import KeyValueCache, NoCache
from annotated_transformer.fast.kv_cache import FastKeyValueCache
from annotated_transformer.model.decoder import DecoderLayer
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.plain import NotPlain
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.modern.alibi import ALiBi
from annotated_transformer.modern.biased_attention import BiasedAttention
from annotated_transformer.modern.grouped_query_attention import GroupedQueryAttention
from annotated_transformer.modern.mixture_of_experts import MixtureOfExperts, Router
from annotated_transformer.modern.relative_bias import BucketedBias, RelativeBias
from annotated_transformer.modern.rms_norm import RMSNorm
from annotated_transformer.modern.rotary import RotaryAttention, RotaryPositions
from annotated_transformer.modern.sliding_window import SlidingWindowAttention
from annotated_transformer.modern.swiglu import SwiGLU

CONFIG = TransformerConfig(
    vocab_size=13, max_length=17, num_layers=2, d_model=12, d_ff=10, num_heads=3, dropout=0.0
)


def put_attention(layer: DecoderLayer, attention: nn.Module) -> None:
    layer.self_attention.attention = attention


def put_experts(layer: DecoderLayer) -> None:
    layer.feed_forward = MixtureOfExperts(Router(12, 4, 2), (FeedForward(12, 5) for _ in range(4)))


CHANGES = {
    "grouped": lambda layer: setattr(layer, "self_attention", GroupedQueryAttention(12, 3, 1)),
    "rotary": lambda layer: put_attention(layer, RotaryAttention(RotaryPositions(4))),
    "alibi": lambda layer: put_attention(layer, BiasedAttention(ALiBi(3))),
    "relative": lambda layer: put_attention(layer, BiasedAttention(RelativeBias(3, 2))),
    "buckets": lambda layer: put_attention(layer, BiasedAttention(BucketedBias(3, 4, 8, causal=True))),
    "window": lambda layer: put_attention(layer, SlidingWindowAttention(3)),
    "swiglu": lambda layer: setattr(layer, "feed_forward", SwiGLU(12, 7)),
    "experts": put_experts,
    "rms norm inside": lambda layer: setattr(layer.add_norm_3, "norm", RMSNorm(12)),
}
each = pytest.mark.parametrize("name", CHANGES)


def changed(name: str) -> Transformer:
    torch.manual_seed(0)
    model = Transformer(CONFIG)
    for layer in model.decoder.layers:
        CHANGES[name](layer)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model


def some_ids(tokens: int) -> Tensor:
    return torch.randint(3, 13, (2, tokens), generator=torch.Generator().manual_seed(tokens))


@each
def test_law_the_cache_computes_what_the_whole_model_does(name):
    model, src, tgt = changed(name), some_ids(5), some_ids(7)
    with evaluating(model):
        cached, whole = KeyValueCache(model, src), NoCache(model, src)
        for tokens in tgt.unbind(1):
            logits = whole.step(tokens)
            torch.testing.assert_close(cached.step(tokens), logits, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(logits, model(src, tgt)[:, -1], rtol=1e-4, atol=1e-4)


@pytest.mark.message
@each
def test_message_the_fast_cache_says_what_to_use(name):
    sentence = r"^fast=True cannot compute your model \(\w+ is not .*\); run without fast=True"
    with pytest.raises(NotPlain, match=sentence):
        FastKeyValueCache(changed(name), some_ids(5))
