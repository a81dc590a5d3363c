"""Sentences in which one word decides, and readers whose map is fixed by a mask."""

import torch

from annotated_transformer.book.chapters.looking_inside.mood_reader import (
    LENGTH,
    MOOD_WORDS,
    MOODS,
    OTHERS,
    MoodReader,
    fit_moods,
    mood_sentences,
)


def test_law_a_sentence_has_one_mood_at_its_position():
    drawn, between = mood_sentences(211, torch.Generator().manual_seed(0)), set()
    for ids, position, mood in zip(drawn.ids.tolist(), drawn.position.tolist(), drawn.mood, strict=True):
        words = [MOOD_WORDS[i] for i in ids]
        assert words[0] == "[class]"
        assert words[-1] == "."
        assert [place for place, word in enumerate(words) if word in MOODS] == [position]
        assert words[position] == MOODS[mood]
        between |= set(words[1:-1])
    assert between == {*MOODS, *OTHERS}
    assert set(drawn.position.tolist()) == set(range(1, LENGTH - 1))
    other = drawn.with_moods((drawn.mood + 1) % len(MOODS))
    changed = other.ids != drawn.ids
    assert changed.sum() == 211
    assert changed[torch.arange(211), drawn.position].all()


def test_law_a_masked_reader_attends_to_the_period_alone_in_each_layer():
    test = mood_sentences(5, torch.Generator().manual_seed(0))
    free, masked = (MoodReader(num_layers=2, through_period=masked) for masked in (False, True))
    for weights in masked.maps(test.ids):
        assert weights.shape == (5, LENGTH, LENGTH)
        assert (weights[:, 0, -1] == 1).all()
        assert (weights[:, 1:] > 0).all()
    assert all((weights > 0).all() for weights in free.maps(test.ids))


def test_law_with_one_layer_a_masked_reader_cannot_depend_on_the_mood():
    test = mood_sentences(5, torch.Generator().manual_seed(0))
    other = test.with_moods((test.mood + 1) % len(MOODS))
    for layers, depends in ((1, False), (2, True)):
        reader = MoodReader(num_layers=layers, through_period=True).requires_grad_(False)
        assert torch.equal(reader(test.ids), reader(other.ids)) != depends


def test_law_a_seed_draws_the_weights():
    first, other, again = (
        fit_moods(num_layers=1, through_period=False, seed=seed, updates=0).to_mood.weight
        for seed in (3, 4, 3)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_law_training_finds_the_mood():
    test = mood_sentences(200, torch.Generator().manual_seed(5))
    untrained, trained = (fit_moods(num_layers=1, through_period=False, seed=0, updates=n) for n in (1, 80))
    shares = [(r(test.ids).argmax(dim=1) == test.mood).float().mean() for r in (untrained, trained)]
    assert shares[0] < 0.5 < 0.9 < shares[1]
