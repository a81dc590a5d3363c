"""The checks of the exercises on multi-head attention (chapter 5)."""

import copy
from collections.abc import Callable
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, allclose, equal

from annotated_transformer.book.exercises.answers import Answer, Answers, predictions
from annotated_transformer.book.exercises.inputs import draw_normal, mistaken_attention
from annotated_transformer.book.exercises.rules import PACKAGE, expect_without
from annotated_transformer.book.exercises.verdict import (
    expect,
    expect_close,
    expect_no_mistake,
    judge,
    plural,
)
from annotated_transformer.model.multi_head_attention import MultiHeadAttention

Batch = tuple[Tensor, Tensor, Tensor, Tensor]
MultiHead = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, int], Tensor]


def _layer(*sizes: int, **options: int | bool) -> MultiHeadAttention:
    """Return a layer in float64 whose parameters, biases too, are random."""
    layer = MultiHeadAttention(*sizes, **options).double()  # type: ignore[arg-type]
    with torch.no_grad():
        for seed, parameter in enumerate(layer.parameters()):
            parameter.copy_(draw_normal(seed, *parameter.shape))
    return layer


@predictions(
    put="your prediction",
    shows="heads come before queries, weights are queries × keys, and the output is as wide as the model.",
)
def check_shapes() -> Answers:
    """Judge the predicted shapes, exercise ex-predict-shapes, by those of a layer."""
    layer = MultiHeadAttention(12, 3, d_k=5, d_v=2).double()
    seen: dict[str, object] = {}

    def note(name: str) -> Callable[..., None]:
        return lambda module, inputs, output: seen.update({name: tuple(output.shape)})

    layer.attention.get_submodule("weights").register_forward_hook(note("weights"))
    layer.attention.register_forward_hook(note("heads"))
    layer.to_output.register_forward_pre_hook(
        lambda module, inputs: seen.update(concat=tuple(inputs[0].shape))
    )
    query, memory = draw_normal(0, 2, 4, 12), draw_normal(0, 2, 7, 12)
    seen["queries"] = tuple(layer.project_query(query).shape)
    seen["output"] = tuple(layer(query, memory, memory).shape)
    seen["parameters"] = sum(parameter.numel() for parameter in layer.parameters())
    wide, keys = "a head is taken to be as wide as its queries", "there is one for each key"
    return {
        "queries": Answer(seen["queries"], "The axis of the heads comes before that of the queries.",
            {"the axes of the heads and of the queries are swapped": (2, 4, 3, 5),
            "the heads still lie side by side": (2, 4, 15),
            "the width is divided by the number of heads, although d_k is given": (2, 3, 4, 4)}),
        "weights": Answer(seen["weights"],
            "Each head has its own weights, with a row for each query and a column for each key.",
            {"rows and columns are swapped": (2, 3, 7, 4), "the heads are taken to share one map": (2, 4, 7),
            "the keys are taken to be as many as the queries": (2, 3, 4, 4)}),
        "heads": Answer(seen["heads"], "Each head returns one vector of width d_v for each query.",
            {wide: (2, 3, 4, 5), keys: (2, 3, 7, 2)}),
        "concat": Answer(seen["concat"], "The heads lie side by side, so their widths add up.",
            {wide: (2, 4, 15), keys: (2, 7, 6), "only one head is left": (2, 4, 2)}),
        "output": Answer(seen["output"], "The output is as wide as the model.",
            {"the output map is left out": (2, 4, 6), keys: (2, 7, 12)}),
        "parameters": Answer(seen["parameters"],
            "The matrices need not be square: how wide are all queries, keys, and values together?",
            {"the four matrices are taken to be square": 576, "the output map is left out": 432,
            "one head is counted": 168, "biases are counted; there are none": 552}),
    }  # fmt: skip


