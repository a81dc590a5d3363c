"""A check returns a sentence for every answer, right or wrong, and no traceback."""

import pytest
import torch

from annotated_transformer.book.exercises import Verdict, expect, expect_close, judge


@judge
def check_double(answer):
    """Judge a function that doubles."""
    expect(callable(answer), "give a function.")
    expect_close(answer(torch.tensor([1.0, 2.0])), torch.tensor([2.0, 4.0]), what="the double of [1, 2]")
    return "it doubles."


def empty(x):
    raise NotImplementedError("your turn")


def test_law_a_right_answer_is_praised():
    verdict = check_double(lambda x: x * 2)
    assert repr(verdict) == "✓ it doubles."
    assert verdict.passed
    assert verdict


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (3, "give a function."),
        (empty, "your answer is still empty; put it where NotImplementedError is raised."),
        (lambda x: None, "the double of [1, 2] should be a tensor, not NoneType."),
        (lambda x: x[:1], "the double of [1, 2] has shape (1,), it should have (2,)."),
        (
            lambda x: x * 3,
            "the double of [1, 2] has the right shape, but differs by 2.0000 from what it should be.",
        ),
        (
            lambda x: x / 0 - x / 0,
            "the double of [1, 2] has the right shape, but differs by inf from what it should be.",
        ),
        (
            lambda x: x.dubble(),
            "your code stopped with AttributeError: 'Tensor' object has no attribute 'dubble'",
        ),
        (lambda: None, "your code stopped with TypeError: "),
        (lambda x: [][1], "your code stopped with IndexError: list index out of range"),
    ],
)
def test_law_a_wrong_answer_gets_the_next_step_and_no_traceback(answer, sentence):
    verdict = check_double(answer)
    assert not verdict
    assert repr(verdict).startswith(f"✗ Not yet: {sentence}")
    assert "\n" not in repr(verdict)


def test_law_interrupting_the_kernel_still_interrupts_a_check():
    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        check_double(interrupted)


def test_law_a_check_keeps_its_name_and_its_docstring():
    assert (check_double.__name__, check_double.__doc__) == ("check_double", "Judge a function that doubles.")


def test_law_verdicts_compare_by_what_they_say():
    assert Verdict(True, "yes.") == Verdict(True, "yes.")
    assert Verdict(True, "yes.") != Verdict(False, "yes.")
