"""The tasks about positions have the answers that they claim, and the right parts learn them."""

import pytest
import torch

from annotated_transformer.book.chapters.from_here_to_modern_models import lookback
from annotated_transformer.modern.biased_attention import BiasedAttention
from annotated_transformer.modern.decoder_only import EncoderOnly
from annotated_transformer.modern.rotary import RotaryAttention


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_law_the_third_before_is_three_places_before():
    drawn = lookback.third_before(5, 11, rng())
    for ids, wanted, asked in zip(*map(torch.Tensor.tolist, drawn), strict=True):
        assert asked == [False] * 3 + [True] * 8
        assert wanted[3:] == ids[:-3]


def test_law_the_latest_capital_is_the_last_one_up_to_there():
    drawn = lookback.latest_capital(20, 11, rng())
    for ids, wanted, asked in zip(*map(torch.Tensor.tolist, drawn), strict=True):
        for place in range(11):
            capitals = [symbol for symbol in ids[: place + 1] if symbol >= lookback.CAPITAL]
            assert asked[place] == bool(capitals)
            assert not capitals or wanted[place] == capitals[-1]
    assert 0.2 < (drawn.ids >= lookback.CAPITAL).double().mean() < 0.5


@pytest.mark.parametrize(("kind", "inside"), [("rotary", RotaryAttention), ("ALiBi", BiasedAttention)])
def test_law_a_kind_is_inside_the_attention_or_added(kind: str, inside: type):
    model = lookback.fit_task(lookback.third_before, kind, seed=0, updates=1)
    assert isinstance(model.encoder.layers[0].self_attention.attention, inside)
    learned = lookback.fit_task(lookback.third_before, "learned", seed=0, updates=1, family=EncoderOnly)
    assert learned.positions.table.shape == (lookback.LONGEST, lookback.D_MODEL)
    assert isinstance(learned, EncoderOnly)


def test_law_a_relative_bias_learns_the_task_and_a_guess_is_rare():
    model = lookback.fit_task(lookback.third_before, "relative bias", seed=0, max_lr=0.02, updates=100)
    assert lookback.share_found(lookback.third_before, model, 16) > 0.9
    untrained = lookback.fit_task(lookback.third_before, "relative bias", seed=0, updates=1)
    assert lookback.share_found(lookback.third_before, untrained, 16) < 0.3
