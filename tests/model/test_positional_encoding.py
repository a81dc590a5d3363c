"""Positional encodings: the paper's formula, its geometry, and `start` as an offset into the table."""

import math

import pytest
import torch

from annotated_transformer.model.positional_encoding import (
    LearnedPositions,
    SinusoidalPositions,
    rotation,
    sinusoids,
)

BATCH, TOKENS, LENGTH, D_MODEL = 2, 5, 13, 10
EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.equation("eq-sinusoids")
def test_law_every_entry_is_the_papers_formula():
    table = sinusoids(LENGTH, D_MODEL)
    assert table.shape == (LENGTH, D_MODEL)
    assert table.dtype == torch.float64
    for position in range(LENGTH):
        for i in range(D_MODEL // 2):
            angle = position / 10_000 ** (2 * i / D_MODEL)
            assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-12)
            assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-12)


@pytest.mark.equation("eq-rotation")
def test_law_the_rotation_of_an_offset_moves_each_position_forward_and_back():
    table = sinusoids(200, D_MODEL)
    for offset in (0, 1, 17, 150):
        early, late = table[: 200 - offset], table[offset:]
        torch.testing.assert_close(early @ rotation(offset, D_MODEL).T, late, **EXACT)
        torch.testing.assert_close(late @ rotation(-offset, D_MODEL).T, early, **EXACT)
    turn = rotation(17, D_MODEL)
    for i in range(D_MODEL // 2):
        angle = 17 / 10_000 ** (2 * i / D_MODEL)
        block = turn[2 * i : 2 * i + 2, 2 * i : 2 * i + 2].flatten().tolist()
        wanted = [math.cos(angle), math.sin(angle), -math.sin(angle), math.cos(angle)]
        assert block == pytest.approx(wanted, abs=1e-12)
    assert (turn != 0).sum() == 2 * D_MODEL  # zero outside the blocks
    assert turn.dtype == torch.float64


@pytest.mark.equation("eq-offset-product")
def test_law_the_product_of_two_positions_is_a_sum_of_cosines_of_their_offset():
    table = sinusoids(60, D_MODEL)
    for p, q in ((0, 0), (3, 5), (59, 2)):
        angles = [(p - q) / 10_000 ** (2 * i / D_MODEL) for i in range(D_MODEL // 2)]
        assert (table[p] @ table[q]).item() == pytest.approx(sum(map(math.cos, angles)), abs=1e-12)
    assert abs(table[3] @ table[5] - table[59] @ table[2]) > 0.1


both = pytest.mark.parametrize("kind", [SinusoidalPositions, LearnedPositions])


@both
def test_law_positions_are_added_and_start_is_an_offset_into_the_table(kind, draw):
    positions, embedded = kind(D_MODEL, LENGTH).double(), draw(BATCH, LENGTH, D_MODEL)
    whole = positions(embedded)
    torch.testing.assert_close(whole, embedded + positions.table, **EXACT)
    assert (whole[:, 3] - embedded[:, 3] - (whole[:, 4] - embedded[:, 4])).abs().max() > 0.1
    for start in (0, 4, LENGTH - TOKENS):
        part = positions(embedded[:, start : start + TOKENS], start=start)
        assert torch.equal(part, whole[:, start : start + TOKENS])


def test_law_sinusoids_have_no_parameters_and_are_not_saved():
    positions = SinusoidalPositions(D_MODEL, LENGTH)
    assert list(positions.parameters()) == []
    assert positions.state_dict() == {}
    assert positions.table.dtype == torch.float32
    torch.testing.assert_close(positions.table, sinusoids(LENGTH, D_MODEL).float(), rtol=0, atol=0)


def test_law_learned_positions_are_one_table_that_starts_at_the_embeddings_scale():
    positions = LearnedPositions(64, 1000)
    assert [parameter.shape for parameter in positions.parameters()] == [(1000, 64)]
    assert positions.table.std().item() == pytest.approx(64**-0.5, rel=0.03)
    assert list(positions.state_dict()) == ["table"]


@pytest.mark.message
@both
@pytest.mark.parametrize(
    ("tokens", "width", "start", "sentence"),
    [
        (14, 10, 0, "of 14 tokens is longer than the 13 positions .* or .* max_length=14 or more"),
        (5, 10, 9, "of 14 tokens is longer than the 13 positions"),
        (5, 10, -1, "start=-1, but positions count from 0; give 0 or more"),
        (5, 1, 0, "tokens have 1 features, these positions d_model=10; give"),  # one would broadcast to ten
    ],
)
def test_message_tokens_that_do_not_fit_the_positions(kind, tokens, width, start, sentence):
    with pytest.raises(ValueError, match=sentence):
        kind(D_MODEL, LENGTH)(torch.zeros(BATCH, tokens, width), start=start)


@pytest.mark.message
@pytest.mark.parametrize("make", [sinusoids, rotation])
def test_message_sinusoids_come_in_pairs(make):
    with pytest.raises(ValueError, match="d_model=7 is odd, but sinusoids come in pairs; make it even"):
        make(3, 7)


@pytest.mark.parametrize("default", [torch.float16, torch.bfloat16, torch.float64])
def test_law_a_table_is_exact_to_float32_whatever_the_default_type(default: torch.dtype):
    """A model of float32 may be loaded where half precision is the default."""
    expected = SinusoidalPositions(12, 19).table
    torch.set_default_dtype(default)
    try:
        table = SinusoidalPositions(12, 19).table
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.equal(table.float(), expected)
