"""Checks of the exercises of the chapter on comparing with PyTorch."""

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, allclose, equal, nn

from annotated_transformer.book.chapters.the_same_as_pytorch.laws import attention_by_loops
from annotated_transformer.book.chapters.the_same_as_pytorch.steps import first_above, step_gaps, steps
from annotated_transformer.book.chapters.the_same_as_pytorch.suspects import SUSPECTS, suspect
from annotated_transformer.book.chapters.the_same_as_pytorch.torch_model import TorchModel, pair
from annotated_transformer.book.exercises.answers import Answer, Answers, formula, predictions
from annotated_transformer.book.exercises.inputs import draw_normal
from annotated_transformer.book.exercises.rules import expect_without
from annotated_transformer.book.exercises.verdict import (
    expect,
    expect_close,
    expect_tensor,
    judge,
    named_type,
)
from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.attention import attention_weights
from annotated_transformer.model.transformer import Transformer


@predictions(
    put="five times True or False",
    shows="a sum is rounded once, and two sums in another order are rounded differently.",
)
def check_equal() -> Answers:
    """Judge which statements about sums are predicted to hold, exercise ex-equal."""
    a, b, c = draw_normal(0, 3, 1000)
    big = torch.tensor(2.0**24)
    return {
        "0.1 + 0.2 == 0.3": Answer(0.1 + 0.2 == 0.3,
            "None of the three is a sum of few powers of 2, so each is rounded."),
        "0.5 + 0.25 == 0.75": Answer(0.5 + 0.25 == 0.75,
            "All three are sums of few powers of 2, so nothing is rounded."),
        "a + b == b + a": Answer(equal(a + b, b + a), "The exact sum is the same, and it is rounded once."),
        "(a + b) + c == a + (b + c)": Answer(equal((a + b) + c, a + (b + c)),
            "The first roundings are of different sums."),
        "2**24 + 1 in float32": Answer(bool(big + 1 != big),
            "From 2^24 on, float32 has every second whole number."),
    }  # fmt: skip


@judge
def check_ulps(answer: Callable[[Tensor, Tensor], Tensor]) -> str:
    """Judge `answer(a, b)`, exercise ex-ulps, by steps from each number to the next."""
    start = torch.tensor([1.0, 1.9999999, 0.75, 1e-3, 3e30])
    counts = torch.tensor([1, 3, 0, 17, 5])
    a, b = start, start.clone()
    for place, count in enumerate(counts.tolist()):
        for _ in range(count):
            b[place] = torch.nextafter(b[place], torch.tensor(math.inf))
    spacing = 2.0**-23
    mistakes: dict[str, object] = {
        "2^−23 is taken as the distance everywhere; it grows with the number": ((b - a) / spacing).double(),
        "the relative difference is divided by 2^−23; in one binade, the distance is the same": (
            (b - a) / a / spacing
        ).double(),
        "the number of steps has no sign; take absolute values": -counts.double(),
    }
    result = expect_tensor(answer(a, b), what="the result").double()
    expect_close(result, counts.double(), what="the number of ulps", tolerance=1e-9, mistakes=mistakes)
    back = expect_tensor(answer(b, a), what="the result").double()
    same = equal(back, counts.double())
    expect(same, "if the two tensors change places, the distance changes; take absolute values.")
    return "each number of steps is right, and across a power of 2, too."


Find = Callable[[nn.Module, nn.Module, list[tuple[str, str]], Tensor, Tensor, float], str | None]


def _small_pair() -> tuple[Transformer, TorchModel, dict[str, tuple[str, str]], tuple[Tensor, Tensor]]:
    config = TransformerConfig(
        vocab_size=23, max_length=16, num_layers=2, d_model=20, d_ff=28, num_heads=4,
        activation="gelu", attention_bias=True,
    )  # fmt: skip
    ours, theirs = pair(config, 5)
    rng = torch.Generator().manual_seed(6)
    src, tgt = (torch.randint(3, 23, (3, tokens), generator=rng) for tokens in (7, 6))
    src[1, 4:], tgt[2, 3:] = 0, 0
    return ours, theirs, steps(config.num_layers), (src, tgt)


@cache
def _gaps_of(number: int | None) -> Mapping[str, float]:
    """Return the gaps of a suspect, or of the right copy."""
    ours, theirs, pairs, ids = _small_pair()
    return step_gaps(ours if number is None else suspect(ours, number), theirs, pairs, *ids)


