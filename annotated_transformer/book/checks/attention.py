"""Judges of the exercises on scaled dot-product attention."""

from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.book.checks.verdict import expect, expect_close, judge
from annotated_transformer.model.attention import attention_weights


def _random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@judge
def check_softmax(answer: Callable[[list[float]], list[float]]) -> str:
    """Judge `answer(scores)`, a softmax in plain Python: exercise ex-softmax."""
    small = [0.0, 1.0, -2.0, 0.5]
    expect_close(torch.tensor(answer(small)), torch.tensor(small).softmax(0), what=f"the softmax of {small}")
    large = [1000.0, 999.0, 0.0]
    expect_close(torch.tensor(answer(large)), torch.tensor(large).softmax(0), what=f"the softmax of {large}")
    low = [-1000.0, -1001.0]
    expect_close(torch.tensor(answer(low)), torch.tensor(low).softmax(0), what=f"the softmax of {low}")
    return "subtracting the largest score changes no weight, and no exponential overflows."


@judge
def check_temperature(answer: Callable[[Tensor, Tensor, float], Tensor]) -> str:
    """Judge `answer(query, key, temperature)`, weights at a temperature: exercise ex-temperature."""
    query, key = _random(3, 4), _random(5, 4, seed=1)
    expect_close(answer(query, key, 1.0), attention_weights(query, key), what="the result at temperature 1")
    expect_close(
        answer(query, key, 5.0), attention_weights(query / 5.0, key), what="the result at temperature 5"
    )
    sharp = answer(query, key, 0.001)
    expect(bool(sharp.isfinite().all()), "at temperature 0.001 the result is not finite.")
    best = sharp.max(dim=-1).values.min().item()
    expect(best > 0.99, "at temperature 0.001 each query should keep one key.")
    return "a low temperature keeps the best key, a high one averages all, and 1 is the paper's attention."


@judge
def check_scale(answer: Callable[[int, float, float], float]) -> str:
    """Judge `answer(d_k, query_std, key_std)`, the factor for unit variance: exercise ex-scale."""
    for d_k, query_std, key_std in ((64, 1.0, 1.0), (64, 3.0, 1.0), (256, 0.5, 2.0), (16, 2.0, 5.0)):
        query, key = _random(20_000, d_k) * query_std, _random(20_000, d_k, seed=1) * key_std
        variance = ((query * key).sum(dim=-1) * answer(d_k, query_std, key_std)).var().item()
        expect(
            abs(variance - 1) < 0.05,
            f"at d_k={d_k}, deviations {query_std} and {key_std}, the scores have variance {variance:.2f}.",
        )
    return "the scores have unit variance, whatever the width and the deviations of query and key."
