"""Heads: entropies calculated by hand, ablation, and importance."""

import functools
from collections.abc import Callable

import pytest
import torch
from torch.distributions import Categorical

from annotated_transformer.inspection.heads import (
    KINDS,
    ablate_head,
    attention_maps,
    attentions,
    head_entropy,
    head_importance,
)
from annotated_transformer.inspection.observation import observe
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch, pad
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID
from annotated_transformer.training.loss import mean_loss

HEADS = 3
TARGETS = [[7, 3, EOS_ID], [EOS_ID], [8, 8, 9, 4, 10, 5, EOS_ID], [3, EOS_ID], [6, 6, 4, 5, EOS_ID]]
SOURCES = [[4, EOS_ID], [5, 6, 7, 8, 9, 10, EOS_ID], [9, 9, EOS_ID], [10, 4, 7, 4, EOS_ID], [EOS_ID]]
PAIRS = [(source, [BOS_ID, *target]) for source, target in zip(SOURCES, TARGETS, strict=True)]


def together(pairs: list[tuple[list[int], list[int]]] = PAIRS) -> Batch:
    return Batch(list(range(len(pairs))), *(pad(list(side)) for side in zip(*pairs, strict=True)))


def outputs(model: Transformer) -> torch.Tensor:
    batch = together()
    with evaluating(model):
        return model(batch.src, batch.decoder_input)


def test_law_cross_attention_equals_that_of_observe(stirred: Callable[..., Transformer]):
    model, batch = stirred(), together()
    maps = attention_maps(model, batch)
    seen = observe(model, batch.src, batch.labels).attention
    torch.testing.assert_close(maps["cross"], seen, rtol=0, atol=1e-12)
    assert maps["encoder"].shape == maps["decoder"].shape == (5, 2, HEADS, 7, 7)
    assert maps["decoder"].triu(1).abs().max() == 0  # no position attends to a later one
    assert maps["encoder"].triu(1).abs().max() > 0.1
    for weights in maps.values():
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones_like(weights[..., 0]))


def test_oracle_entropy_matches_one_sentence_at_a_time(stirred: Callable[..., Transformer]):
    model = stirred()
    entropies = head_entropy(model, [together(PAIRS[:2]), together(PAIRS[2:])])
    for kind in KINDS:
        by_hand = [[[] for _ in range(HEADS)] for _ in range(2)]
        for pair in PAIRS:  # one at a time, so without padding
            weights = attention_maps(model, together([pair]))[kind][0]
            for layer in range(2):
                for head in range(HEADS):
                    by_hand[layer][head] += Categorical(weights[layer, head]).entropy().tolist()
        assert len(by_hand[0][0]) == sum(map(len, SOURCES if kind == "encoder" else TARGETS))
        mean = torch.tensor(by_hand, dtype=torch.float64).mean(dim=-1)
        torch.testing.assert_close(entropies[kind], mean, rtol=0, atol=1e-6)
        assert mean.std() > 0.01  # the heads differ


@pytest.mark.parametrize("kind", KINDS)
def test_oracle_ablating_a_head_equals_zeroing_its_output_weights(stirred, kind):
    for layer, head in ((0, 2), (1, 0)):
        model, edited = stirred(), stirred()
        with torch.no_grad():  # a head's features are multiplied by its columns of W^O
            attentions(edited, kind)[layer].to_output.weight.view(12, HEADS, 4)[:, head] = 0
        before = outputs(model)
        with ablate_head(model, kind, layer, head):
            torch.testing.assert_close(outputs(model), outputs(edited), rtol=0, atol=1e-12)
        assert (before - outputs(edited)).abs().max() > 0.01
        assert torch.equal(outputs(model), before)


def test_law_an_ablated_head_is_restored_after_an_error(stirred: Callable[..., Transformer]):
    model = stirred()
    with pytest.raises(KeyboardInterrupt), ablate_head(model, "cross", 0, 1):
        raise KeyboardInterrupt
    with pytest.raises(ValueError, match="source 2 of 2 is empty"):
        attention_maps(model, together([PAIRS[0], ([], [BOS_ID, EOS_ID])]))
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


@pytest.mark.equation("eq-ablation")
def test_law_importance_is_the_increase_of_the_loss(stirred: Callable[..., Transformer]):
    model, loss = stirred(), functools.partial(mean_loss, batches=[together()])
    importance = head_importance(model, loss)
    assert {kind: rises.shape for kind, rises in importance.items()} == dict.fromkeys(KINDS, (2, HEADS))
    for kind, layer, head in (("encoder", 0, 2), ("decoder", 1, 0), ("cross", 1, 1)):
        with ablate_head(model, kind, layer, head):
            rise = loss(model) - loss(stirred())
        assert importance[kind][layer, head].item() == pytest.approx(rise, abs=1e-6)
        assert abs(rise) > 1e-4


@pytest.mark.message
def test_message_a_head_that_does_not_exist_and_nothing_to_observe(stirred: Callable[..., Transformer]):
    model = stirred()
    for layer, head in ((2, 0), (-1, 0), (0, 3), (0, -1)):
        words = rf"cross attention has 2 layers of 3 heads, .* no head {head} in layer {layer}; count both"
        with pytest.raises(ValueError, match=words), ablate_head(model, "cross", layer, head):
            pass
    with pytest.raises(ValueError, match=r"kind='self' is not a kind of attention; choose from encoder, dec"):
        attentions(model, "self")
    with pytest.raises(ValueError, match=r"no batches to observe the heads on; give at least"):
        head_entropy(model, [])
