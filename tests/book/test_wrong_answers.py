"""Every exercise has a check, and every check has answers, which `tests/answers.py` judges."""

import ast
import re
from pathlib import Path

import pytest

from annotated_transformer.book.exercises import expect, judge
from annotated_transformer.book.exercises.verdict import expect_number
from builder.chapters import parsed, written
from tests.answers import UNGRAMMATICAL, faults
from tests.solutions import Solutions, answers_of, as_on_its_page, read

ROOT = Path(__file__).resolve().parents[2]
CHECKS = sorted((ROOT / "annotated_transformer" / "book" / "chapters").glob("*/exercises.py"))
MODULES = sorted((Path(__file__).parent / "chapters").glob("*/test_exercises*.py"))


def checks():
    """Return the qualified names of the exercise checks in the rooms: "masking.check_reads"."""
    trees = {path.parent.name: ast.parse(path.read_text("utf-8")) for path in CHECKS}
    nodes = [(room, node) for room, tree in trees.items() for node in tree.body]
    found = [(room, node.name) for room, node in nodes if isinstance(node, ast.FunctionDef)]
    return {f"{room}.{name}" for room, name in found if name.startswith("check_")}


def test_law_every_check_has_answers():
    right = [check for path in MODULES for check in answers_of(path)[0]]
    assert {f"{check.__module__.split('.')[-2]}.{check.__name__}" for check in right} == checks()
    assert len(checks()) > 100


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.parent.name)
def test_law_right_answers_pass_and_wrong_ones_are_rejected_with_a_reason(path, monkeypatch):
    with as_on_its_page(path):
        assert faults(*answers_of(path)) == []
        for name in ("torch.allclose", "torch.equal", "torch.isclose", "math.isclose", "numpy.allclose"):
            monkeypatch.setattr(name, lambda *_, **__: True)  # a notebook's answers may replace them
        assert not [words for check, ((words, *given), *_) in answers_of(path)[1].items() if check(*given)]


def test_law_every_exercise_has_a_check_of_the_package():
    used = set()
    for path in written(ROOT):
        cells = [cell for cell in parsed(path.read_text("utf-8")).cells if cell.cell_type == "code"]
        code = "\n".join(cell.source for cell in cells)
        modules = re.findall(r"\bbook\.chapters\.(\w+) import [(\w\s,]*?exercises as checks", code)
        for cell in cells:
            if "exercise" in cell.metadata.get("tags", []):
                names = re.findall(r"\bcheck_\w+(?=\()", cell.source)
                used |= {f"{module}.{name}" for name in names for module in modules}
    assert used == checks()


def test_law_nearly_all_solutions_are_executed_and_edited_where_a_text_occurs_once():
    left_out = checks() - {
        f"{path.parent.name}.{check.__name__}" for path in MODULES for check in read(path.parent.name).calls
    }
    assert left_out == {
        "scaled_dot_product_attention.check_temperature",
        "the_same_as_pytorch.check_suspects",
    }
    solved = Solutions("why_attention")
    assert solved.edited("half_life_weight", "2 **", "4 **")(1) == 1 / 4
    assert solved.half_life_weight(1) == 1 / 2
    for old, times in (("3 **", 0), ("distance", 2)):
        with pytest.raises(
            AssertionError, match=rf"'{re.escape(old)}' occurs {times} times in half_life_weight"
        ):
            solved.edited("half_life_weight", old, "4 **")(1)


@judge
def check_exact_root(answer):
    """Judge a square root too strictly."""
    expect(answer(2) == 2**0.5, "the number is not the root.")
    return "it is the root."


@judge
def check_pair(answer):
    """Judge a pair too strictly."""
    expect(answer(2) == (2, 3), "this is not a pair.")
    return "it is a pair."


def test_law_a_check_that_is_too_strict_about_rounding_or_types_is_reported():
    for check, right in ((check_exact_root, lambda x: x**0.5), (check_pair, lambda x: (x, x + 1))):
        assert check(right)
        found, *_ = faults({check: [right]}, {})
        assert found.startswith(f"{check.__name__}: the right answer: ✗ Not yet: ")


@judge
def check_sign(answer):
    """Judge a function that returns the sign of a number."""
    mistakes = {"the number itself is returned": -3, "1 heads are returned": -1.5}
    expect_number(answer(-3), -1, what="the sign of minus three", mistakes=mistakes)
    return "it has the right sign."


def by_division(x):
    return x // abs(x)


def by_comparison(x):
    return (x > 0) - (x < 0)


RIGHT = [by_division, by_comparison]
WRONG = [("the number itself", lambda x: x), ("a number, not list", lambda x: [x])]


@pytest.mark.parametrize(
    ("right", "wrong", "reported"),
    [
        (RIGHT, [], []),
        ([*RIGHT, abs], [], ["check_sign: the right answer: ✗ Not yet: the sign"]),
        (RIGHT, [("sign", by_division)], ["sign: ✓ it has the right sign."]),
        (RIGHT, [("", lambda x: -3)], [": ✗ Not yet: the sign of minus three"]),
        (RIGHT, [("four", lambda x: -3)], ["four: ✗ Not yet: the sign"]),
        (RIGHT, [("should be", lambda x: 0)], ["should be: ✗ Not yet: the sign"]),
        (
            RIGHT,
            [("sgn", lambda x: x.sgn)],
            ["sgn: ✗ Not yet: your code stopped with AttributeError: 'int' object has no attribute 'sgn'"],
        ),
        (RIGHT, [("1 heads", lambda x: -1.5)], ["1 heads: ✗ Not yet: the"]),
    ],
)
def test_law_answers_that_are_judged_wrongly_are_reported(right, wrong, reported):
    found = faults({check_sign: right}, {check_sign: WRONG + wrong})
    assert len(found) == len(reported)
    assert all(fault.startswith(start) for fault, start in zip(found, reported, strict=True))


def test_law_too_few_wrong_answers_are_reported():
    assert faults({check_sign: RIGHT}, {}) == ["check_sign: 0 wrong answers rejected"]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("1 head", "1 heads"),
        ("1 allowed key of score 0", "1 allowed keys of score 0"),
        ("d_k=11 heads", "3 head(s)"),
        ("the logits with 7 tokens should have shape (2,)", "the logits with 7 tokens has shape (2,)"),
        ("the gradient of the values is NaN", "the weights after step 1 differs by 0.1"),
        ("an answer, a list", "a answer"),
        ("a list", "an list"),
        ("every 4th column", "every 4rd column"),
        ("so far …", "so far.. It"),
        ("with 2 heads, the output", "with 2 heads,, the output"),
        ("with 2 heads, it", "with 2 heads , it"),
    ],
)
def test_law_grammar_is_looked_at(right, wrong):
    assert not UNGRAMMATICAL.search(right)
    assert UNGRAMMATICAL.search(wrong)
