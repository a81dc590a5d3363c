"""Checks of the exercises of the chapter on masking (section 3.2.3 of the paper)."""

import math
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, equal, nn

from annotated_transformer.book.exercises.answers import Answer, Answers, formula, predictions
from annotated_transformer.book.exercises.inputs import mistaken_attention
from annotated_transformer.book.exercises.rules import PACKAGE, expect_without
from annotated_transformer.book.exercises.verdict import (
    NONE,
    Mistakes,
    expect,
    expect_close,
    expect_no_mistake,
    expect_shape,
    expect_tensor,
    judge,
    plural,
)
from annotated_transformer.model.multi_head_attention import MultiHeadAttention

Layer = Callable[[Tensor], Tensor]


def expect_mask(result: object, wanted: Tensor, *, what: str, mistakes: Mistakes = NONE) -> None:
    """Stop the check unless `result` is the boolean mask `wanted`; name the mistake, or one pair."""
    mask = expect_tensor(result, what=what)
    expect(mask.dtype == torch.bool, f"{what} should have the dtype torch.bool, not {mask.dtype}.")
    if not equal(mask, wanted):
        inverted = {"it is inverted: True should mean that a query may look": ~wanted}
        expect_no_mistake(mask, {**mistakes, **inverted}, what=what)
    expect_shape(mask, wanted, what=what)
    if not equal(mask, wanted):
        *batch, query, key = (mask != wanted).nonzero()[0].tolist()
        word = "may" if wanted[*batch, query, key] else "may not"
        sentence = f" of sentence {batch[0]}" if batch else ""
        expect(False, f"in {what}, query {query}{sentence} {word} attend to key {key} (counted from 0).")


@predictions(
    put="four rows of four weights", shows="even the row of padding is an average of the three words."
)
def check_weights() -> Answers:
    """Judge the predicted 4 × 4 weights, exercise ex-predict-weights."""

    def spread(keys: range) -> list[float]:
        return [1 / len(keys) if key in keys else 0.0 for key in range(4)]

    answers = {}
    for query in range(4):
        readable = range(min(query + 1, 3))  # key 3 is padding
        mistakes = {
            "nothing is hidden from this query": spread(range(4)),
            "later words are not hidden from this query": spread(range(3)),
            "the weights are not divided by their number": [float(key in readable) for key in range(4)],
            "this query is taken to read nothing; only its column is hidden": [0.0] * 4,
        }
        right = spread(readable)
        answers[f"query {query}"] = Answer(
            right,
            "Which keys may this query read, and how many are there?",
            {why: row for why, row in mistakes.items() if row != right},
            tolerance=0.005,
        )
    return answers


@judge
def check_local_mask(answer: Callable[[int, int], Tensor]) -> str:
    """Judge `answer(tokens, window)`, exercise ex-local-mask."""
    for tokens, window in ((7, 3), (5, 1), (4, 11)):
        query, key = torch.arange(tokens)[:, None], torch.arange(tokens)
        wanted = (key <= query) & (key > query - window)
        distance = query - key
        mistakes = {
            "the window is one too long: a query's own position belongs to it": (distance >= 0)
            & (distance <= window),
            "the window is one too short": (distance >= 0) & (distance < window - 1),
            "the window also reaches into the future": distance.abs() < window,
            "the window is not used": distance >= 0,
            "the mask is not causal": distance < window,
        }
        what = f"the mask for {plural(tokens, 'token')} and a window of {window}"
        expect_mask(answer(tokens, window), wanted, what=what, mistakes=mistakes)
    return "each query reads itself and the window - 1 positions before it, and no later one."


