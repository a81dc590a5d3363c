"""Every exercise has a stub that its check refuses and a solution that it accepts; both are run here."""

import json
import re
import subprocess
import sys
from pathlib import Path

import jupytext
import pytest

ROOT = Path(__file__).resolve().parents[2]

# Runs a chapter's cells in their order, in a fresh interpreter without the shape checker, and prints what
# the stubs and solutions end in. A live cell has no kernel here; a cell may be meant to raise.
RUNNER = """
import ast, json, sys
import jupytext
from annotated_transformer.book.checks import Verdict
sys.dont_write_bytecode, verdicts, space = True, [], {"__name__": "__main__"}
for cell in jupytext.read(sys.argv[1]).cells:
    tags = set(cell.metadata.get("tags", []))
    if cell.cell_type != "code" or "nbval-ignore-output" in tags:
        continue
    body = ast.parse(cell.source)
    last = body.body.pop() if body.body and isinstance(body.body[-1], ast.Expr) else None
    try:
        exec(compile(body, "cell", "exec"), space)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), space) if last else None
    except Exception:
        if "raises-exception" not in tags:
            raise
        value = None
    if tags & {"exercise", "solution"}:
        verdicts.append([isinstance(value, Verdict), bool(value), repr(value)])
print("\\n" + json.dumps(verdicts))
"""


def exercises(text):
    """Return what each exercise of a chapter has, in order: {"ex-a": ["exercise", "solution"]}."""
    found, label, solving = {}, None, None
    for cell in jupytext.reads(text, fmt="md:myst").cells:
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


def judged(path):
    """Run a chapter and return the verdicts of its stubs and solutions, in order."""
    run = subprocess.run(
        [sys.executable, "-c", RUNNER, str(path)],
        cwd=ROOT / "chapters",
        check=False,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def complaints(text, verdicts):
    """Return what is wrong with a chapter's exercises."""
    found = exercises(text)
    wrong = [f"{label}: {tags}" for label, tags in found.items() if tags != ["exercise", "solution"]]
    if len(verdicts) != 2 * len(found):
        return [*wrong, f"{len(verdicts)} verdicts for {len(found)} exercises"]
    for label, stub, solution in zip(found, verdicts[::2], verdicts[1::2], strict=True):
        for (is_verdict, passed, words), wanted in ((stub, False), (solution, True)):
            if not is_verdict or passed is not wanted or "your code stopped with" in words:
                wrong.append(f"{label}: the {'solution' if wanted else 'stub'} ends in {words}")
    return wrong


def test_law_every_stub_fails_and_every_solution_passes():
    sources = sorted((ROOT / "chapters" / "src").glob("*.md"))
    assert {p.name: complaints(p.read_text("utf-8"), judged(p)) for p in sources} == {
        p.name: [] for p in sources
    }


@pytest.fixture(scope="module")
def small():
    path = Path(__file__).parent / "fixture" / "01_fixture.md"
    return path.read_text("utf-8"), judged(path)


def test_law_the_small_chapters_exercise_is_in_order(small):
    text, verdicts = small
    assert exercises(text) == {"ex-square": ["exercise", "solution"]}
    assert [(is_verdict, passed) for is_verdict, passed, _ in verdicts] == [(True, False), (True, True)]
    assert complaints(text, verdicts) == []


def test_law_a_stub_that_passes_or_a_solution_that_fails_is_named(small, tmp_path):
    text, _ = small
    before, exercise, after = re.split(
        r"(?=^```{exercise-start}|^## What we showed)", text, flags=re.MULTILINE
    )
    empty, right, ends = (
        '    raise NotImplementedError("your turn")',
        "return tokens**2",
        "check_square(pairs)\n```\n",
    )
    broken = {
        "ex-solved": exercise.replace(empty, "    return tokens**2"),
        "ex-typo": exercise.replace(empty, "    return token"),
        "ex-wrong": exercise.replace(right, "return tokens"),
        "ex-unjudged": exercise.replace(f"{ends}```{{sol", "pairs(3)\n```\n```{sol"),
    }
    assert all(version != exercise for version in broken.values())
    chapter = before + "".join(version.replace("ex-square", name) for name, version in broken.items()) + after
    path = tmp_path / "01_broken.md"
    path.write_text(chapter, "utf-8")
    assert complaints(chapter, judged(path)) == [
        "ex-solved: the stub ends in ✓ a square has as many rows as columns.",
        "ex-typo: the stub ends in ✗ Not yet: your code stopped with NameError: name 'token' is not defined",
        "ex-wrong: the solution ends in ✗ Not yet: three times three is nine.",
        "ex-unjudged: the solution ends in 9",
    ]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (":tags: [exercise]", ":tags: [hide-input]", "ex-square: ['solution']"),
        (":tags: [solution]", ":tags: [hide-input]", "ex-square: ['exercise']"),
        ("{solution-start} ex-square", "{solution-start} ex-circle", "ex-circle: ['solution']"),
        (":label: ex-square", "", "exercise outside: ['exercise']"),
    ],
)
def test_law_an_exercise_without_its_stub_or_its_solution_is_named(small, old, new, complaint):
    text, verdicts = small
    assert complaint in complaints(text.replace(old, new), verdicts)
