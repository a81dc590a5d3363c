"""Checks of the exercises of the chapter on positional encoding (section 3.5 of the paper)."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, equal, nn

from annotated_transformer.book.exercises.answers import Answer, Answers, predictions
from annotated_transformer.book.exercises.rules import PACKAGE, expect_without
from annotated_transformer.book.exercises.verdict import expect, expect_close, expect_tensor, judge, plural
from annotated_transformer.model.attention import attention_weights
from annotated_transformer.model.multi_head_attention import MultiHeadAttention


def _by_loops(length: int, d_model: int, first: int = 0) -> Tensor:
    """Return the paper's table entry by entry, from position `first` on."""
    rows = []
    for position in range(first, first + length):
        angles = [position / 10_000 ** (2 * i / d_model) for i in range(d_model // 2)]
        rows.append([f(angle) for angle in angles for f in (math.sin, math.cos)])
    return torch.tensor(rows, dtype=torch.float64)


def _interleaved(angles: Tensor) -> Tensor:
    """Return sines in the even columns, and cosines in the odd ones."""
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


@predictions(put="numbers", shows="position 0 is a row of clocks that all stand at twelve.")
def check_origin() -> Answers:
    """Judge the predictions about a table of width 6, exercise ex-predict-origin."""
    off = 0.005
    return {
        "first row": Answer([0, 1, 0, 1, 0, 1], "Write down sine and cosine of each angle at position 0.",
            {"sine and cosine are swapped": [1, 0, 1, 0, 1, 0],
            "all sines come first; here, each is followed by its cosine": [0, 0, 0, 1, 1, 1],
            "the cosine of 0 is taken to be 0": [0, 0, 0, 0, 0, 0]}, off),
        "squared length": Answer(3, "Add up the squares of the first row.",
            {"each feature is taken to add 1": 6, "one pair is counted": 1, "it is the length": 3**0.5}, off),
        "learned numbers": Answer(0, "The whole table follows from a formula.",
            {"the frequencies are taken to be learned": 3, "the row is taken to be learned": 6}, off),
        "product with itself": Answer(3, "Add up the squares of sine and cosine for each pair.",
            {"the product is taken to grow with the position": 15, "one pair is counted": 1,
            "it is the length": 3**0.5}, off),
    }  # fmt: skip


@judge
def check_sinusoids(answer: Callable[[int, int], Tensor]) -> str:
    """Judge `answer(length, d_model)`, exercise ex-sinusoids."""
    expect_without(answer, PACKAGE)
    for length, d_model in ((3, 2), (7, 6), (101, 64)):
        table, wanted = answer(length, d_model), _by_loops(length, d_model)
        sines, cosines = wanted[:, 0::2], wanted[:, 1::2]
        place, index = torch.arange(length)[:, None], torch.arange(0, d_model, 2)
        slow, feature = place / 10_000 ** (index / 2 / d_model), torch.arange(d_model)
        each = place / 10_000 ** (feature / d_model)  # one frequency for each feature
        mistakes = {
            "all sines come first, and all cosines after them": torch.cat([sines, cosines], dim=1),
            "positions are columns; they should be rows": wanted.T,
            "sines and cosines are swapped": torch.stack([cosines, sines], dim=-1).flatten(1),
            "the exponent is i / d_model instead of 2i / d_model": _interleaved(slow),
            "positions begin with 1": _by_loops(length, d_model, first=1),
            "each feature has a frequency of its own; pairs share one": torch.where(
                feature % 2 == 0, each.sin(), each.cos()
            ),
        }
        what = f"the table of {plural(length, 'position')}, width {d_model},"
        expect_close(table, wanted, what=what, tolerance=1e-4, mistakes=mistakes)
    return "it is the paper's table, entry by entry."


@judge
def check_input(answer: Callable[..., Tensor]) -> str:
    """Judge `answer(embedded, table, start)`, exercise ex-debug-input: the embeddings are not scaled yet."""
    rng = torch.Generator().manual_seed(0)
    table = _by_loops(13, 6)
    for batch, tokens, start in ((2, 5, 0), (5, 5, 0), (1, 1, 7), (3, 2, 4)):
        embedded = torch.randn(batch, tokens, 6, generator=rng, dtype=torch.float64)
        root, rows = math.sqrt(6), table[start : start + tokens]
        by_sentence = table[start : start + batch, None]
        mistakes = {
            "the positions are scaled, too": (embedded + rows) * root,
            "positions are counted along the batch, not along the tokens": embedded * root + by_sentence,
            "neither bug is repaired": (embedded + by_sentence) * root,
            "the embeddings are not scaled": embedded + rows,
            "`start` is not used": embedded * root + table[:tokens],
        }
        sizes = f"{plural(batch, 'sentence')} of {plural(tokens, 'token')}, from position {start} on,"
        result = answer(embedded, table, start)
        expect_close(
            result, embedded * root + rows, what=f"the input for {sizes}", tolerance=1e-9, mistakes=mistakes
        )
    return "each word has its own position, whatever its sentence, and only the word is scaled."


@judge
def check_turn(answer: Callable[[int, int], Tensor]) -> str:
    """Judge `answer(offset, d_model)`, exercise ex-derive-turn."""
    expect_without(answer, PACKAGE)
    for offset, d_model in ((1, 2), (3, 6), (-4, 6), (0, 10)):
        right = f"for d_model={d_model}, the answer should be a {d_model} × {d_model} tensor"
        matrix = expect_tensor(answer(offset, d_model), what=f"for d_model={d_model}, the answer")
        shape = tuple(matrix.shape)
        one = shape == (2, 2) and d_model > 2
        expect(not one, f"{right}, not one block of 2 × 2: each pair of features has a block of its own.")
        expect(shape == (d_model, d_model), f"{right}, not {shape}.")
        before, after = _by_loops(40, d_model, first=5), _by_loops(40, d_model, first=5 + offset)
        back = _by_loops(40, d_model, first=5 - offset)
        mistakes = {"the offset has the wrong sign, or the matrix is transposed": back}
        what = f"position p turned by your matrix for offset {offset}, d_model={d_model},"
        expect_close(before @ matrix.double().T, after, what=what, tolerance=1e-6, mistakes=mistakes)
    return "one matrix per offset works for all positions that we tried, forward and back."


@judge
def check_look_back(answer: Callable[[int, int], MultiHeadAttention]) -> str:
    """Judge `answer(offset, d_model)`, a layer of one head, exercise ex-look-back."""
    for offset, d_model, first in ((1, 32, 0), (1, 32, 500), (3, 64, 40), (2, 48, 7), (0, 32, 9)):
        layer = answer(offset, d_model)
        kind = type(layer).__name__
        expect(
            isinstance(layer, MultiHeadAttention), f"the result should be a MultiHeadAttention, not {kind}."
        )
        heads = layer.num_heads
        expect(heads == 1, f"the text asks for one head, whose weights are read here; the layer has {heads}.")
        positions = _by_loops(24, d_model, first)[None].to(layer.to_query.weight.dtype)
        with torch.no_grad():
            keys, _ = layer.project_memory(positions, positions)
            weights = attention_weights(layer.project_query(positions), keys)[0, 0]
        least, ahead = weights.diagonal(-offset).min().item(), weights.diagonal(offset).min().item()
        best = weights.argmax(dim=-1)[offset:]
        found = equal(best, torch.arange(24 - offset))
        hint = " Each position looks ahead instead of back." if ahead > 0.9 and offset else ""
        hint = hint or " The largest weight is the right one; make it sharper." * found
        expect(
            least > 0.9,
            f"with offset {offset}, positions {first} to {first + 23}: each weight on the position {offset} "
            f"before should be above 0.9, and one is {least:.2f}.{hint}",
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
        expect(equal(layer.weight, weight), "the layer that you were given was changed; copy it first.")
        pairs = torch.arange(d_model).view(2, -1).T.flatten()
        mistakes = {
            "the columns are still in the old order": layer(halves).detach(),
            "the columns are moved the other way, from halves to pairs": halves @ weight[:, pairs].T
            + layer.bias.detach(),
            "the bias is not copied": interleaved @ weight.T,
        }
        what = f"the output of your layer for d_model={d_model}"
        expect_close(result, wanted, what=what, tolerance=1e-9, mistakes=mistakes)
    return "the new layer reads the other order and returns the same numbers."
