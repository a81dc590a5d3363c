"""Models with one attention head: where positions enter, and what they attend to."""

import torch

from annotated_transformer.book.chapters.positional_encoding.readers import Reader
from annotated_transformer.inspection.observation import watching
from annotated_transformer.model.positional_encoding import SinusoidalPositions

IDS = torch.randint(7, (3, 5), generator=torch.Generator().manual_seed(0))


def reader(positions: type[SinusoidalPositions] | None, seed: int = 0) -> Reader:
    made = Reader(positions, 11, symbols=7, rng=torch.Generator().manual_seed(seed))
    return made.requires_grad_(False)


def test_law_without_positions_the_order_of_other_tokens_does_not_matter():
    order = torch.tensor([0, 3, 2, 4, 1])
    blind, ordered = reader(None), reader(SinusoidalPositions)
    torch.testing.assert_close(blind(IDS)[:, 0], blind(IDS[:, order])[:, 0], rtol=0, atol=1e-5)
    assert (ordered(IDS)[:, 0] - ordered(IDS[:, order])[:, 0]).abs().max() > 1e-3


def test_oracle_the_first_token_is_at_position_start():
    made = reader(SinusoidalPositions)
    x = made.words(IDS) + made.positions.table[6:11]
    wanted = made.predict(made.attend(x, x, x))
    torch.testing.assert_close(made(IDS, 6), wanted, rtol=0, atol=1e-5)
    assert (made(IDS, 6) - made(IDS)).abs().max() > 1e-3


def test_law_mean_weights_are_those_that_the_head_uses():
    made = reader(SinusoidalPositions)
    with watching([made.attend.attention]) as seen:
        made(IDS)
    torch.testing.assert_close(made.mean_weights(IDS), seen[0].mean(dim=(0, 1)), rtol=0, atol=1e-6)


def test_law_the_generator_draws_the_weights():
    first, again, other = (reader(None, seed)(IDS) for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
