"""Every exercise has a check, and every check has answers, which `tests/answers.py` judges."""

import ast
import re
import runpy
from pathlib import Path

import jupytext

from annotated_transformer.book.exercises import expect, judge
from tests.answers import faults

ROOT = Path(__file__).resolve().parents[2]
CHECKS = sorted((ROOT / "annotated_transformer" / "book" / "exercises").glob("*.py"))
MODULES = sorted((Path(__file__).parent / "exercises").glob("test_*.py"))


def checks():
    """Return the qualified names of the exercise checks in the package: "attention.check_scale"."""
    trees = {path.stem: ast.parse(path.read_text("utf-8")) for path in CHECKS}
    nodes = [(stem, node) for stem, tree in trees.items() for node in tree.body]
    found = [(stem, node.name) for stem, node in nodes if isinstance(node, ast.FunctionDef)]
    return {f"{stem}.{name}" for stem, name in found if name.startswith("check_")}


def test_law_every_check_has_answers():
    right = [check for path in MODULES for check, *_ in runpy.run_path(str(path)).get("RIGHT", [])]
    assert {f"{check.__module__.rpartition('.')[2]}.{check.__name__}" for check in right} == checks()


def test_law_every_exercise_has_a_check_of_the_package():
    used = set()
    for path in sorted((ROOT / "chapters" / "src").glob("*.md")):
        cells = [cell for cell in jupytext.read(path, fmt="md:myst").cells if cell.cell_type == "code"]
        code = "\n".join(cell.source for cell in cells)
        modules = re.findall(r"\bbook\.exercises(?:\.| import )(\w+)", code)
        for cell in cells:
            if "exercise" in cell.metadata.get("tags", []):
                names = re.findall(r"\bcheck_\w+(?=\()", cell.source)
                used |= {f"{module}.{name}" for name in names for module in modules}
    assert used == checks()


@judge
def check_sign(answer):
    """Judge a function that returns the sign of a number."""
    expect(answer(-3) == -1, "the sign of minus three is minus one.")
    return "it has the right sign."


def test_law_answers_that_are_judged_wrongly_are_reported():
    def right(x):
        return x // abs(x)

    wrong = {"sign: the number": (check_sign, lambda x: x), "sign: none": (check_sign, lambda x: 0)}
    assert faults([(check_sign, right)], wrong, {"sign: none": "of minus three"}) == []
    assert faults([(check_sign, abs)], wrong)[0].startswith(
        "check_sign: the right answer: ✗ Not yet: the sign"
    )
    assert faults([(check_sign, right)], {**wrong, "sign: right": (check_sign, right)}) == [
        "sign: right: ✓ it has the right sign."
    ]
    few = {"sign: the number": wrong["sign: the number"], "sign: typo": (check_sign, lambda x: x.sgn)}
    assert faults([(check_sign, right)], few, {"sign: the number": "four", "sign: other": ""}) == [
        "sign: the number: ✗ Not yet: the sign of minus three is minus one.",
        "sign: typo: ✗ Not yet: your code stopped with AttributeError: 'int' object has no attribute 'sgn'",
        "sign: other: no such mistake",
        "check_sign: 0 wrong answers rejected",
    ]
