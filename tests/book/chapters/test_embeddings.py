"""The orthogonal map between two sets of vectors."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from annotated_transformer.book.chapters.embeddings.word_pairs import (
    orthogonal_map,
)


@pytest.fixture
def draw() -> Callable[..., Tensor]:
    rng = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(*shape, generator=rng, dtype=torch.float64)


def test_law_an_orthogonal_map_recovers_a_rotation(draw):
    turn = torch.linalg.qr(draw(5, 5)).Q
    source = draw(7, 5)
    found = orthogonal_map(source, source @ turn)
    torch.testing.assert_close(found, turn, rtol=1e-9, atol=1e-9)
    assert (turn - turn.T).abs().max() > 0.1  # so the transpose is a different map
