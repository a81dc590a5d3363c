"""The toy tasks of chapter 22 have the answers that they claim, and the right parts learn them."""

import pytest
import torch

from annotated_transformer.book.chapters.from_here_to_modern_models import experts, lookback, shapes
from annotated_transformer.modern.biased_attention import BiasedAttention
from annotated_transformer.modern.mixture_of_experts import parameters_per_token
from annotated_transformer.modern.rotary import RotaryAttention
from annotated_transformer.modern.single_stack import EncoderOnly


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


def test_law_images_contain_a_cross_and_a_square_on_the_side_that_the_label_says():
    drawn = shapes.draw_images(30, rng())
    for image, label in zip(drawn.pixels[:, 0], drawn.labels.tolist(), strict=True):
        patches = image.unfold(0, 4, 4).unfold(1, 4, 4)
        columns = {}
        for name, shape in (("cross", shapes.CROSS), ("square", shapes.SQUARE)):
            gaps = (patches[..., :3, :3] - torch.tensor(shape)).abs().amax(dim=(2, 3))
            assert (gaps < 0.2).sum() == 1
            columns[name] = int((gaps < 0.2).nonzero()[0, 1])
        assert label == int(columns["cross"] < columns["square"])
    assert 0.2 < drawn.labels.double().mean() < 0.8


def test_law_without_positions_patches_are_a_set_and_with_them_they_are_not():
    pixels = shapes.draw_images(5, rng()).pixels
    moved = pixels.unflatten(3, (3, 4)).flip(3).flatten(3)
    for positions in (False, True):
        model = shapes.untrained_vision(positions=positions, seed=0).eval()
        gap = (model(pixels) - model(moved)).abs().max().item()
        assert (gap < 1e-5) != positions


def test_law_share_seen_counts_right_classes():
    drawn = shapes.draw_images(20, rng())
    model = shapes.fit_vision(positions=True, seed=0, updates=1)
    right = shapes.share_seen(model, drawn)
    assert shapes.share_seen(model, shapes.Images(drawn.pixels, 1 - drawn.labels)) == pytest.approx(1 - right)


def test_law_loads_sum_to_one_and_balance_spreads_them():
    uneven, even = (experts.fit_successors(balance=balance, seed=0, updates=60) for balance in (0.0, 1.0))
    for model in (uneven, even):
        assert sum(experts.loads(model)) == pytest.approx(1)
        assert experts.loads(model) == sorted(experts.loads(model), reverse=True)
    assert experts.loads(even)[0] < experts.loads(uneven)[0]
    assert parameters_per_token(even.mixture) < sum(p.numel() for p in even.mixture.parameters())
