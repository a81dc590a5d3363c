"""The experts of the toy task share the work, and a loss spreads it."""

import pytest

from annotated_transformer.book.chapters.from_here_to_modern_models import experts
from annotated_transformer.modern.mixture_of_experts import parameters_per_token


def test_law_loads_sum_to_one_and_balance_spreads_them():
    uneven, even = (experts.fit_successors(balance=balance, seed=0, updates=60) for balance in (0.0, 1.0))
    for model in (uneven, even):
        assert sum(experts.loads(model)) == pytest.approx(1)
        assert experts.loads(model) == sorted(experts.loads(model), reverse=True)
    assert experts.loads(even)[0] < experts.loads(uneven)[0]
    assert parameters_per_token(even.mixture) < sum(p.numel() for p in even.mixture.parameters())


def test_law_vectors_with_a_common_part_prefer_the_same_experts_before_any_training():
    together, apart = (
        experts.fit_successors(balance=0.0, seed=0, updates=0, shared=shared) for shared in (3.0, 0.0)
    )
    assert experts.loads(together)[0] > 0.4 > experts.loads(apart)[0]
