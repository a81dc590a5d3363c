"""A warning names the line that called the package, however deep it is raised."""

import inspect

import pytest
import torch

from annotated_transformer.decoding import greedy_search
from annotated_transformer.evaluation import sacrebleu_13a
from tests.small_training import model


@pytest.mark.parametrize(
    "call",
    [
        lambda: sacrebleu_13a(["läuft"], ["la\u0308uft"]),
        lambda: greedy_search(model(), torch.tensor([[4, 5]])),  # through decorators and contexts
    ],
)
def test_law_a_warning_names_the_line_of_the_caller(call):
    with pytest.warns(UserWarning, match="compare again|add it") as caught:
        call()
    place = caught[0].filename, caught[0].lineno
    assert place == (__file__, inspect.getsourcelines(call)[1])
