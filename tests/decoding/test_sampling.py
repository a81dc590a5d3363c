"""Sampling: tokens are drawn with the model's probabilities, after the logits processors."""

import math
import re
from collections.abc import Callable

import pytest
import torch

from annotated_transformer.decoding.sampling import Temperature, TopK, TopP, sample
from annotated_transformer.fast.kv_cache import FastKeyValueCache
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import pad
from annotated_transformer.text.tokenizer import EOS_ID

PROBABILITIES = [0.05, 0.5, 0.15, 0.3]  # of EOS and three words
DRAWS = 2003


def logits() -> torch.Tensor:
    scores = [-math.inf, -math.inf, *(math.log(p) + 7 for p in PROBABILITIES)]
    return torch.tensor([scores], dtype=torch.float64)


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def chi_square(drawn: torch.Tensor, expected: list[float]) -> float:
    """Return Pearson's statistic of the drawn tokens: about 3 ± 2.4 if their frequencies are as expected."""
    counts = torch.bincount(drawn, minlength=6)[2:].double()
    wanted = torch.tensor(expected) * len(drawn)
    return ((counts - wanted) ** 2 / wanted)[wanted > 0].sum().item()


@pytest.mark.equation("eq-temperature")
@pytest.mark.parametrize(
    ("processors", "expected"),
    [
        ([], PROBABILITIES),
        ([Temperature(0.5)], [p**2 / 0.365 for p in PROBABILITIES]),
        ([TopK(2)], [0, 0.625, 0, 0.375]),
        ([TopP(0.9)], [0, 0.5 / 0.95, 0.15 / 0.95, 0.3 / 0.95]),
        ([Temperature(0.5), TopP(0.9)], [0, 0.25 / 0.34, 0, 0.09 / 0.34]),
        ([TopP(0.9), Temperature(0.5)], [0, 0.25 / 0.3625, 0.0225 / 0.3625, 0.09 / 0.3625]),
    ],
)
def test_law_tokens_are_sampled_with_their_probabilities(model, script, processors, expected):
    src = torch.full((DRAWS, 1), EOS_ID)
    always = script(lambda said: logits()[0].tolist() if not said else [0.0, 0, 99, 0, 0, 0])
    first = sample(model, src, generator=rng(), logits_processors=processors, decoder=always)[:, 0]
    assert chi_square(first, expected) < 16.3  # exceeded by one seed in a thousand
    assert chi_square(first, [0.25] * 4) > 100  # otherwise any frequencies would pass
    assert set(first.tolist()) == {token for token, p in enumerate(expected, start=2) if p > 0}


ALL = {2, 3, 4, 5}


@pytest.mark.parametrize(
    ("kind", "value", "left"),
    [
        *((TopK, k, left) for k, left in ((1, {3}), (2, {3, 5}), (3, {3, 4, 5}), (4, ALL), (9, ALL))),
        *((TopP, p, left) for p, left in ((0.49, {3}), (0.51, {3, 5}), (0.81, {3, 4, 5}), (0.96, ALL))),
        *((TopP, p, left) for p, left in ((1e-20, {3}), (1.0, ALL))),  # 1 - 1e-20 rounds to 1
    ],
)
def test_law_the_fewest_most_likely_are_kept_as_they_are(kind: type, value: float, left: set[int]):
    found = kind(value)(logits())
    assert {int(token) for token in found[0].isfinite().nonzero()} == left
    assert torch.equal(found[0, sorted(left)], logits()[0, sorted(left)])


@pytest.mark.parametrize("count", [1, 3, 5, 7, 9])
def test_law_no_more_are_kept_of_the_equally_likely(count: int):
    equal = torch.zeros(2, 8, dtype=torch.float64)  # each probability is 1/8, exactly
    kept = [min(count, 8)] * 2
    assert TopK(count)(equal).isfinite().sum(dim=1).tolist() == kept
    assert TopP(min(count / 8, 1.0))(equal).isfinite().sum(dim=1).tolist() == kept
    rounded = torch.tensor([[0.0, -60.0, -80.0, 1.0]])
    assert torch.equal(TopP(1.0)(rounded), rounded)


def test_law_samples_depend_on_the_generator(stirred: Callable[..., Transformer], sources: list[list[int]]):
    model, src = stirred(norm="pre"), pad(sources)
    first, again, other = (sample(model, src, generator=rng(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(first, sample(model, src, generator=rng(1), decoder=FastKeyValueCache))
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    sample(model, src, generator=rng())
    assert torch.equal(torch.rand(3), expected)  # the global generator is not used
    torch.manual_seed(1)
    assert torch.equal(sample(model, src), first)  # it is, if there is no other


def test_law_with_a_generator_of_its_own_a_sample_does_not_depend_on_the_others(stirred, sources):
    model = stirred(norm="pre")
    alone = [sample(model, pad([ids]), generator=[rng(row)])[0] for row, ids in enumerate(sources)]
    together = sample(model, pad(sources), generator=[rng(row) for row in range(len(sources))])
    for expected, found in zip(alone, together, strict=True):
        assert torch.equal(found[: len(expected)], expected)
    assert len({len(ids) for ids in alone}) > 1  # so that some end before others
    shared = sample(model, pad(sources), generator=rng(0))
    assert not torch.equal(shared[:, :9], together[:, :9])


@pytest.mark.message
def test_message_not_one_generator_for_each_source(stirred, sources: list[list[int]]):
    message = f"^1 generators for {len(sources)} sources; give one for each, or one for all$"
    with pytest.raises(ValueError, match=message):
        sample(stirred(), pad(sources), generator=[rng()])


@pytest.mark.message
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_message_there_is_nothing_to_draw(stirred, sources: list[list[int]], value: float):
    """The model's logits are numbers, and there are no probabilities."""
    steps = []

    def process(logits: torch.Tensor) -> torch.Tensor:
        steps.append(len(logits))
        return logits.index_fill(0, torch.tensor([1]), value) if len(steps) == 3 else logits

    with pytest.raises(FloatingPointError, match="the model's logits are NaN; its weights are damaged"):
        sample(stirred(), pad(sources), generator=rng(), logits_processors=[process, TopK(9)])
    assert len(steps) == 3


@pytest.mark.message
@pytest.mark.parametrize(
    ("kind", "values", "sentence"),
    [
        (Temperature, (0.0, -1.0, math.nan, math.inf), "tau={} is not a temperature, .* positive number; as"),
        (Temperature, (1e-310, 1e-38, 1e39, 1e300), "tau={} is too extreme; give a temp"),
        (TopK, (0, -2, 2.5), "k={} keeps no token; for top-k, give a positive whole number"),
        (TopP, (0.0, -0.1, 1.1, math.nan), r"p={} is not in \(0, 1\], as top-p needs it; 1 keeps every"),
    ],
)
def test_message_a_parameter_out_of_range(kind: type, values: tuple[float, ...], sentence: str):
    for value in values:
        with pytest.raises(ValueError, match=f"^{sentence.format(re.escape(str(value)))}"):
            kind(value)


@pytest.mark.parametrize("tau", [1e-30, 1e30])
def test_law_the_most_extreme_temperatures_give_probabilities(tau: float):
    logits = torch.tensor([[3.0, 90.0, -math.inf, 2.0]])
    found = Temperature(tau)(logits).softmax(dim=-1)
    expected = [0.0, 1.0, 0.0, 0.0] if tau < 1 else [1 / 3, 1 / 3, 0.0, 1 / 3]
    torch.testing.assert_close(found, torch.tensor([expected]))