@judge
def check_split_heads(answer: Callable[[Tensor, int], Tensor]) -> str:
    """Check `answer(projected, num_heads)`, exercise ex-split-heads."""
    for batch, tokens, heads, width in ((2, 5, 3, 7), (1, 4, 1, 6), (3, 1, 2, 5)):
        projected = torch.arange(batch * tokens * heads * width, dtype=torch.float64)
        projected = projected.view(batch, tokens, heads * width)
        result = answer(projected, heads)
        wanted = torch.stack(projected.chunk(heads, dim=-1), dim=1)
        what = f"the result for shape {tuple(projected.shape)} and {heads} heads"
        if isinstance(result, Tensor) and result.numel() == projected.numel() and not _same(result, wanted):
            mixed = _same(result, projected.view(batch, heads, tokens, width))
            expect(not mixed, f"in {what}, a head mixes the columns of several heads; cut the columns first.")
            strided = _same(result, projected.view(batch, tokens, width, heads).permute(0, 3, 1, 2))
            expect(not strided, f"in {what}, a head's columns lie {heads} apart; they should be adjacent.")
            swapped = result.shape == wanted.transpose(1, 2).shape
            expect(not swapped, f"{what} has the axes (batch, tokens, heads, d_k); heads come before tokens.")
        mistakes = {"only the first sentence is returned": wanted[:1]}
        expect_close(result, wanted, what=what, tolerance=0.0, mistakes=mistakes)
    return "each head has its own columns of every token."


def _same(result: Tensor, other: Tensor) -> bool:
    return result.shape == other.shape and equal(result.to(other.dtype), other)


@judge
def check_repaired(answer: MultiHead) -> str:
    """Check the repaired function: exercise ex-debug-heads."""
    _expect_multi_head(answer, "the repaired function")
    return "the features are split, not the tokens, and the axes go back before the concatenation."


@judge
def check_multi_head(answer: MultiHead) -> str:
    """Check multi-head attention written from scratch: exercise ex-heads-from-scratch."""
    expect_without(answer, PACKAGE, "MultiheadAttention", "multi_head_attention_forward")
    _expect_multi_head(answer, "your function")
    return "it agrees with PyTorch's layer, and for free widths with a loop over the heads."


def _expect_multi_head(answer: MultiHead, name: str) -> None:
    """Compare with PyTorch's function, then, where d_k and d_v are free, with its kernel head by head."""
    for d_model, heads, d_k, d_v in ((12, 1, 12, 12), (12, 3, 4, 4), (12, 3, 5, 2)):
        query, key, value = (draw_normal(seed, 2, n, d_model) for seed, n in enumerate((4, 7, 7)))
        sizes = (d_model, heads * d_k), (d_model, heads * d_k), (d_model, heads * d_v), (heads * d_v, d_model)
        matrices = [0.5 * draw_normal(3 + i, *size) for i, size in enumerate(sizes)]
        wanted = (_by_pytorch if d_k == d_v else _by_kernel)(query, key, value, matrices, heads)
        inputs = [query, key, value, *matrices]
        result = answer(*inputs, heads)  # type: ignore[call-arg, arg-type]
        what = f"{name}, for {plural(heads, 'head')} with d_k={d_k} and d_v={d_v}, 4 queries and 7 keys:"
        both = "heads are cut by one `view`, and joined without swapping the axes back"
        both = "neither bug is repaired" if "repaired" in name else both
        mistakes = _mistaken_multi_head(query, key, value, matrices, heads, both)
        expect_no_mistake(result, mistakes, what=f"{what} the output")
        if isinstance(result, Tensor) and result.shape == wanted.shape:
            alone = answer(*[x[:1] if x.ndim == 3 else x for x in inputs], heads)  # type: ignore[call-arg, arg-type]
            expect(allclose(alone, result[:1]), f"{what} one sentence depends on the other.")
            shifted = torch.cat([inputs[0][:, :-1], inputs[0][:, -1:] + 1], dim=1)
            moved = answer(shifted, *inputs[1:], heads)  # type: ignore[call-arg, arg-type]
            kept = allclose(moved[:, :-1], result[:, :-1])
            expect(kept, f"{what} a change of the last query changes the output of another one.")
        expect_close(result, wanted, what=f"{what} the output", tolerance=1e-8)


