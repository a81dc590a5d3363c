"""`make mutate` distinguishes killed mutants from survivors and broken ones."""

import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parent / "run.py"

PROGRAM = '''"""A program."""


def double(x):
    """Return twice x."""
    return 2 * x


def half(n: int) -> int:
    """Return half of n, rounded down."""
    return n // 2
'''
TESTS = """
import subprocess, sys, pytest
from annotated_transformer import double
def test_double(): assert double(3) == 6
def test_zero(): assert double(0) == 0
def test_skipped():
    if double(2) == 6: pytest.skip("no moon")
def test_child():
    program = "from annotated_transformer import double; print(double(4))"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "8\\n"
@pytest.mark.parametrize("wrong", range(3, 10))
def test_not(wrong): assert double(1) != wrong
@pytest.mark.parametrize("wrong", range(3, 10))
def test_child_not(wrong):
    program = "from annotated_transformer import double; print(double(1))"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) != f"{wrong}\\n"
@pytest.mark.message
def test_message_double(): assert double(2) == 4
@pytest.mark.message
@pytest.mark.parametrize("wrong", range(3, 10))
def test_message_not(wrong): assert double(1) != wrong
"""
WITH_TORCH = """
import threading, torch
from annotated_transformer import double
def test_gradient():
    x = torch.ones(3, requires_grad=True)
    double(torch.ones(99, 99) @ torch.ones(99, 3) @ x).sum().backward()
    assert x.grad.tolist() == [2 * 99 * 99] * 3
def test_alone(): assert torch.get_num_threads() == threading.active_count() == double(1) - 1 == 1
"""
CHECKED = """
import pytest
from annotated_transformer import half
def test_half(): assert half(4) == 2
def test_refused():
    with pytest.raises(Exception, match="type"): half(4.0)
"""
SCRIPT = "const double = (x) => 2 * x;\n"
SCRIPT_TESTS = """
import os, pathlib, threading, pytest
@pytest.fixture
def script():
    text = pathlib.Path("annotated_transformer/script.js").read_text()
    if "exit" in text: os._exit(3)
    if "wait" in text: threading.Event().wait()
    assert "fixture" not in text
    return text
def test_double(script): assert "2 * x" in script
def test_const(script): assert "const" in script
"""
IMPORTED = ["jaxtyping", "beartype"]
GONE = "its text is no longer there; delete it, or write it anew: gone"
MARKERS = '[tool.pytest.ini_options]\naddopts = ["--import-mode=importlib"]\nmarkers = ["message", "page"]\n'