@judge
def check_first_difference(answer: Find) -> str:
    """Judge `answer(ours, theirs, pairs, src, tgt, tolerance)`, exercise ex-first."""
    ours, theirs, pairs, ids = _small_pair()
    names = list(pairs.values())
    for number in (None, 1, 2, 3, 4):
        model = ours if number is None else suspect(ours, number)
        found = _gaps_of(number)
        label = first_above(found, 1e-10)
        wanted = None if label is None else pairs[label][0]
        result = answer(model, theirs, names, *ids, 1e-10)
        hooked = any(m._forward_hooks for both in (model, theirs) for m in both.modules())
        expect(not hooked, "a hook is still registered after the call; remove it.")
        expect(
            number is not None or result is None,
            f"for two models that agree, the answer should be None, not {result!r}; use the tolerance.",
        )
        worst = pairs[max(found, key=found.__getitem__)][0]
        last = [pairs[each][0] for each, size in found.items() if size > 1e-10][-1:]
        largest = "It is the step with the largest gap; the first one above the tolerance is asked for."
        hint = largest if result == worst != wanted else ""
        hint = "It is the last step that differs, not the first." if [result] == last != [wanted] else hint
        expect(
            result == wanted,
            f"for suspect {number}, the first module that differs is {wanted}, not {result}. {hint}".strip(),
        )
    (place, _), spoiled = names[1], copy.deepcopy(ours)
    spoiled.get_submodule(f"{place}.to_value").get_parameter("bias").data.fill_(math.nan)
    expect(
        answer(spoiled, theirs, names, *ids, 1e-10) == place,
        f"for a model whose outputs are NaN from {place} on, that is the first. No NaN is > a number.",
    )
    return "it finds the first module of four suspects, and none in the right copy."


Copies = Callable[..., Tensor]