def _mistaken_multi_head(
    query: Tensor, key: Tensor, value: Tensor, matrices: list[Tensor], heads: int, both: str
) -> dict[str, object]:
    """Return the outputs after the commonest mistakes, where they differ; two of them are called `both`."""
    if heads == 1:
        return {}
    projected = [x @ matrix for x, matrix in zip((query, key, value), matrices, strict=False)]
    cut = [x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in projected]
    mixed = [x.reshape(len(x), heads, x.size(1), -1) for x in projected]
    read, right = (F.scaled_dot_product_attention(*parts) for parts in (mixed, cut))
    unswapped = right.reshape(len(query), query.size(1), -1) @ matrices[3]

    def joined(heads: Tensor) -> Tensor:
        return heads.transpose(1, 2).flatten(2) @ matrices[3]

    wide = F.scaled_dot_product_attention(cut[0], cut[1], cut[2], scale=query.size(-1) ** -0.5)
    return {
        both: (read.reshape(len(query), query.size(1), -1) @ matrices[3]),
        "each head mixes the columns of several heads: cut the columns, then swap the axes": joined(read),
        "the axes are not swapped back before the heads are joined": unswapped,
        **{mistake: joined(output) for mistake, output in mistaken_attention(*cut).items()},
        "the scores are divided by √d_model; the width of one head is d_k": joined(wide),
    }


def _by_pytorch(query: Tensor, key: Tensor, value: Tensor, matrices: list[Tensor], heads: int) -> Tensor:
    """Return what PyTorch's own multi-head attention returns for these matrices."""
    w_q, w_k, w_v, w_o = (matrix.T for matrix in matrices)
    query, key, value = (x.transpose(0, 1) for x in (query, key, value))
    in_proj = torch.cat([w_q, w_k, w_v])
    output, _ = F.multi_head_attention_forward(
        query, key, value, query.size(-1), heads, in_proj, None, None, None, False, 0.0, w_o, None
    )
    return output.transpose(0, 1)


def _by_kernel(query: Tensor, key: Tensor, value: Tensor, matrices: list[Tensor], heads: int) -> Tensor:
    """Return the concatenation of heads that PyTorch's kernel computes one by one, times the last matrix."""
    columns = zip(*(matrix.chunk(heads, dim=1) for matrix in matrices[:3]), strict=True)
    read = [F.scaled_dot_product_attention(query @ q, key @ k, value @ v) for q, k, v in columns]
    return torch.cat(read, dim=-1) @ matrices[3]


@judge
def check_one_head_errors(answer: Callable[[Tensor], Tensor]) -> str:
    """Check `answer(weights)` by least squares on uncorrelated contents: exercise ex-three-pointers."""
    for numbers in ([0.5, 0.5], [0.2, 0.8], [0.5, 0.3, 0.2], [1 / 3] * 3, [0.7, 0.1, 0.1, 0.05, 0.05]):
        weights = torch.tensor(numbers, dtype=torch.float64)
        contents = torch.linalg.qr(draw_normal(0, 64, len(numbers))).Q * 64**0.5  # each column has variance 1
        mixture = contents @ weights[:, None]
        rest = contents - mixture @ torch.linalg.lstsq(mixture, contents).solution
        rounded = [round(number, 2) for number in numbers]
        wanted = rest.square().mean(dim=0)
        both = weights.square() + (1 - weights).square()
        mistakes = {
            "the error is taken to be one minus the weight": 1 - weights,
            "the formula is that for two items": (1 - weights).square() / both,
            "the mean of the errors is returned": wanted.mean(),
            "the squares of the weights are not divided by their sum": 1 - weights.square(),
            "these are the shares that are recovered, not the errors": 1 - wanted,
        }
        what = f"the result for weights {rounded}"
        expect_close(answer(weights), wanted, what=what, tolerance=1e-9, mistakes=mistakes)
    return "with p items the errors sum to p − 1, however the weight is divided."