def judge(
    root: Path, *mutants: str, seconds: int = 60, green: bool = False, torch: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run the mutants on a small project; importing PyTorch takes longer than the rest."""
    (root / "annotated_transformer").mkdir()
    (root / "annotated_transformer" / "__init__.py").write_text(PROGRAM, encoding="utf-8")
    (root / "tests" / "mutation").mkdir(parents=True)
    (root / "tests" / "test_double.py").write_text(TESTS, encoding="utf-8")
    (root / "tests" / "test_torch.py").write_text(WITH_TORCH, encoding="utf-8")
    (root / "tests" / "test_half.py").write_text(CHECKED, encoding="utf-8")
    (root / "annotated_transformer" / "script.js").write_text(SCRIPT, encoding="utf-8")
    (root / "tests" / "test_script.py").write_text(SCRIPT_TESTS, encoding="utf-8")
    (root / "tests" / "mutation" / "mutants.toml").write_text(
        "\n".join([f"imported = {IMPORTED + ['torch'] * torch}", *mutants]), encoding="utf-8"
    )
    (root / "pyproject.toml").write_text(MARKERS, encoding="utf-8")
    command = [sys.executable, str(RUN), "--root", str(root), "--seconds", str(seconds), *["--green"] * green]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def mutant(
    name: str,
    new: str,
    test: str = "",
    old: str = "2 * x",
    more: str = "",
    of: str = "double",
    file: str = "__init__.py",
) -> str:
    """Return an entry of mutants.toml."""
    path, tests = f"annotated_transformer/{file}", [f"tests/test_{of}.py{test}"]
    entry = {"name": name, "file": path, "old": old, "new": new, "tests": tests}
    return "\n".join(["[[mutant]]", *(f"{key} = {value!r}" for key, value in entry.items()), more])


def test_law_killed_and_surviving_mutants_are_distinguished(tmp_path: Path):
    done = judge(
        tmp_path,
        mutant("added", "2 + x"),
        mutant("tripled", "3 * x", more="message = true"),
        mutant("unseen", "3 * x", test="::test_zero"),
        mutant("unselected", "3 * x", test="::test_message_double"),
        mutant("renamed", "def halve", old="def double"),
        mutant("moonless", "3 * x", test="::test_skipped"),
        mutant("learned", "3 * x", test="::test_gradient", of="torch"),
        mutant("alone", "3 * x", test="::test_alone", of="torch"),
        mutant("started", "3 * x", test="::test_child"),
        mutant("quiet", "__import__('os')._exit(0)"),
        mutant("gone", "x", old="3 * x"),
        mutant("twice", "y", old="x"),
        mutant("same", "2 * x"),
        mutant("typo", "2 *"),
        torch=True,
    )
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert lines["added"].endswith("tests/test_double.py::test_double")
    assert lines["tripled"].endswith("tests/test_double.py::test_message_double")
    assert lines["unseen"].endswith("SURVIVED")
    assert lines["moonless"].endswith("not tried: no moon")
    assert "BROKEN: pytest's exit status is 5" in lines["unselected"]
    assert lines["renamed"].endswith("tests/test_double.py (cannot be collected)")
    assert lines["learned"].endswith("tests/test_torch.py::test_gradient")
    assert lines["alone"].endswith("tests/test_torch.py::test_alone")
    assert lines["started"].endswith("tests/test_double.py::test_child")
    assert "BROKEN: pytest's exit status is 71" in lines["quiet"]
    assert "BROKEN: the old text occurs 3 times" in lines["twice"]
    assert "BROKEN: old and new text are the same" in lines["same"]
    assert "BROKEN: the mutant is not valid Python" in lines["typo"]
    assert lines["6"].startswith("6 of 13 mutants killed")
    lost = ("unseen", "unselected", "quiet", "twice", "same", "typo")
    assert done.stderr.splitlines() == [
        "not tried: moonless",
        GONE,
        *(f"not killed: {name}" for name in lost),
    ]
    assert done.returncode == 1


def test_law_killing_all_mutants_passes_and_leaves_the_project_unchanged(tmp_path: Path):
    endless = "__import__('threading').Event().wait()"
    checked = mutant("only the shape checker", "n / 2", old="n // 2", of="half", test="::test_half")
    done = judge(tmp_path, mutant("endless", endless), mutant("added", "2 + x"), checked, seconds=5)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "timed out (killed by the time limit)" in done.stdout.splitlines()[0]
    assert "3 of 3 mutants killed" in done.stdout
    assert (tmp_path / "annotated_transformer" / "__init__.py").read_text(encoding="utf-8") == PROGRAM


def test_law_bytecode_of_another_mutant_is_never_run(tmp_path: Path):
    """The mutants have the same size and are written within seconds; each test fails for only one of them."""
    kinds = {"shapes": ("not", ""), "message": ("message_not", "message = true"), "child": ("child_not", "")}
    done = judge(
        tmp_path,
        *(
            mutant(f"{kind} {number}", f"{number} * x", test=f"::test_{test}[{number}]", more=more)
            for number in range(3, 10)
            for kind, (test, more) in kinds.items()
        ),
        mutant("equal", "x * 2", test="::test_double"),
    )
    assert "21 of 22 mutants killed" in done.stdout, done.stdout + done.stderr
    assert done.stderr == "not killed: equal\n"
    assert not list(tmp_path.rglob("*.pyc"))


def test_law_tests_that_fail_without_a_mutation_kill_nothing(tmp_path: Path):
    done = judge(
        tmp_path,
        mutant("absent", "3 * x", test="::test_nothing"),
        mutant("unselected", "3 * x", test="::test_zero", more="message = true"),
    )
    assert "red without any mutation" in done.stderr
    assert "not found: " in done.stderr  # no such test
    assert "status 5" in done.stderr  # no test has this marker
    assert "mutants killed" not in done.stdout
    assert done.returncode == 1


def test_law_mutants_of_scripts_are_judged_one_after_the_other(tmp_path: Path):
    """Run each kind three times, so that it follows another mutant in the same worker."""
    changes = {"killed": "3 * x", "unseen": "3 * x", "ended": "exit * x", "fixture": "fixture * x"}
    place = {"of": "script", "file": "script.js"}
    done = judge(
        tmp_path,
        *(
            mutant(
                f"{name}{turn}", new, test="::test_const" * (name == "unseen"), of="script", file="script.js"
            )
            for turn in range(3)
            for name, new in changes.items()
        ),
        mutant("endless", "wait * x", **place),
        mutant("last", "3 * x", **place),
        seconds=5,
    )
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    for turn in range(3):
        assert lines[f"killed{turn}"].endswith("tests/test_script.py::test_double")
        assert lines[f"unseen{turn}"].endswith("SURVIVED")
        assert "BROKEN: pytest's exit status is 3" in lines[f"ended{turn}"]
        assert lines[f"fixture{turn}"].endswith("tests/test_script.py::test_double")
    assert "timed out" in lines["endless"]
    assert lines["last"].endswith("tests/test_script.py::test_double")
    assert "8 of 14 mutants killed" in done.stdout, done.stderr


def test_law_a_test_that_fails_without_the_shape_checker_kills_nothing(tmp_path: Path):
    done = judge(tmp_path, mutant("tripled", "3 * x", of="half", test="::test_refused"))
    assert "red without any mutation, where shapes are not checked" in done.stderr
    assert "test_refused" in done.stderr
    assert "mutants killed" not in done.stdout
    assert done.returncode == 1


def test_law_a_list_whose_texts_are_no_longer_there_fails(tmp_path: Path):
    done = judge(
        tmp_path,
        *(mutant(f"added{turn}", f"{turn} + x") for turn in range(2, 4)),
        mutant("gone", "x", old="3 * x"),
    )
    assert "2 of 2 mutants killed" in done.stdout
    assert done.stderr == f"{GONE}\n"
    assert done.returncode == 1


def test_law_a_list_in_which_nothing_applies_is_not_an_error_of_the_runner(tmp_path: Path):
    done = judge(tmp_path, mutant("gone", "x", old="3 * x"))
    assert "0 of 0 mutants killed" in done.stdout
    assert done.stderr == f"{GONE}\n"
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("present", "says"),
    [([mutant("added", "2 + x", test="::test_double")], "1 of 2 mutants killed"), ([], "")],
)
def test_law_with_the_green_flag_one_passing_test_per_file_is_enough(
    tmp_path: Path, present: list[str], says: str
):
    done = judge(tmp_path, mutant("absent", "3 * x", test="::test_nothing"), *present, green=True)
    assert says in done.stdout
    assert ("not killed: absent" if present else "red without any mutation") in done.stderr
    assert done.returncode == 1
