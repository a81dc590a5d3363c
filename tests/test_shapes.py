"""The checker of shapes refuses what it has not seen, and calls the function alone with what it has."""

from contextlib import nullcontext

import jaxtyping
import pytest
from beartype import beartype
from jaxtyping import Float
from torch import Tensor, ones

from tests.shapes import check_once

CALLS: list[tuple[object, ...]] = []


def counted(function):
    """Check as beartype does, and count the checks."""
    checked = beartype(function)
    return lambda *args, **kwargs: (CALLS.append(args), checked(*args, **kwargs))[1]


def test_law_the_same_shapes_are_checked_once_and_others_are_refused_whatever_passed_before():
    @check_once(typechecker=counted)
    def cut(x: Float[Tensor, "rows columns"], size: int) -> Float[Tensor, "rows {size}"]:
        return x[:, :size]

    CALLS.clear()
    for _ in range(3):
        assert cut(ones(2, 5), 3).shape == (2, 3)
    assert len(CALLS) == 2, "one check of the arguments, and one with the result"
    for arguments in [
        (ones(2, 5), 7),
        (ones(2, 2), 3),
        (ones(2, 5).long(), 3),
        (ones(5), 3),
        (ones(2, 5), 3.0),
    ]:
        with pytest.raises(jaxtyping.TypeCheckError):
            cut(*arguments)


def test_law_what_has_contents_is_checked_with_each_call():
    @check_once(typechecker=counted)
    def longest(words: list[list[int]]) -> int:
        return max(map(len, words))

    CALLS.clear()
    for _ in range(3):
        assert longest([[2], [3, 5]]) == 2
    assert len(CALLS) == 6
    with pytest.raises(jaxtyping.TypeCheckError):
        longest([["a"], ["b"]])


def test_law_a_result_of_another_shape_is_refused_after_one_that_passed():
    starts = [0, 0, 1, 1, 0]

    @check_once(typechecker=counted)
    def cut(x: Float[Tensor, "rows columns"]) -> Float[Tensor, " columns"]:
        return x[0, starts.pop() :]

    for refused in (False, True, True, False, False):
        with pytest.raises(jaxtyping.TypeCheckError, match="return value") if refused else nullcontext():
            assert cut(ones(2, 3)).shape == (3,)


def test_law_functions_of_two_modules_with_the_same_code_are_checked_by_their_own_annotations():
    for module, right, wrong in (("a", ones(3), 3), ("b", 3, ones(3))):
        annotation = "Tensor" if module == "a" else "int"
        names = {"__name__": module, "Tensor": Tensor}
        exec(f"def same(x: {annotation}):\n    return x", names)
        same = check_once(names["same"], typechecker=counted)
        assert same(right) is right
        with pytest.raises(jaxtyping.TypeCheckError):
            same(wrong)
