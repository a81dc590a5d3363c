"""Checks of the exercises of the chapter on positional encoding (section 3.5 of the paper)."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from annotated_transformer.book.exercises.verdict import expect, expect_close, judge
from annotated_transformer.model.attention import attention_weights
from annotated_transformer.model.multi_head_attention import MultiHeadAttention

EMPTY = "your answer is still empty; put numbers in the place of the dots."
ORIGIN = [0, 1, 0, 1, 0, 1]
EXPECTED = {"first row": ORIGIN, "squared length": 3, "learned numbers": 0, "product with itself": 3}
HINTS = {
    "first row": "write down sine and cosine of each angle at position 0.",
    "squared length": "add up the squares of the first row.",
    "learned numbers": "the whole table follows from a formula.",
    "product with itself": "add up the squares of sine and cosine for each pair.",
}


def _by_loops(length: int, d_model: int, first: int = 0) -> Tensor:
    """Return the paper's table entry by entry, from position `first` on."""
    rows = []
    for position in range(first, first + length):
        angles = [position / 10_000 ** (2 * i / d_model) for i in range(d_model // 2)]
        rows.append([f(angle) for angle in angles for f in (math.sin, math.cos)])
    return torch.tensor(rows, dtype=torch.float64)


@judge
def check_origin(answer: Mapping[str, Any]) -> str:
    """Judge the predictions about a table of width 6, exercise ex-predict-origin."""
    for name, wanted in EXPECTED.items():
        prediction = answer.get(name, ...)
        expect(prediction is not ..., EMPTY)
        right = np.array_equal(prediction, np.asarray(wanted))
        expect(right, f"{name!r} is not {prediction}; {HINTS[name]}")
    return "position 0 is a row of clocks that all stand at twelve."


@judge
def check_sinusoids(answer: Callable[[int, int], Tensor]) -> str:
    """Judge `answer(length, d_model)`, exercise ex-sinusoids."""
    for length, d_model in ((3, 2), (7, 6), (101, 64)):
        table, wanted = answer(length, d_model), _by_loops(length, d_model)
        what = f"the table of {length} positions, width {d_model},"
        if (
            isinstance(table, Tensor)
            and table.shape == wanted.shape
            and not torch.allclose(table.double(), wanted, rtol=0, atol=1e-4)
        ):
            place = (table.double() - wanted).abs() > 1e-4
            row, column = place.nonzero()[0].tolist()
            expect(
                False,
                f"{what} is {table[row, column]:.4f} at position {row}, feature {column} (both counted from "
                f"0), and should be {wanted[row, column]:.4f}.",
            )
        expect_close(table, wanted, what=what, tolerance=1e-4)
    return "it is the paper's table, entry by entry."


@judge
def check_input(answer: Callable[..., Tensor]) -> str:
    """Judge `answer(embedded, table, start)`, exercise ex-debug-input: the embeddings are not scaled yet."""
    rng = torch.Generator().manual_seed(0)
    table = _by_loops(13, 6)
    for batch, tokens, start in ((2, 5, 0), (5, 5, 0), (1, 1, 7), (3, 2, 4)):
        embedded = torch.randn(batch, tokens, 6, generator=rng, dtype=torch.float64)
        wanted = embedded * math.sqrt(6) + table[start : start + tokens]
        what = f"the input for {batch} sentences of {tokens} tokens that begin at position {start}"
        expect_close(answer(embedded, table, start), wanted, what=what, tolerance=1e-9)
    return "each word has its own position, whatever its sentence, and only the word is scaled."


@judge
def check_turn(answer: Callable[[int, int], Tensor]) -> str:
    """Judge `answer(offset, d_model)`, exercise ex-derive-turn."""
    for offset, d_model in ((1, 2), (3, 6), (-4, 6), (0, 10)):
        matrix = answer(offset, d_model)
        square = isinstance(matrix, Tensor) and tuple(matrix.shape) == (d_model, d_model)
        expect(square, f"for d_model={d_model} the answer should be a {d_model} × {d_model} tensor.")
        before, after = _by_loops(40, d_model, first=5), _by_loops(40, d_model, first=5 + offset)
        what = f"position p turned by your matrix for offset {offset}, d_model={d_model},"
        expect_close(before @ matrix.double().T, after, what=what, tolerance=1e-6)
    return "one matrix per offset works for all positions that we tried, forward and back."


@judge
def check_look_back(answer: Callable[[int, int], MultiHeadAttention]) -> str:
    """Judge `answer(offset, d_model)`, a layer of one head, exercise ex-look-back."""
    for offset, d_model, first in ((1, 32, 0), (1, 32, 500), (3, 64, 40), (2, 48, 7), (0, 32, 9)):
        layer = answer(offset, d_model)
        expect(isinstance(layer, MultiHeadAttention), f"{type(layer).__name__} is not a MultiHeadAttention.")
        expect(layer.num_heads == 1, f"the layer has {layer.num_heads} heads; one is enough.")
        positions = _by_loops(24, d_model, first)[None].to(layer.to_query.weight.dtype)
        with torch.no_grad():
            keys, _ = layer.project_memory(positions, positions)
            weights = attention_weights(layer.project_query(positions), keys)[0, 0]
        least = weights.diagonal(-offset).min().item()
        expect(
            least > 0.9,
            f"with offset {offset}, some position gives the one {offset} before it a weight of only "
            f"{least:.2f} (positions {first} to {first + 23}); it should be above 0.9.",
        )
    return "each position attends to the one `offset` positions back, wherever the positions start."


@judge
def check_halves(answer: Callable[[nn.Linear], nn.Linear]) -> str:
    """Judge `answer(layer)`, exercise ex-halves: the layer for sines first and cosines after them."""
    rng = torch.Generator().manual_seed(0)
    for d_model, width in ((6, 5), (10, 10)):
        layer = nn.Linear(d_model, width, dtype=torch.float64)
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=rng, dtype=torch.float64))
        weight = layer.weight.detach().clone()
        interleaved = _by_loops(11, d_model)
        halves = torch.cat([interleaved[:, 0::2], interleaved[:, 1::2]], dim=1)
        wanted = (interleaved @ weight.T + layer.bias).detach()
        result = answer(layer)(halves)
        what = f"the output of your layer for d_model={d_model}"
        expect_close(result.detach(), wanted, what=what, tolerance=1e-9)
        expect(torch.equal(layer.weight, weight), "the layer that you were given was changed; copy it first.")
    return "the new layer reads the other order and returns the same numbers."