@judge
def check_contributions(answer: Callable[[MultiHeadAttention, Tensor], Tensor]) -> str:
    """Check `answer(layer, x)`, for layers without and with bias: exercise ex-contributions."""
    for bias in (False, True):
        layer = _layer(6, 3, d_k=5, d_v=2, bias=bias)
        before, x = copy.deepcopy(layer), draw_normal(9, 2, 4, 6)
        with torch.no_grad():
            result = answer(layer, x)
            wanted = torch.stack([_only_head(before, head, x) for head in range(3)])
        pairs = zip(layer.parameters(), before.parameters(), strict=True)
        same = all(equal(new, old) for new, old in pairs)
        expect(same, "your code changed the layer's parameters; leave it as it was.")
        what = f"the result for a layer {'with' if bias else 'without'} biases"
        if bias and isinstance(result, Tensor) and result.shape == wanted.shape:
            extra, given = result - wanted, before.to_output.bias.detach()
            for share in (given, given / 3):
                shared = allclose(extra, share.expand_as(extra))
                why = "has the bias of the output map in each term; it belongs to no head."
                expect(not shared, f"{what} {why}")
        own = before.attention(before.project_query(x), *before.project_memory(x, x)).detach().transpose(0, 1)
        alike = before(x, x, x).detach() / 3
        mistakes: dict[str, object] = {
            "the output is divided evenly among the heads": torch.stack([alike] * 3),
            "these are the heads themselves; each still has to pass through its part of W^O": own,
        }
        if bias:
            bare = MultiHeadAttention(6, 3, d_k=5, d_v=2).double().requires_grad_(False)
            bare.load_state_dict({n: p for n, p in before.state_dict().items() if "bias" not in n})
            silent = torch.stack([_only_head(bare, head, x) for head in range(3)])
            mistakes["the biases of queries, keys, and values are left out; they belong to a head"] = silent
        expect_close(result, wanted, what=what, tolerance=1e-8, mistakes=mistakes)
    return "each head adds a term of its own; with the bias of the output map they sum to the output."


def _only_head(layer: MultiHeadAttention, head: int, x: Tensor) -> Tensor:
    """Return how much the output changes when W^O, otherwise zero, reads one head."""
    alone = copy.deepcopy(layer)
    with torch.no_grad():
        alone.to_output.weight.zero_()
        silent: Tensor = alone(x, x, x)
        width = alone.to_output.in_features // alone.num_heads
        own = slice(head * width, (head + 1) * width)
        alone.to_output.weight[:, own] = layer.to_output.weight[:, own]
    output: Tensor = alone(x, x, x)
    return output - silent


@judge
def check_pointers(answer: Callable[[], MultiHeadAttention], draw_batch: Callable[..., Batch]) -> str:
    """Check the layer that `answer()` builds on batches of `draw_batch(rng, size)`: ex-pointers-by-hand.

    The answer of `draw_batch`, both contents, is expected in the last features of the layer's output.
    """
    layer = answer()
    expect(isinstance(layer, MultiHeadAttention), f"return a MultiHeadAttention, not {type(layer).__name__}.")
    query, key, value, target = draw_batch(torch.Generator().manual_seed(1), 4096)
    with torch.no_grad():
        output = layer.to(query.dtype)(query, key, value)[..., -target.size(-1) :]
    rest = (output - target).square().flatten(0, -2).mean(dim=0)
    bounds = (0, target.size(-1) // 2, target.size(-1))
    errors = [rest[start:end].mean().item() for start, end in pairwise(bounds)]
    places = zip(("first", "second"), errors, strict=True)
    told = " and ".join(f"{error:.2f} for the {place} item named" for place, error in places)
    hint = ""
    if max(errors) >= 0.01:
        layer.to_query.weight.data.mul_(100.0)
        loud = (layer(query, key, value)[..., -target.size(-1) :] - target).square().mean().item()
        hint = " With scores 100 times as large, both would be read." if loud < 0.01 else ""
    expect(max(errors) < 0.01, f"the mean squared error should be less than 0.01, but it is {told}.{hint}")
    return "two heads, each with a query of its own, bring back both items."
