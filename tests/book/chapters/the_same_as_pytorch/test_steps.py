"""Steps are observed in order, and gaps are relative to the largest number."""

import math

import pytest
import torch
from torch import nn

from annotated_transformer.book.chapters.the_same_as_pytorch.steps import (
    first_above,
    outputs,
    relative_gap,
    step_gaps,
    steps,
)


@pytest.mark.equation("eq-gap")
def test_law_a_gap_is_the_largest_difference_over_the_largest_number():
    a, b = torch.tensor([1.0, -3.0, 8.0]), torch.tensor([1.5, -3.0, -10.0])
    assert relative_gap(a, b) == 1.8
    assert relative_gap(b, a) == 18 / 8
    assert relative_gap(a, a) == 0


def test_oracle_each_step_of_our_model_is_the_one_of_pytorchs(twins, ids):
    found = step_gaps(*twins, steps(2), *ids)
    assert len(found) == 1 + 2 * 4 + 1 + 2 * 6 + 1
    assert max(found.values()) < 1e-13
    assert first_above(found, 1e-12) is None
    ours, _ = twins
    shapes = {n: tuple(o[0].shape) for n, o in outputs(ours, ["dropout", "encoder"], *ids).items()}
    assert shapes == {"dropout": (3, 7, 20), "encoder": (3, 7, 20)}


def test_law_a_module_that_is_called_twice_has_two_outputs_and_no_hook_stays():
    layer = nn.Linear(2, 2)
    both = nn.Sequential(layer, layer)
    seen = outputs(both, ["0", "1"], torch.ones(3, 2))
    assert len(seen["0"]) == 2  # the hook of each name is on the same module
    assert torch.equal(seen["0"][0], layer(torch.ones(3, 2)))
    assert not layer._forward_hooks


def test_law_an_output_is_kept_as_it_was_if_the_model_goes_on_in_place():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True))
    seen = outputs(model, ["0"], x := torch.tensor([[-1.0, 2.0], [3.0, -4.0]]))
    assert torch.equal(seen["0"][0], model[0](x))
    assert (seen["0"][0] < 0).any()


def test_law_the_first_gap_above_a_tolerance_counts_and_nan_is_above():
    assert first_above({"a": 1e-15, "b": 1e-3, "c": 1.0}, 1e-12) == "b"
    assert first_above({"a": 1e-15, "b": math.nan}, 1e-12) == "b"
    assert first_above({"a": 1e-15}, 1e-12) is None
