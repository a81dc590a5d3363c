"""A check returns a verdict for every answer, right or wrong; of a traceback, it shows the reader's lines."""

import math
from functools import partial

import pytest
import torch

from annotated_transformer.book.exercises import Verdict, expect, expect_close, judge
from annotated_transformer.book.exercises.answers import Answer
from annotated_transformer.book.exercises.verdict import (
    EMPTY,
    expect_equal,
    expect_number,
    expect_tuple,
    explained,
)


@judge
def check_double(answer):
    expect(callable(answer), "give a function.")
    given = torch.tensor([1.0, 2.0])
    mistakes = {"the number is squared": given**2, "only the first is doubled": 2 * given[:1]}
    with explained(ZeroDivisionError, "nothing has to be divided."):
        result = answer(given)
    expect_close(result, 2 * given, what="the double of [1, 2]", mistakes=mistakes)
    return "it doubles."


def empty(x):
    raise NotImplementedError("your turn")


def test_law_a_right_answer_is_praised():
    verdict = check_double(lambda x: x * 2)
    assert repr(verdict) == "✓ it doubles."
    assert verdict.passed
    assert verdict
    for other in (torch.Tensor.tolist, torch.Tensor.numpy, tuple, lambda x: [*x]):
        assert check_double(lambda x, other=other: other(x * 2))


CLOSE = " That is close: is something rounded, or is a small term in the wrong place?"


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (3, "give a function."),
        (empty, "your answer is still empty; put it where NotImplementedError is raised."),
        (lambda x: None, "the double of [1, 2] should be a tensor, not None. Is a `return` missing?"),
        (lambda x: ["two", 4], "the double of [1, 2] should be a tensor, not list."),
        (lambda x: x[:1], "the double of [1, 2] should have shape (2,), not (1,)."),
        (lambda x: x * 3, "the double of [1, 2] should be 4 at [1], not 6."),
        (lambda x: x * 2 + 1e-3, "the double of [1, 2] should be 2 at [0], not 2.001." + CLOSE),
        (lambda x: x * x, "the double of [1, 2] should be different. It looks as if the number is squared."),
        (lambda: None, "the check could not use your answer: TypeError: "),
    ],
)
def test_law_a_wrong_answer_gets_the_next_step(answer, sentence):
    verdict = check_double(answer)
    assert not verdict
    assert verdict.message.startswith(sentence)
    assert "\n" not in verdict.message


def stops_inside(x):
    return torch.cat([x, torch.zeros(2, 2)])


def calls_another(x):
    half = x / 2
    return stops_inside(half)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            lambda x: x.dubble(),
            "your code stopped with AttributeError: 'Tensor' object has no attribute 'dubble'\n"
            "  line N of your answer, in <lambda>: lambda x: x.dubble(),",
        ),
        (
            calls_another,
            "your code stopped with RuntimeError: Tensors must have same number of dimensions: got 1 and 2\n"
            "  line N of your answer, in calls_another: return stops_inside(half)\n"
            "  line N of your answer, in stops_inside: return torch.cat([x, torch.zeros(2, 2)])",
        ),
        (
            lambda x: 1 / 0,
            "nothing has to be divided.\n  line N of your answer, in <lambda>: lambda x: 1 / 0,",
        ),
    ],
    ids=["method", "inner", "explained"],
)
def test_law_an_exception_shows_the_readers_lines_and_no_others(answer, message):
    lines = check_double(answer).message.splitlines()
    found = [lines[0], *(f"  line N{line.partition('line ')[2].lstrip('0123456789')}" for line in lines[1:])]
    assert "\n".join(found) == message


def test_law_the_line_of_a_recursion_is_shown_once():
    def forever(x):
        return forever(x)

    first, *lines = check_double(forever).message.splitlines()
    assert first.startswith("your code stopped with RecursionError")
    assert len(lines) == 1


def test_law_a_failing_call_can_be_repeated():
    verdict = check_double(lambda x: x * 3)
    assert repr(verdict).endswith("not 6.\n  (The inputs of this call are in _.arguments.)")
    assert [argument.tolist() for argument in verdict.arguments] == [[1, 2]]
    assert check_double(empty) == Verdict(False, EMPTY)
    assert "arguments" not in repr(check_double(empty))


X = torch.tensor([1.0, 0.1], dtype=torch.float64)
OTHER = "should be different. It looks as if"
EXPECTATIONS = {
    "half": partial(
        expect_number,
        wanted=3.5,
        what="the half of 7",
        mistakes={"it is rounded": 3, "it is cut": 3, "it is doubled": 14},
    ),
    "even": partial(
        expect_equal, wanted=False, what="whether 7 is even", mistakes={"odd and even are swapped": True}
    ),
    "count": partial(expect_number, wanted=81_920, what="the count"),
    "loss": partial(expect_close, wanted=torch.tensor(0.25), what="the loss"),
    "third": partial(
        expect_close,
        wanted=X / 3,
        what="the third",
        tolerance=1e-9,
        mistakes={"the sum is taken": X.sum() / 3, "the third is rounded": X / 3 + 1e-12},
    ),
    "tuple": partial(expect_tuple, size=2),
}


@pytest.mark.parametrize(
    ("name", "result", "message"),
    [
        ("half", 3.5, "right."),
        ("half", torch.tensor([3.5]).numpy()[0], "right."),
        ("half", 3, f"the half of 7 {OTHER} it is rounded, or as if it is cut."),
        ("half", 14, f"the half of 7 {OTHER} it is doubled."),
        ("half", "3.5", "the half of 7 should be a number, not str."),
        ("half", math.nan, "the half of 7 should be 3.5, not nan."),
        ("even", False, "right."),
        ("even", True, f"whether 7 is even {OTHER} odd and even are swapped."),
        ("count", torch.tensor(81_920), "right."),
        ("count", 4_096, "the count should be 81,920, not 4,096."),
        ("loss", 0.25, "right."),
        ("loss", torch.tensor(0.25, requires_grad=True), "right."),
        ("loss", 2, "the loss should be 0.25, not 2."),
        ("third", X / 3, "right."),
        ("third", X.float() / 3, "right."),
        ("third", X / 3 + 1e-6, "the third should be 0.033333333 at [1], not 0.033334333."),
        ("third", X / 3 * (1 + 5e-7), "the third should be 0.333333333 at [0], not 0.3333335."),
        ("third", X.sum() / 3, f"the third {OTHER} the sum is taken."),
        ("tuple", (1, 2), "right."),
        ("tuple", None, "the result should be a tuple of 2, not None. Is a `return` missing?"),
        ("tuple", [X], "the result should be a tuple of 2, not list of 1."),
    ],
)
def test_law_a_verdict_says_what_to_return_and_no_mistake_that_gives_what_is_right(name, result, message):
    @judge
    def check_result(answer):
        EXPECTATIONS[name](answer())
        return "right."

    assert check_result(lambda: result).message.startswith(message)


def test_law_interrupting_the_kernel_still_interrupts_a_check():
    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        check_double(interrupted)


@pytest.mark.message
def test_message_two_mistakes_of_a_declared_answer_give_the_same():
    answer = Answer(8, "Think.", {"it is doubled": 4, "it is squared": 4, "it is cubed": 8, "it is right": 8})
    with pytest.raises(ValueError, match=r"mistakes give 4: 'It looks as if it is doubled.' and .* squared"):
        answer.exported()
