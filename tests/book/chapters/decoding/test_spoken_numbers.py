"""Numbers that are read out: which outputs are right."""

import pytest
import torch

from annotated_transformer.book.chapters.decoding.spoken_numbers import share_right, spoken_numbers


def drawn() -> tuple[torch.Tensor, torch.Tensor]:
    return spoken_numbers(11, 5, sayings=3, rng=torch.Generator().manual_seed(0))


def test_law_each_drawn_target_is_right_and_repeats_the_seed():
    src, tgt = drawn()
    assert src.shape == (11, 6)
    assert tgt.shape == (11, 7)
    assert (tgt[:, 0] == 1).all()
    assert share_right(src, tgt[:, 1:], sayings=3) == 1
    assert torch.equal(tgt, drawn()[1])
    assert {0, 1, 2} == set(((tgt[:, 1:-1] - 13) % 3).flatten().tolist())


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ([13, 16, 2, 0], 1),  # the first word of 0, and the first of 1
        ([15, 18, 2], 1),  # the last words, and no room for padding
        ([16, 13, 2, 0], 0),  # in the wrong order
        ([13, 19, 2, 0], 0),  # 2 in place of 1
        ([13, 16, 16, 2], 0),  # too long
        ([13, 2, 0, 0], 0),  # too short
        ([13, 16, 2, 7], 0),  # goes on after the end
    ],
)
def test_oracle_an_output_is_right_if_each_word_is_and_it_ends(written: list[int], right: int):
    assert share_right(torch.tensor([[3, 4, 2]]), torch.tensor([written]), sayings=3) == right
