"""Numbers that are read out: which outputs are right."""

import pytest
import torch

from annotated_transformer.book.chapters.decoding.spoken_numbers import share_right


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
