"""Observation: log-probabilities and attention weights from one pass."""

import math
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from annotated_transformer.decoding.kv_cache import KeyValueCache
from annotated_transformer.inspection.heads import ablate_head
from annotated_transformer.inspection.health import Health
from annotated_transformer.inspection.observation import observe, watching
from annotated_transformer.model.attention import FusedAttention
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.plain import any_hook, hooks_of
from annotated_transformer.text.batching import pad
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID, PAD_ID

TARGETS = [[7, 3, EOS_ID], [EOS_ID], [8, 8, 9, 4, 10, 5], [3, EOS_ID], [6, 6, EOS_ID]]


def test_law_observed_attention_equals_that_of_decoding_step_by_step(stirred, sources):
    model, src, tgt = stirred(), pad(sources), pad(TARGETS)
    seen = observe(model, src, tgt).attention
    assert seen.shape == (5, 2, 3, 6, 7)  # batch, layers, heads, target, source
    steps = [[], []]
    for layer, weights in zip(model.decoder.layers, steps, strict=True):
        layer.cross_attention.attention.weights.register_forward_hook(
            lambda _, args, out, weights=weights: weights.append(out)
        )
    with evaluating(model):
        targets = KeyValueCache(model, src)
        for tokens in [torch.full((5,), BOS_ID), *tgt[:, :-1].unbind(1)]:
            targets.step(tokens)
    read = torch.stack([torch.cat(weights, dim=2) for weights in steps], dim=1)
    real = (tgt != PAD_ID)[:, None, None, :, None]
    torch.testing.assert_close(seen * real, read * real, rtol=0, atol=1e-10)
    assert (seen.permute(0, 4, 1, 2, 3)[src == PAD_ID] == 0).all()
    assert (seen[:, 0] - seen[:, 1]).abs().max() > 0.1  # the layers attend differently


@pytest.mark.parametrize(
    "context",
    [
        lambda model: watching([model.decoder.layers[1].cross_attention.attention]),
        lambda model: ablate_head(model, "encoder", 1, 2),
        Health,
    ],
)
def test_law_what_is_observed_or_ablated_in_one_thread_is_not_in_another(stirred, sources, context):
    model, batch = stirred().eval(), (pad(sources), pad(TARGETS))

    def hooked() -> bool:
        return any(any_hook(*hooks_of(module)) for module in model.modules())

    with ThreadPoolExecutor(1) as other, context(model):
        assert hooked()
        assert not other.submit(hooked).result()
        seen = other.submit(observe, model, *batch).result()
    torch.testing.assert_close(seen.attention, observe(model.train(), *batch).attention, rtol=0, atol=0)
    assert model.training
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


class CustomAttention(FusedAttention):
    """Stands for an attention of a user, which may compute something else than ours."""


@pytest.mark.message
@pytest.mark.parametrize(
    ("attention", "way_out"),
    [
        (
            FusedAttention,
            "load the model's state into one with attention='scaled_dot_product', which",
        ),
        (
            CustomAttention,
            "pass its weights through a submodule nn.Identity() named weights, as Scal",
        ),
    ],
)
def test_message_an_attention_without_weights(stirred, sources, attention: type, way_out: str):
    model = stirred()
    for layer in model.decoder.layers:
        layer.cross_attention.attention = attention()
    words = f"^{attention.__name__} computes no weights to observe; {re.escape(way_out)}"
    with pytest.raises(ValueError, match=words):
        observe(model, pad(sources), pad(TARGETS))


@pytest.mark.equation("eq-chain-rule")
def test_oracle_the_probability_of_a_target_is_the_product_over_its_words(stirred, sources):
    model = stirred()
    together = observe(model, pad(sources), pad(TARGETS)).log_probs
    for source, target, log_prob in zip(sources, TARGETS, together, strict=True):
        probability, so_far = 1.0, [BOS_ID]
        for token in target:
            with evaluating(model):
                logits = model(torch.tensor([source]), torch.tensor([so_far]))[0, -1]
            logits[[PAD_ID, BOS_ID]] = -math.inf  # neither occurs in a target
            probability *= logits.softmax(dim=-1)[token].item()
            so_far.append(token)
        assert log_prob.exp().item() == pytest.approx(probability, rel=1e-9)
        assert 0 < probability < 1
