"""Checks of the exercises of the chapter on Add & Norm (sections 3.1 and 5.4 of the paper)."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotated_transformer.book.exercises.inputs import draw_normal
from annotated_transformer.book.exercises.verdict import expect, expect_close, judge
from annotated_transformer.model.normalization import LayerNorm

Function = Callable[[Tensor], Tensor]
TOKENS = {"10x + 100": (190, 110, 130, 130), "-x": (-9, -1, -3, -3), "equal features": (7, 7, 7, 7)}


@judge
def check_scales(answer: Sequence[Sequence[float | int]] | None) -> str:
    """Judge the predictions for three tokens, exercise ex-predict-scale."""
    expect(answer is not None, "your answer is still empty; put three rows of four numbers in its place.")
    predictions = torch.as_tensor(np.asarray(answer, dtype=float))
    expect(
        predictions.shape == (3, 4),
        f"your answer has shape {tuple(predictions.shape)}, it should have (3, 4).",
    )
    wanted = F.layer_norm(torch.tensor(list(TOKENS.values()), dtype=torch.float64), (4,))
    for name, got, right in zip(TOKENS, predictions, wanted, strict=True):
        place = int((got - right).abs().argmax())
        expect(
            bool((got - right).abs().max() <= 0.01),
            f"for {name}, feature {place} (counted from 0) is not {got[place]:g}. What happens to the mean "
            "and to the deviation?",
        )
    return "a norm forgets a token's mean and deviation, and keeps the direction of what is left."


@judge
def check_add_and_norm(answer: Callable[[Tensor, Function, Tensor, Tensor, float], Tensor]) -> str:
    """Judge `answer(x, sublayer, gain, bias, eps)`, exercise ex-add-and-norm."""
    rng = torch.Generator().manual_seed(0)
    cases: list[tuple[tuple[int, ...], float, Function]] = [
        ((2, 3, 5), 1e-5, torch.sin),
        ((7,), 1e-5, torch.exp),
        ((2, 3, 4, 5), 1e-5, torch.square),
        ((3, 5), 0.5, torch.sin),
    ]
    for shape, eps, sublayer in cases:
        x = torch.randn(*shape, generator=rng, dtype=torch.float64)
        gain, bias = torch.randn(2, shape[-1], generator=rng, dtype=torch.float64)
        wanted = F.layer_norm(x + sublayer(x), shape[-1:], gain, bias, eps)
        result = answer(x, sublayer, gain, bias, eps)
        expect_close(result, wanted, what=f"the output for shape {shape}, eps={eps:g}", tolerance=1e-9)
    ones, zeros = torch.ones(4, dtype=torch.float64), torch.zeros(4, dtype=torch.float64)
    flat = answer(3 * ones[None], torch.zeros_like, ones, zeros, 1e-5)
    expect_close(flat, zeros[None], what="the output for a token with equal features")
    return "it agrees with PyTorch, for any leading axes and for a constant token."


@judge
def check_pre_norm(answer: Callable[[Tensor, Function, Function, Function], Tensor]) -> str:
    """Judge `answer(x, sublayer, norm, dropout)`, exercise ex-debug-pre-norm."""
    x = draw_normal(0, 2, 3, 8)
    norm = LayerNorm(8).double()
    silent = answer(x, torch.zeros_like, norm, torch.clone)
    expect_close(silent, x, what="the output when the sub-layer adds zeros (it should be x)")
    dropped = answer(x, torch.sin, norm, torch.zeros_like)
    expect_close(dropped, x, what="the output when dropout sets everything to 0 (it should be x)")
    wanted = x + norm(x).sin().square()
    result = answer(x, torch.sin, norm, torch.square)  # not linear, so that the order matters
    expect_close(result, wanted, what="the output for an ordinary sub-layer", tolerance=1e-9)
    return "the stream passes unchanged, and dropout is applied to the sub-layer's output only."


@judge
def check_norm_derivative(answer: Function) -> str:
    """Judge `answer(x)`, exercise ex-norm-jacobian."""
    rng = torch.Generator().manual_seed(0)
    for d, shift in ((4, 0.0), (7, 5.0), (2, 1.0)):
        x = 3 * torch.randn(d, generator=rng, dtype=torch.float64) + shift
        wanted = torch.autograd.functional.jacobian(lambda x, d=d: F.layer_norm(x, (d,), eps=0.0), x)
        derivative = answer(x)
        expect_close(derivative, wanted, what=f"the derivative for a token of {d} features", tolerance=1e-9)
    return "it agrees with automatic differentiation."


@judge
def check_last_token(answer: Callable[[Tensor, Tensor], Tensor]) -> str:
    """Judge `answer(x, y)`, exercise ex-recover-word."""
    for tokens, seed in ((3, 0), (6, 1), (9, 2)):
        rng = torch.Generator().manual_seed(seed)
        sentence = 2 * torch.randn(tokens, 5, generator=rng, dtype=torch.float64) + 1
        outputs = F.batch_norm(sentence, None, None, training=True)
        token = answer(sentence[:-1], outputs[:-1])
        what = f"the last token of a sentence of {tokens}"
        expect_close(token, sentence[-1], what=what, tolerance=1e-6)
    return "the outputs of the earlier tokens gave the last one away."


@judge
def check_folded(answer: Callable[[LayerNorm, nn.Linear], tuple[Tensor, Tensor]]) -> str:
    """Judge `answer(norm, linear)`, exercise ex-fold-norm."""
    rng = torch.Generator().manual_seed(0)
    for d_in, d_out in ((5, 3), (4, 4)):
        norm, linear = LayerNorm(d_in).double(), nn.Linear(d_in, d_out).double()
        for parameter in (*norm.parameters(), *linear.parameters()):
            nn.init.normal_(parameter, generator=rng)
        x = torch.randn(2, 7, d_in, generator=rng, dtype=torch.float64)
        wanted = linear(norm(x)).detach()
        weight, bias = answer(norm, linear)
        what = f"the folded layer for {d_in} features in and {d_out} out"
        result = F.linear(F.layer_norm(x, (d_in,)), weight, bias).detach()
        expect_close(result, wanted, what=what, tolerance=1e-9)
    return "the folded layer does the work of gain and bias."
