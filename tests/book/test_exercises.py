"""Every exercise has a stub that its check rejects and a solution that it accepts.

The verdicts are read from the committed notebooks; nbval, in `make test`, executes these again and compares.
A small chapter shows that such verdicts distinguish right from wrong.
"""

import ast
import json
import re
from pathlib import Path

import pytest

from builder.chapters import parsed, written

ROOT = Path(__file__).resolve().parents[2]
SOURCES = written(ROOT)


def exercises(text):
    """Return the tagged cells of each exercise in a chapter, in order: {"ex-a": ["exercise", "solution"]}."""
    found, label, solving = {}, None, None
    for cell in parsed(text).cells:
        tags = set(cell.metadata.get("tags", []))
        if cell.cell_type == "code":
            for tag in ("exercise", "solution"):
                if tag in tags:
                    where = solving if tag == "solution" else label
                    found.setdefault(where or f"{tag} outside", []).append(tag)
            continue
        for line in cell.source.splitlines():
            if new := re.match(r":label: (ex-\S+)", line):
                label = new[1]
                found.setdefault(label, [])
            elif start := re.match(r"(?:```+|:::+)\{solution-start\} (\S+)", line):
                solving = start[1]
            elif "{solution-end}" in line:
                solving = None
    return found


def ending(cell):
    """Return the verdict at the end of a notebook cell, or a description of what is there instead."""
    last = ast.parse("".join(cell["source"])).body[-1]
    called = last.value.func if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) else None
    name = ast.unparse(called) if called else ast.unparse(last)
    if not re.fullmatch(r"(\w+\.)?check_\w+", name):
        return f"{name}, not in a check"
    if "nbval-ignore-output" in cell["metadata"]["tags"]:
        return "a verdict that nbval does not compare"
    results = [output for output in cell["outputs"] if output["output_type"] == "execute_result"]
    return "".join(results[0]["data"]["text/plain"]) if results else "nothing shown"


def judged(notebook):
    """Return the endings of the stubs and solutions in an executed notebook, in order."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    return [ending(cell) for cell in code if {"exercise", "solution"} & set(cell["metadata"].get("tags", []))]


def complaints(text, endings):
    """Report faults in a chapter's exercises."""
    found = exercises(text)
    wrong = [f"{label}: {tags}" for label, tags in found.items() if tags != ["exercise", "solution"]]
    if len(endings) != 2 * len(found):
        return [*wrong, f"{len(endings)} verdicts for {len(found)} exercises"]
    for label, stub, solution in zip(found, endings[::2], endings[1::2], strict=True):
        for end, kind, mark in ((stub, "stub", "✗ "), (solution, "solution", "✓ ")):
            if not end.startswith(mark) or "your code stopped with" in end:
                wrong.append(f"{label}: the {kind} ends in {end}")
    return wrong


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_law_every_stub_fails_and_every_solution_passes(path):
    assert complaints(path.read_text("utf-8"), judged(ROOT / "chapters" / f"{path.stem}.ipynb")) == []


def unsolved_names(text):
    """Return what a chapter's solutions define without `_solution` in its name, and so could overwrite."""
    cells = parsed(text).cells
    solutions = [cell.source for cell in cells if "solution" in cell.metadata.get("tags", [])]
    names = set()
    for statement in ast.parse("\n".join(solutions)).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names.add(statement.name)
        for target in getattr(statement, "targets", []):
            names |= {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
    return sorted(name for name in names if not name.endswith("_solution"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_law_running_all_cells_overwrites_no_answer_of_the_reader(path):
    assert unsolved_names(path.read_text("utf-8")) == []


def test_law_a_solution_that_overwrites_an_answer_is_named(small):
    assert unsolved_names(small) == []
    assert unsolved_names(small.replace("_solution", "")) == ["pairs"]


ENDINGS = [
    "✗ Not yet: your answer is still empty; put it where NotImplementedError is raised.",
    "✓ a square has as many rows as columns.",
]


def test_law_the_small_chapters_exercise_is_in_order(small):
    assert exercises(small) == {"ex-square": ["exercise", "solution"]}
    assert complaints(small, ENDINGS) == []


def cell(code, verdict="", tag="solution"):
    """Return an executed cell of a notebook with the verdict that it shows."""
    shown = [{"output_type": "execute_result", "data": {"text/plain": [verdict]}}] if verdict else []
    return {"source": code, "metadata": {"tags": tag.split()}, "outputs": shown}


def test_law_a_stub_that_passes_or_a_solution_that_fails_is_named(small):
    stub, solution = ENDINGS
    assert ending(cell("check_square(pairs)", solution)) == solution
    typo = ending(cell("check_square(pairs)", "✗ Not yet: your code stopped with NameError: name"))
    for endings, complaint in (
        ([solution, solution], "the stub ends in ✓ a square has as many rows as columns."),
        ([typo, solution], "the stub ends in ✗ Not yet: your code stopped with NameError: name"),
        ([stub, stub], "the solution ends in ✗ Not yet: your answer is still empty"),
        ([stub, ending(cell("pairs(3)", "9"))], "the solution ends in pairs, not in a check"),
        ([stub, ending(cell("check_square(pairs);"))], "the solution ends in nothing shown"),
        (
            [stub, ending(cell("check_square(pairs)", solution, "solution nbval-ignore-output"))],
            "the solution ends in a verdict that nbval does not compare",
        ),
    ):
        (found,) = complaints(small, endings)
        assert found.startswith(f"ex-square: {complaint}")
    assert complaints(small, [stub]) == ["1 verdicts for 1 exercises"]


def test_law_an_exercise_without_its_stub_or_its_solution_is_named(small):
    for old, new, complaint in (
        (":tags: [exercise]", ":tags: [hide-input]", "ex-square: ['solution']"),
        (":tags: [solution]", ":tags: [hide-input]", "ex-square: ['exercise']"),
        ("{solution-start} ex-square", "{solution-start} ex-circle", "ex-circle: ['solution']"),
        (":label: ex-square", "", "exercise outside: ['exercise']"),
    ):
        assert complaint in complaints(small.replace(old, new), ENDINGS)