@judge
def check_copies(attention: Copies, network: Copies, norm: Copies) -> str:
    """Judge three repaired copies of PyTorch's layers, exercise ex-copies."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(12, 3, 17, 0.0, activation="gelu", batch_first=True).double()
    x = draw_normal(1, 2, 5, 12)
    rng = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=rng, dtype=torch.float64) / 3)
    hidden = torch.tensor([[False] * 5, [False, False, False, True, True]])
    _judge_attention(attention, layer.self_attn, x, hidden)
    inner = layer.linear1(x)
    wanted = layer.linear2(F.gelu(inner))
    with _uncalled(layer):
        result = network(layer, x)
    what, given = "the output of the network", layer.linear2(F.gelu(inner, approximate="tanh"))
    _expect_changed(result, given, what)
    mistakes: dict[str, object] = {"the activation is ReLU": layer.linear2(inner.relu())}
    expect_close(result, wanted, what=what, tolerance=1e-10, mistakes=mistakes)
    centered = x - x.mean(-1, keepdim=True)
    variance, gamma, beta = x.var(-1, keepdim=True, correction=0), layer.norm1.weight, layer.norm1.bias
    eps = layer.norm1.eps
    unbiased = x.var(-1, keepdim=True)
    mistakes = {
        "the variance is divided by n − 1": gamma * centered / (unbiased + eps).sqrt() + beta,
        "eps is added to the deviation, and not to the variance": gamma * centered / (variance.sqrt() + eps)
        + beta,
    }
    wanted, what = layer.norm1(x), "the output of the norm"
    with _uncalled(layer.norm1):
        result = norm(layer.norm1, x)
    _expect_changed(result, gamma * centered / (unbiased.sqrt() + eps) + beta, what)
    expect_close(result, wanted, what=what, tolerance=1e-10, mistakes=mistakes)
    return "all three copies agree with PyTorch's layers to 1e-10."


def _judge_attention(answer: Copies, theirs: nn.MultiheadAttention, x: Tensor, hidden: Tensor) -> None:
    wanted = theirs(x, x, x, key_padding_mask=hidden)[0]
    mistakes: dict[str, object] = {
        "the mask is not used": theirs(x, x, x)[0],
        "the heads are cut out of the rows: transpose tokens and heads": _cut_rows(theirs, x, ~hidden),
    }
    # a sentence without padding has no visible key under an inverted mask, and its rows are NaN
    padded, what = hidden.any(dim=1), "the output of the attention"
    inverted = theirs(x, x, x, key_padding_mask=~hidden)[0][padded]
    with _uncalled(theirs):
        result = expect_tensor(answer(theirs, x, hidden), what=what)
    if result.shape == wanted.shape and bool(result[~padded].isnan().all()):
        _expect_changed(result[padded], _cut_rows(theirs, x, hidden)[padded], what)
        expect(not allclose(result[padded], inverted), "the mask is inverted: True means hidden here.")
    expect_close(result, wanted, what=what, tolerance=1e-10, mistakes=mistakes)


@contextmanager
def _uncalled(module: nn.Module) -> Iterator[None]:
    """Refuse an answer that calls a module which it should replace."""
    calls: list[nn.Module] = []
    with module.register_forward_pre_hook(lambda called, _: calls.append(called)):
        yield
    expect(not calls, f"the answer calls PyTorch's {type(module).__name__} itself; repair the copy instead.")


def _expect_changed(result: Tensor, given: Tensor, what: str) -> None:
    """Refuse the copy as it was given, without naming its mistakes."""
    same = isinstance(result, Tensor) and result.shape == given.shape and allclose(result, given)
    expect(not same, f"{what} is that of the copy as it was given: no mistake in it is repaired yet.")


def _cut_rows(theirs: nn.MultiheadAttention, x: Tensor, visible: Tensor) -> Tensor:
    """Return attention whose heads are cut out of the rows, with the mask used as it should be."""
    projected = F.linear(x, theirs.in_proj_weight, theirs.in_proj_bias).chunk(3, dim=-1)
    query, key, value = (part.reshape(len(x), theirs.num_heads, x.size(1), -1) for part in projected)
    heads = attention_weights(query, key, visible[:, None, None]) @ value
    output: Tensor = theirs.out_proj(heads.transpose(1, 2).flatten(2))
    return output


@predictions(put="the label of a step", shows="up to that step, each agrees with PyTorch's model.")
def check_suspects() -> Answers:
    """Judge where the wrong lines of suspects 2 to 4 are said to be, exercise ex-suspects."""
    answers = {}
    for number in range(2, len(SUSPECTS) + 1):
        gaps = _gaps_of(number)
        right = first_above(gaps, 1e-10)
        mistakes = {
            f"{step} is taken to be the first that differs; an earlier step does, too": step
            for step, gap in gaps.items()
            if gap > 1e-10 and step != right
        }
        answers[str(number)] = Answer(
            right, "This step agrees with PyTorch's.", mistakes, choices=tuple(gaps)
        )
    return answers


@formula((8,), (2,), (3,), (5,), shows="from there on, 1 is half of a step, and the tie is rounded back.")
def check_stall(digits: int) -> Answer:
    """Judge `answer(digits)`, exercise ex-stall, by counting in formats of that many digits."""
    total = 0
    while (after := _rounded(total + 1, digits)) != total:
        total = after
    mistakes = {
        "one digit is missing: with 2 digits, 3 is still a number (1.1 in binary, times 2)": 2
        ** (digits - 1),
        "the next sum is missing: it is a power of 2, which needs only one digit": 2**digits - 1,
        "there is one digit too many: halfway between two numbers, the even one is taken": 2 ** (digits + 1),
    }
    return Answer(total, "From which number on is 1 only half of a step?", mistakes)


def _rounded(number: int, digits: int) -> int:
    """Return a whole number rounded to some binary digits, a tie to the even neighbor."""
    step = 2 ** max(0, number.bit_length() - digits)
    return round(number / step) * step


Attention = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def _variant(
    scale: float = 0.5, *, late: bool = False, opposite: bool = False, low: float = -math.inf, shift: int = 0
) -> Attention:
    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        mask = ~mask if opposite else mask
        scores = query @ key.mT * query.size(-1) ** -scale
        if not late:
            scores = scores.masked_fill(~mask, low)
        weights = scores.softmax(dim=-1).nan_to_num()
        return (weights * mask if late else weights) @ value.roll(shift, dims=-2)

    return attend


MUTANTS: dict[str, Attention] = {
    "the scores are not divided by √d_k": _variant(0.0),
    "the scores are divided by d_k": _variant(1.0),
    "the mask is inverted": _variant(opposite=True),
    "the mask is applied after the softmax": _variant(late=True),
    "masked scores are 0 instead of −∞": _variant(low=0.0),
    "the values are shifted by one key": _variant(shift=1),
}


@judge
def check_test(answer: Callable[[Attention], bool]) -> str:
    """Judge `answer(attention)`, a test, by right and wrong attentions, exercise ex-mutants."""
    expect_without(answer, "annotated_transformer", "scaled_dot_product_attention")
    right = {
        "the package's": lambda q, k, v, m: attention_weights(q, k, m) @ v,
        "one by loops": attention_by_loops,
    }
    for name, attention in right.items():
        verdict = answer(attention)
        expect(
            isinstance(verdict, bool | Tensor),
            f"the test should return True or False, not {named_type(verdict)}",
        )
        expect(bool(verdict), f"the test fails for {name} attention, which is right up to rounding.")
    alive = [name for name, attention in MUTANTS.items() if answer(attention)]
    expect(not alive, f"{len(alive)} of {len(MUTANTS)} wrong programs pass your test: {'; '.join(alive)}.")
    return f"it passes two right programs and fails {len(MUTANTS)} wrong ones."
