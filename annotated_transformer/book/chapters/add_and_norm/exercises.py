"""Checks of the exercises of the chapter on Add & Norm (sections 3.1 and 5.4 of the paper)."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotated_transformer.book.exercises.answers import Answer, Answers, predictions
from annotated_transformer.book.exercises.inputs import draw_normal
from annotated_transformer.book.exercises.rules import PACKAGE, expect_without
from annotated_transformer.book.exercises.verdict import expect_close, expect_tuple, judge
from annotated_transformer.model.normalization import LayerNorm

Function = Callable[[Tensor], Tensor]


@predictions(
    put="three rows of four numbers",
    shows="a norm forgets a token's mean and deviation, and keeps the direction of what is left.",
)
def check_scales() -> Answers:
    """Judge the predictions for three tokens, exercise ex-predict-scale."""
    clue, ones = "What happens to the mean and to the deviation?", torch.ones(4)

    def normed(token: tuple[int, ...]) -> Tensor:
        return F.layer_norm(torch.tensor(token).double(), (4,))

    def answer(right: Tensor, mistakes: dict[str, Tensor]) -> Answer:
        rows = {why: row.tolist() for why, row in mistakes.items()}
        return Answer(right.tolist(), clue, rows, tolerance=0.01)

    larger, negative, equal = (190, 110, 130, 130), (-9, -1, -3, -3), (7, 7, 7, 7)
    sample = "the variance is divided by 3 instead of 4"
    large, turned = normed(larger), normed(negative)
    return {
        str(larger): answer(large,
            {"nothing is divided by the deviation, so that a factor of 10 stays": 10 * large,
            "the mean is not subtracted, so that 100 stays": large + 100, sample: large * 0.75**0.5}),
        str(negative): answer(turned,
            {"the sign is lost; the deviation is positive, so a factor of −1 stays": -turned,
            sample: turned * 0.75**0.5}),
        str(equal): answer(normed(equal), {"the mean is not subtracted": 7 * ones,
            "0 / 0 is taken to be 1; ε keeps it 0": ones}),
    }  # fmt: skip


@judge
def check_add_and_norm(answer: Callable[[Tensor, Function, Tensor, Tensor, float], Tensor]) -> str:
    """Judge `answer(x, sublayer, gain, bias, eps)`, exercise ex-add-and-norm."""
    expect_without(answer, PACKAGE, "layer_norm", "LayerNorm")
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
        result, total = answer(x, sublayer, gain, bias, eps), x + sublayer(x)
        centered, one = total - total.mean(dim=-1, keepdim=True), shape[-1:]
        sample, var = (total.var(dim=-1, correction=c, keepdim=True) for c in (1, 0))
        alone, plain = F.layer_norm(sublayer(x), one, gain, bias, eps), F.layer_norm(total, one, eps=eps)
        first, pooled = F.layer_norm(x, one, gain, bias, eps), F.layer_norm(total, shape, eps=eps)
        mistakes = {
            "the variance is divided by d − 1 instead of d": gain * centered / (sample + eps).sqrt() + bias,
            "ε is added to the root instead of the variance": gain * centered / (var.sqrt() + eps) + bias,
            "x is not added to the sub-layer's output": alone,
            "this is pre-norm: the norm comes before the sub-layer": x + sublayer(first),
            "the gain and the bias are not used": plain,
            "the gain scales the bias as well": gain * (plain + bias),
            "ε is not used": gain * centered / var.sqrt() + bias,
            "the mean is not subtracted": gain * total / (var + eps).sqrt() + bias,
            "the root is missing: centered features are divided by the variance": (
                gain * centered / (var + eps) + bias
            ),
            "the sub-layer's output is normalized alone, and x is added afterwards": x + alone,
            "the mean and the variance are those of all tokens; each token has its own": gain * pooled + bias,
        }
        what = f"the output for shape {shape}, eps={eps:g},"
        expect_close(result, wanted, what=what, tolerance=1e-9, mistakes=mistakes)
    ones, zeros = torch.ones(4, dtype=torch.float64), torch.zeros(4, dtype=torch.float64)
    flat = answer(3 * ones[None], torch.zeros_like, ones, zeros, 1e-5)
    expect_close(flat, zeros[None], what="the output for a token with equal features")
    return "it agrees with PyTorch, for any leading axes and for a constant token."


@judge
def check_pre_norm(answer: Callable[[Tensor, Function, Function, Function], Tensor]) -> str:
    """Judge `answer(x, sublayer, norm, dropout)`, exercise ex-debug-pre-norm."""
    x = draw_normal(0, 2, 3, 8)
    norm = LayerNorm(8).double()
    sublayer, dropout = torch.sin, torch.square  # not linear, so that the order matters
    mistakes = {
        "neither bug is repaired": dropout(norm(x) + sublayer(norm(x))),
        "the stream itself is normalized; only the sub-layer's input should be": (
            norm(x) + dropout(sublayer(norm(x)))
        ),
        "dropout is applied to the stream as well": dropout(x + sublayer(norm(x))),
        "the sub-layer's input is not normalized": x + dropout(sublayer(x)),
        "dropout is not used": x + sublayer(norm(x)),
        "x is not added": dropout(sublayer(norm(x))),
        "the norm comes after the sub-layer": x + dropout(norm(sublayer(x))),
        "this is post-norm: the sum is normalized": norm(x + dropout(sublayer(x))),
        "dropout comes before the sub-layer": x + sublayer(dropout(norm(x))),
        "dropout comes before the norm": x + sublayer(norm(dropout(x))),
    }
    result, what = answer(x, sublayer, norm, dropout), "the output for an ordinary sub-layer"
    expect_close(result, x + dropout(sublayer(norm(x))), what=what, tolerance=1e-9, mistakes=mistakes)
    dropped = answer(x, sublayer, norm, torch.zeros_like)
    expect_close(dropped, x, what="the output when dropout sets everything to 0")
    return "the stream passes unchanged, and dropout is applied to the sub-layer's output only."


@judge
def check_norm_derivative(answer: Function) -> str:
    """Judge `answer(x)`, exercise ex-norm-jacobian."""
    rng = torch.Generator().manual_seed(0)
    for d, shift in ((4, 0.0), (7, 5.0), (2, 1.0)):
        x = 3 * torch.randn(d, generator=rng, dtype=torch.float64) + shift
        wanted = torch.autograd.functional.jacobian(lambda x, d=d: F.layer_norm(x, (d,), eps=0.0), x)
        deviation, eye = x.std(correction=0), torch.eye(d, dtype=torch.float64)
        hat = (x - x.mean()) / deviation
        mistakes = {
            "the mean and the deviation are taken as constants; both depend on x": eye / deviation,
            "the deviation is taken as a constant; it depends on x": (eye - 1 / d) / deviation,
            "the mean is taken as a constant; it depends on x": (eye - hat.outer(hat) / d) / deviation,
            "the division by σ is missing": eye - 1 / d - hat.outer(hat) / d,
            "the variance is divided by d − 1 instead of d": (eye - 1 / d - hat.outer(hat) * (d - 1) / d**2)
            / x.std(),
            "the last term is not divided by d": (eye - 1 / d - hat.outer(hat)) / deviation,
            "the last term is added; its sign is reversed": (eye - 1 / d + hat.outer(hat) / d) / deviation,
            "the last term is x̂_j² / d in each row; it is x̂_i x̂_j / d": (eye - 1 / d - hat**2 / d)
            / deviation,
            "x − μ stands in the last term instead of x̂": (eye - 1 / d - hat.outer(hat) * deviation**2 / d)
            / deviation,
        }
        what = f"the derivative for a token of {d} features"
        expect_close(answer(x), wanted, what=what, tolerance=1e-9, mistakes=mistakes)
    return "it agrees with automatic differentiation."


@judge
def check_last_token(answer: Callable[[Tensor, Tensor], Tensor]) -> str:
    """Judge `answer(x, y)`, exercise ex-recover-word."""
    for tokens, seed in ((3, 0), (6, 1), (9, 2)):
        rng = torch.Generator().manual_seed(seed)
        sentence = 2 * torch.randn(tokens, 5, generator=rng, dtype=torch.float64) + 1
        outputs = F.batch_norm(sentence, None, None, training=True)
        x, y = sentence[:-1], outputs[:-1]
        token = answer(x, y)
        mean, last = sentence.mean(dim=0), sentence[-1]
        mistakes = {
            "this is the last token's output; its input is asked for": outputs[-1],
            "this is the mean of all tokens; the last one remains after the others are subtracted": mean,
            "the mean is multiplied by the number of given tokens, which is one too few": last - mean,
        }
        what = f"the last token of a sentence of {tokens}"
        expect_close(token, last, what=what, tolerance=1e-6, mistakes=mistakes)
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
        weight, bias = expect_tuple(answer(norm, linear), 2)
        normed = F.layer_norm(x, (d_in,))
        folded, evenly = linear.weight * norm.gain, linear.weight * norm.gain.mean()
        plain = linear.bias + linear.weight @ norm.bias
        mistakes = {
            "β is not folded into the bias": F.linear(normed, folded, linear.bias),
            "γ is not folded into the weight": F.linear(normed, linear.weight, plain),
            "γ scales β, too": F.linear(normed, folded, linear.bias + folded @ norm.bias),
            "the weight is scaled by the mean of γ": F.linear(normed, evenly, plain),
        }
        if d_in == d_out:
            by_row = F.linear(normed, linear.weight * norm.gain[:, None], plain)
            mistakes["γ scales the rows of the weight; it belongs to the columns"] = by_row
        what = f"the output of the folded layer for {d_in} features in and {d_out} out"
        expect_close(F.linear(normed, weight, bias), wanted, what=what, tolerance=1e-9, mistakes=mistakes)
    return "the folded layer does the work of gain and bias."
