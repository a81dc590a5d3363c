"""Attentions of other code are decoded right: by a cache if they say that they may be, else without one."""

import warnings

import pytest
import torch
from torch import Tensor, nn

from annotated_transformer import registry
from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding.kv_cache import KeyValueCache, NoCache, cached_or_not
from annotated_transformer.fast.kv_cache import FastKeyValueCache
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.plain import NotPlain
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.modern.sliding_window import SlidingWindowAttention
from annotated_transformer.registry import register_attention
from annotated_transformer.text.batching import pad
from tests.decoder_steps import decode, some_targets
from tests.own_models import RelativeAttention, grouped, relative


class Outside(nn.Module):
    """An attention that shares nothing with ours but the call: the mean of what may be attended to."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        weights = torch.ones(len(query), query.size(1), key.size(1), dtype=query.dtype)
        weights = weights if mask is None else weights * mask.reshape(-1, *mask.shape[-2:])
        return weights / weights.sum(dim=-1, keepdim=True) @ value


def wrapped(config: TransformerConfig, place: str) -> MultiHeadAttention:
    """Return an attention that may be cached, around one that may not."""
    inner = None if place == "cross" else SlidingWindowAttention(3, RelativeAttention(config.num_heads))
    return MultiHeadAttention(config.d_model, config.num_heads, attention=inner)


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setattr(registry, "_attentions", {})
    register_attention("relative")(relative)
    register_attention("grouped")(grouped)
    register_attention("wrapped")(wrapped)
    register_attention("outside")(lambda config, place: Outside())


@pytest.fixture
def own(stirred):
    """Return a function that makes a model with an attention and with weights that matter."""

    def build(attention: str) -> Transformer:
        model = stirred(attention=attention)
        with torch.no_grad():
            for module in model.modules():
                if isinstance(module, RelativeAttention):
                    module.bias.normal_(std=2.0)
        return model

    return build


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("attention", "kind"),
    [("relative", NoCache), ("wrapped", NoCache), ("outside", NoCache), ("grouped", KeyValueCache)],
)
def test_law_the_default_decoder_gives_the_logits_of_one_full_pass(own, sources, attention, kind):
    model, src, tgt = own(attention), pad(sources), some_targets(len(sources))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = decode(cached_or_not, model, src, tgt)
        with evaluating(model):
            assert type(cached_or_not(model, src)) is kind
    torch.testing.assert_close(found, model.eval()(src, tgt), rtol=0, atol=1e-10)
    assert len(seen) == (2 if kind is NoCache else 0)
    assert found.std(dim=(0, 1)).min() > 1e-6


@pytest.mark.message
def test_message_the_cache_refuses_an_attention_that_one_query_would_change(own):
    """With the attribute, the comparison still finds out."""
    model, src = own("relative"), torch.tensor([[4, 5, 2]])
    message = (
        r"^decoder\.layers\.0\.self_attention\.attention is a RelativeAttention, which KeyValueCache would "
        r"call with one query at a time; give RelativeAttention the attribute cacheable = True if .* with NoC"
    )
    with pytest.raises(NotPlain, match=message):
        KeyValueCache(model, src)
    for module in model.modules():
        if isinstance(module, RelativeAttention):
            module.cacheable = True
    with pytest.raises(
        NotPlain, match=r"^KeyValueCache and your model differ by .*; decode with NoCache, which"
    ):
        KeyValueCache(model, src)


@pytest.mark.message
@pytest.mark.parametrize("attention", ["relative", "grouped", "outside"])
def test_message_the_fast_cache_refuses_any_attention_that_is_not_ours(own, attention: str):
    message = (
        r"^fast=True cannot compute your model \((Rel|Gr|Out)\w+ is not .*\); run without fast=True: your"
    )
    with pytest.raises(NotPlain, match=message):
        FastKeyValueCache(own(attention), torch.tensor([[4, 2]]))