@judge
def check_masked_attention(answer: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> str:
    """Judge `answer(query, key, value, mask)`, exercise ex-masked-attention."""
    expect_without(answer, PACKAGE, "scaled_dot_product_attention")
    rng = torch.Generator().manual_seed(0)
    query, key, value = (
        torch.randn(2, 3, n, d, generator=rng, dtype=torch.float64) for n, d in ((5, 4), (7, 4), (7, 6))
    )
    mask = torch.rand(2, 1, 5, 7, generator=rng) < 0.5  # a different one for each sentence
    mask[..., 2] = True  # every query may attend to some key
    wanted = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    result = answer(query, key, value, mask)
    first = F.scaled_dot_product_attention(query, key, value, attn_mask=mask[:1])
    mistakes = mistaken_attention(query, key, value, mask) | {
        "the mask of the first sentence is used for all": first
    }
    expect_close(result, wanted, what="the output for ordinary inputs", tolerance=1e-9, mistakes=mistakes)
    square = mask[0, 0]
    for inputs in ((query, key, value), (query[0], key[0], value[0])):
        wanted = F.scaled_dot_product_attention(*inputs, attn_mask=square)
        result = answer(*inputs, square)
        what = f"the output for {inputs[0].ndim} axes and a mask of two"
        mistakes = mistaken_attention(*inputs, square)
        expect_close(result, wanted, what=what, tolerance=1e-9, mistakes=mistakes)

    low_query, low_key, two = torch.tensor([[-4e9]]), torch.tensor([[1.0], [1.0]]), torch.tensor([[1.0], [2]])
    low = answer(low_query, low_key, two, torch.tensor([[True, False]]))
    number = "hidden scores are set to a number that is larger than this score"
    mistakes = {
        f"{number}, so the hidden key is read": torch.tensor([[2.0]]),
        f"{number}, so no weight is left for the allowed key": torch.tensor([[0.0]]),
    }
    what = "the output where the allowed score is -4e9"
    expect_close(low, torch.tensor([[1.0]]), what=what, mistakes=mistakes)

    mask[:, :, 3] = False
    for leaf in (query, key, value):
        leaf.requires_grad_()
    blind = answer(query, key, value, mask)
    expect(not blind.isnan().any(), "a query that may read no key gives NaN; it should give zeros.")
    expect_close(blind[..., 3, :], torch.zeros(2, 3, 6), what="the output of a query that may read no key")
    gradients = torch.autograd.grad(blind[..., :3, :].sum(), (query, key, value))
    for name, gradient in zip(("queries", "keys", "values"), gradients, strict=True):
        expect(
            bool(gradient.isfinite().all()),
            f"the gradient of the {name} is NaN, although the loss ignores the query that may read no key. "
            "Make its softmax harmless; to repair what comes out of it is too late for the gradient.",
        )
    return "it agrees with PyTorch's kernel, also for very low scores and for a query with no keys."


@judge
def check_decoder_mask(answer: Callable[[Tensor, int], Tensor]) -> str:
    """Judge `answer(ids, pad_id)`, exercise ex-debug-mask."""
    for ids, pad_id in (
        ([[5, 6, 7, 8], [5, 6, 0, 0]], 0),
        ([[0, 4, 9], [4, 9, 9], [4, 4, 4]], 9),
        ([[1, 2, 3, 4, 5]], 0),
    ):
        size = len(ids[0])
        wanted = [[[[j <= i and row[j] != pad_id for j in range(size)] for i in range(size)]] for row in ids]
        mask = answer(torch.tensor(ids), pad_id)
        real = (torch.tensor(ids) != pad_id)[:, None, None]
        past, ahead = (torch.ones(size, size, dtype=torch.bool).tril(d) for d in (0, 1))
        zero = (torch.tensor(ids) != 0)[:, None, None]
        mistakes = {
            "a pair needs only one of the two masks; it needs both": real | past,
            "each query may still read the key after its own": real & ahead,
            "neither bug is repaired": real | ahead,
            "padding is not hidden": past.expand(len(ids), 1, size, size),
            "later keys are not hidden": real.expand(len(ids), 1, size, size),
            "the rows of padding are hidden instead of its columns": real.mT & past,
            "0 is taken for padding, whatever `pad_id` is": zero & past,
        }
        what = f"the mask for ids={ids}, pad_id={pad_id}"
        expect_mask(mask, torch.tensor(wanted), what=what, mistakes=mistakes)
    return "both bugs are gone: no later key, and no padding."


@formula(
    *((1, 9, 0.0, 0.01), (5, 1, 3.0, 0.5), (2, 6, -20.0, 1e-6)),
    shows="a softmax over such scores leaks exactly the share that you wanted.",
)
def check_low_enough(allowed: int, hidden: int, score: float, share: float) -> Answer:
    """Judge `answer(allowed, hidden, score, share)`, exercise ex-low-enough."""
    odds = share / (1 - share)
    mistakes = {
        "the allowed keys' own score is not used": math.log(allowed / hidden * odds),
        "the allowed keys keep a share of 1; what leaks is missing there": score
        + math.log(allowed / hidden * share),
        "the number of hidden keys is not used": score + math.log(allowed * odds),
        "the number of allowed keys is not used": score + math.log(odds / hidden),
    }
    right = score + math.log(allowed / hidden * odds)
    return Answer(
        right, "How large are the exponentials of all hidden keys, next to those of all keys?", mistakes, 1e-4
    )


@judge
def check_packed_mask(answer: Callable[[Tensor], Tensor]) -> str:
    """Judge `answer(sentence)`, exercise ex-packed-mask, also inside a real layer."""
    torch.manual_seed(0)
    layer = MultiHeadAttention(d_model=8, num_heads=2).double()
    for numbers in ([0, 0, 0, 1, 1, 2, 2], [4, 4, 4], [0, 1, 2, 3]):
        size, what = len(numbers), f"the mask for sentence={numbers}"
        wanted = [[j <= i and numbers[j] == numbers[i] for j in range(size)] for i in range(size)]
        mask = expect_tensor(answer(torch.tensor(numbers)), what=what)
        whole = torch.tensor(wanted) | torch.ones(size, size, dtype=torch.bool).tril()
        same = torch.tensor(numbers)[:, None] == torch.tensor(numbers)
        mistakes = {
            "later positions of the own sentence may be read": same,
            "earlier sentences may be read": whole,
        }
        expect_mask(mask, torch.tensor(wanted), what=what, mistakes=mistakes)
        x = torch.randn(1, size, 8, dtype=torch.float64)
        alone = []
        for number in dict.fromkeys(numbers):
            part = x[:, torch.tensor(numbers) == number]
            alone.append(layer(part, part, part, torch.ones(part.size(1), part.size(1)).tril().bool()))
        expect_close(layer(x, x, x, mask), torch.cat(alone, dim=1), what=f"the layer's output with {what}")
    return "packed in one row, each sentence gets the same outputs as alone."


@judge
def check_reads(answer: Callable[[Layer, Tensor], Tensor]) -> str:
    """Judge `answer(layer, x)`, exercise ex-leak-detector."""
    tokens = 7
    rng = torch.Generator().manual_seed(0)
    for name, reach, look in _layers(tokens):
        layer = _Mixer(reach, look, rng)
        x = torch.randn(tokens, 3, generator=rng, dtype=torch.float64)
        what = f"your matrix (the layer reads {name})"
        expect_mask(answer(layer, x), reach, what=what, mistakes=_missed(layer, x, reach))
    return "each influence was found, and none that does not exist."


def _layers(tokens: int) -> Iterator[tuple[str, Tensor, Layer]]:
    position = torch.arange(tokens)
    causal = position <= position[:, None]
    corner = torch.zeros(tokens, tokens, dtype=torch.bool)
    corner[0, -1] = True
    yield "its past", causal, torch.clone
    yield "every position", causal | ~causal, torch.clone
    yield "one position too far", position <= position[:, None] + 1, torch.clone
    yield "only what comes later", ~causal, torch.clone
    yield "its past, with a leak from the last position to the first", causal | corner, torch.clone
    yield "the signs of its past, so that its derivatives are 0", causal, torch.sign
    yield "its past, but only inputs beyond 10,000", causal, lambda x: x.where(x.abs() > 1e4, 0.0)


def _missed(layer: Layer, x: Tensor, reach: Tensor) -> dict[str, Tensor]:
    """Return what is found by looking at derivatives, at sums of features, or at small inputs only."""
    jacobian: Tensor = torch.autograd.functional.jacobian(layer, x)
    summed: Tensor = torch.autograd.functional.jacobian(lambda x: layer(x).sum(dim=-1), x)
    small = torch.zeros_like(reach)
    for key in range(len(x)):
        changed = x.clone()
        changed[key] *= -1
        small[:, key] = (layer(changed) != layer(x)).any(dim=-1)
    corner = reach.clone()
    corner[0, -1] = False
    return {
        "the inputs never become large": small,
        "you look at derivatives, which are 0 where the layer is flat": jacobian.abs().sum(dim=(1, 3)) > 0,
        "the outputs are summed over their features, where influences cancel": summed.abs().sum(dim=-1) > 0,
        "the influence of the last position on the first is missed": corner,
    }


class _Mixer(nn.Module):
    """Mix positions as a boolean matrix allows; some influences cancel in the sum over the features."""

    def __init__(self, reach: Tensor, look: Layer, rng: torch.Generator) -> None:
        super().__init__()
        self.look = look
        self.mixing = reach * (torch.rand(reach.shape, generator=rng, dtype=torch.float64) + 0.5)
        self.features = torch.tensor([[1, -1, 0], [2, 0, -2], [0, 3, -3]], dtype=torch.float64)

    def forward(self, x: Tensor) -> Tensor:
        """Return sums over positions whose features, added together, always give zero."""
        return self.mixing @ self.look(x) @ self.features
