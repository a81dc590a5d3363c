"""Scenes: one subject, verb, and object each, and the words that each role may have."""

import pytest
import torch

from annotated_transformer.book.chapters.queries_keys_values.scenes import (
    ANIMALS,
    BACKDROPS,
    NOUNS,
    ROLES,
    SCENE_WORDS,
    THINGS,
    VERBS,
    caption_text,
    draw_scenes,
    draw_typical_scenes,
    swap_roles,
)


def drawn(draw=draw_scenes, seed=0, count=300, **options):
    return draw(count, generator=torch.Generator().manual_seed(seed), **options)


def words_of(scenes, role):
    return {SCENE_WORDS[word] for word in scenes.words[scenes.roles == ROLES.index(role)].tolist()}


@pytest.mark.parametrize("draw", [draw_scenes, draw_typical_scenes])
def test_law_subject_verb_and_object_each_fill_one_cell_anywhere_in_a_scene(draw):
    scenes = drawn(draw, cells=7)
    for role, count in enumerate((1, 1, 1, 4)):
        assert ((scenes.roles == role).sum(dim=1) == count).all()
    assert all(len(column.unique()) == 4 for column in scenes.roles.T)
    assert (scenes.captions()[:, 0] != scenes.captions()[:, 2]).all()


def test_law_words_predict_roles_only_in_typical_scenes():
    mixed, typical = drawn(), drawn(draw_typical_scenes)
    for role, some, own in (
        ("subject", NOUNS, ANIMALS),
        ("verb", VERBS, VERBS),
        ("object", NOUNS, THINGS),
        ("background", SCENE_WORDS[1:], BACKDROPS),
    ):
        assert words_of(mixed, role) == set(some)
        assert words_of(typical, role) == set(own)


def test_law_a_caption_is_subject_verb_object():
    scenes = drawn(count=5)
    for roles, words, caption in zip(scenes.roles, scenes.words, scenes.captions(), strict=True):
        found = {ROLES[r]: SCENE_WORDS[w] for r, w in zip(roles.tolist(), words.tolist(), strict=True)}
        assert caption_text(caption) == f"{found['subject']} {found['verb']} {found['object']}"


def test_law_features_are_a_role_and_a_word():
    scenes = drawn(count=5)
    roles, words = scenes.features().split([len(ROLES), len(SCENE_WORDS)], dim=-1)
    assert torch.equal(roles.argmax(dim=-1), scenes.roles)
    assert torch.equal(words.argmax(dim=-1), scenes.words)
    assert (scenes.features().sum(dim=-1) == 2).all()


def test_law_swapped_roles_swap_the_words_of_the_caption():
    scenes = drawn(count=20)
    swapped = swap_roles(scenes)
    assert torch.equal(swapped.captions(), scenes.captions().flip(1))
    assert torch.equal(swapped.words, scenes.words)


def test_law_reordering_moves_whole_cells_and_keeps_the_caption():
    scenes = drawn(count=20, cells=5)
    moved = scenes.reordered(torch.tensor([3, 0, 4, 1, 2]))
    assert torch.equal(moved.features()[:, 1], scenes.features()[:, 0])
    assert torch.equal(moved.captions(), scenes.captions())
    assert not torch.equal(moved.places(), scenes.places())


def test_law_the_generator_determines_the_scenes():
    assert torch.equal(drawn().words, drawn().words)
    assert not torch.equal(drawn().words, drawn(seed=1).words)


@pytest.mark.message
def test_message_too_few_cells():
    with pytest.raises(ValueError, match=r"cells=2; .* give 3 or more"):
        drawn(cells=2)
