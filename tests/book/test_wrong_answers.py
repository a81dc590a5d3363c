"""Every exercise check rejects at least two plausible wrong answers, with an explanation.

A module `tests/book/checks/test_….py` lists them in one dictionary at its top level:

    WRONG = {
        "softmax: without the exponential": (check_softmax, proportions),
        "pointers: too quiet": (check_pointers, lambda: pointers(loudness=1.0), draw_batch),
    }

A key names the mistake; a value is the check, the answer, and further arguments of the check, if it takes
more. An answer that is empty, or that crashes for an unrelated reason, is not plausible and does not count.
"""

import ast
import re
import runpy
from collections import Counter
from pathlib import Path

import jupytext
import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECKS = sorted((ROOT / "annotated_transformer" / "book" / "checks").glob("*.py"))
MODULES = sorted((Path(__file__).parent / "checks").glob("test_*.py"))
NEEDED = 2
NOT_PLAUSIBLE = re.compile(r"still empty|stopped with (NameError|AttributeError|SyntaxError)|^\W*$")


def checks():
    """Return the qualified names of the exercise checks in the package: "attention.check_scale"."""
    trees = {path.stem: ast.parse(path.read_text("utf-8")) for path in CHECKS}
    nodes = [(stem, node) for stem, tree in trees.items() for node in tree.body]
    found = [(stem, node.name) for stem, node in nodes if isinstance(node, ast.FunctionDef)]
    return {f"{stem}.{name}" for stem, name in found if name.startswith("check_")}


def rejected(wrong):
    """Return the number of plausible wrong answers that each check rejects, and the answers that pass."""
    counted, passed = Counter(), []
    for mistake, (check, *arguments) in wrong.items():
        verdict = check(*arguments)
        if verdict.passed:
            passed.append(mistake)
        elif not NOT_PLAUSIBLE.search(verdict.message):
            counted[f"{check.__module__.rpartition('.')[2]}.{check.__name__}"] += 1
    return counted, passed


def test_law_every_check_rejects_two_plausible_wrong_answers():
    total, wrongly = Counter(), []
    for module in MODULES:
        counted, passed = rejected(runpy.run_path(str(module)).get("WRONG", {}))
        total += counted
        wrongly += passed
    assert wrongly == []
    assert {name: total[name] for name in checks() if total[name] < NEEDED} == {}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_law_the_same_checks_have_right_and_wrong_answers(module):
    found = runpy.run_path(str(module))
    if "RIGHT" in found:
        assert {check for check, *_ in found["WRONG"].values()} == set(found["RIGHT"])


def test_law_every_exercise_has_a_check_of_the_package():
    used = set()
    for path in sorted((ROOT / "chapters" / "src").glob("*.md")):
        cells = [cell for cell in jupytext.read(path, fmt="md:myst").cells if cell.cell_type == "code"]
        code = "\n".join(cell.source for cell in cells)
        modules = re.findall(r"\bbook\.checks(?:\.| import )(\w+)", code)
        for cell in cells:
            if "exercise" in cell.metadata.get("tags", []):
                names = re.findall(r"\bcheck_\w+(?=\()", cell.source)
                used |= {f"{module}.{name}" for name in names for module in modules}
    assert used
    assert used - checks() == set()
    assert checks() - used == set(), "a check that no exercise calls"


class Answered:
    def __init__(self, message, passed=False):
        self.passed, self.message = passed, message


def check_sign(answer, message):
    return Answered(message, answer > 0)


def test_law_empty_and_passing_answers_do_not_count_as_wrong():
    wrong = {
        "right": (check_sign, 1, "well done"),
        "negative": (check_sign, -1, "the number is negative."),
        "empty": (check_sign, -1, "your answer is still empty; put it where"),
        "typo": (check_sign, -1, "your code stopped with NameError: nam"),
        "overflow": (check_sign, -1, "your code stopped with OverflowError: math"),
    }
    assert rejected(wrong) == (Counter({f"{__name__.rpartition('.')[2]}.check_sign": 2}), ["right"])


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_law_the_names_of_wrong_answers_say_what_is_wrong(module):
    for mistake in runpy.run_path(str(module)).get("WRONG", {}):
        assert len(mistake.split()) >= 2, mistake
