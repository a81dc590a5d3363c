"""Word pairs that are translations, and the orthogonal map between two sets of vectors."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from annotated_transformer.book.chapters.embeddings.word_pairs import (
    OTHER_WORD_PAIRS,
    WORD_PAIRS,
    orthogonal_map,
    token_ids,
    unit_rows,
)
from annotated_transformer.checkpointing.checkpoint import EN_DE, load, pretrained_folder


@pytest.fixture
def draw() -> Callable[..., Tensor]:
    rng = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(*shape, generator=rng, dtype=torch.float64)


def test_law_no_word_occurs_twice_or_in_both_languages():
    words = [word for pair in WORD_PAIRS + OTHER_WORD_PAIRS for word in pair]
    assert len(set(words)) == len(words) == 2 * (236 + 186)


def test_law_each_word_is_one_token_of_a_shipped_model():
    _, tokenizer = load(pretrained_folder(EN_DE))
    ids = token_ids(tokenizer)
    for pair in WORD_PAIRS + OTHER_WORD_PAIRS:
        for word in pair:
            assert tokenizer.encode_source([word]) == [[ids[word], 2]]


def test_law_an_orthogonal_map_recovers_a_rotation(draw):
    turn = torch.linalg.qr(draw(5, 5)).Q
    source = draw(7, 5)
    found = orthogonal_map(source, source @ turn)
    torch.testing.assert_close(found, turn, rtol=1e-9, atol=1e-9)
    assert (turn - turn.T).abs().max() > 0.1  # so the transpose is a different map


def test_law_the_map_is_orthogonal_and_no_small_rotation_improves_it(draw):
    source, target = draw(7, 5), draw(7, 5)
    found = orthogonal_map(source, target)
    torch.testing.assert_close(found @ found.T, torch.eye(5).double(), rtol=1e-9, atol=1e-9)
    best = (source @ found - target).norm()
    for _ in range(20):
        step = draw(5, 5) * 0.05
        other = found @ torch.linalg.matrix_exp(step - step.T)
        assert (source @ other - target).norm() > best


def test_law_unit_rows_have_length_one_and_keep_their_direction(draw):
    rows = draw(7, 5)
    torch.testing.assert_close(unit_rows(rows).norm(dim=1), torch.ones(7).double())
    assert torch.equal(unit_rows(rows).sign(), rows.sign())
