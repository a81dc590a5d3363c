"""The laws hold for the right model, and each is broken by some mistake."""

import copy

import pytest
import torch

from annotated_transformer.book.chapters.the_same_as_pytorch.laws import LAWS, all_masks, attention_by_loops
from annotated_transformer.book.chapters.the_same_as_pytorch.mistakes import MISTAKES, Changed, with_mistake
from annotated_transformer.model.attention import attention_weights

BREAKS = {
    "past and future": {"masks inverted", "dropout left on"},
    "padding": {"masks inverted", "source padding not masked", "dropout left on"},
    "second call": {"dropout left on"},
    "norms": {"pre-norm", "deviation by n − 1"},
    "order of heads": {"heads interleaved", "dropout left on"},
}


@pytest.mark.parametrize("law", LAWS)
def test_law_a_law_holds_and_these_mistakes_break_it(twins, ids, law):
    ours, _ = twins
    torch.manual_seed(0)
    assert LAWS[law](ours, *ids)
    broken = {name for name in MISTAKES if not LAWS[law](with_mistake(ours, name), *ids)}
    assert broken == BREAKS[law]


def test_law_one_token_that_sees_the_next_is_noticed(twins, ids):
    leaky = copy.deepcopy(twins[0])

    def leak(query, key, value, mask):
        mask = mask.clone()
        mask[..., 0, 1] = True
        return query, key, value, mask

    attention = leaky.decoder.layers[-1].self_attention
    attention.attention = Changed(attention.attention, leak)
    assert not LAWS["past and future"](leaky, *ids)


def test_law_a_model_that_ignores_its_targets_breaks_the_first_law(twins, ids):
    blind = copy.deepcopy(twins[0])
    blind.embedding.weight.data[:] = blind.embedding.weight.data[5].clone()
    assert not LAWS["past and future"](blind, *ids)


def test_law_all_masks_are_different_and_there_are_as_many_as_combinations():
    masks = [tuple(mask.flatten().tolist()) for mask in all_masks(2, 3)]
    assert len(masks) == len(set(masks)) == 64
    assert next(all_masks(2, 3)).shape == (2, 3)


def test_oracle_attention_by_loops_is_the_packages_for_each_mask():
    rng = torch.Generator().manual_seed(0)
    query, key, value = (
        torch.randn(*shape, generator=rng, dtype=torch.float64) for shape in ((2, 5), (3, 5), (3, 7))
    )
    for mask in all_masks(2, 3):
        torch.testing.assert_close(
            attention_by_loops(query, key, value, mask), attention_weights(query, key, mask) @ value
        )
