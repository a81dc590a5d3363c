"""The Makefile: all stages run, one failing stage fails `make test`, and a reader's edits are kept."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STAGES = ["lint", "types", "unit", "messages", "fresh", "chapters-run", "mutate", "render", "pages"]
ALLOWED = "REQUIRE_ALL=but-corpora,notes"  # by default
PRETENDER = """#!/bin/sh
echo "REQUIRE_ALL=$REQUIRE_ALL $*"
case "$*" in *"$FAIL"*) test -z "$FAIL";; esac
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with a fake environment, in which each program prints how it was called."""
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / "chapters").mkdir()
    for name in ("pyproject.toml", "constraints.txt", "chapters/first.ipynb", ".venv/ready"):
        (tmp_path / name).write_text("one", encoding="utf-8")
    for name in ("python", "jupyter", "jupyter-book", "repo-review", "typos", "zizmor"):
        program = tmp_path / ".venv" / "bin" / name
        program.write_text(PRETENDER, encoding="utf-8")
        program.chmod(0o755)
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    shutil.copy(ROOT / "Makefile", tmp_path)
    return tmp_path


def run(project: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a project, without the variables of an outer make, which may be any."""
    environment = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=project, env=environment)


def test_law_test_runs_every_stage_and_names_those_that_failed(project: Path):
    done = run(project, "make", "test")
    assert re.findall(r"^=== (.+)", done.stdout, re.MULTILINE) == STAGES
    assert re.findall(r"^(\S+) +\d+ s  ok$", done.stdout, re.MULTILINE) == STAGES
    assert done.returncode == 0

    done = run(project, "make", "test", FAIL="mypy")
    assert re.findall(r"^=== (.+)", done.stdout, re.MULTILINE) == STAGES
    assert re.findall(r"^(\S+) +\d+ s  FAILED$", done.stdout, re.MULTILINE) == ["types"]
    assert "failed: types" in done.stderr
    assert done.returncode != 0


def test_law_mutate_trusts_only_tests_that_passed_in_this_run(project: Path):
    def mutate(**variables: str) -> list[str]:
        called = run(project, "make", "test", **variables).stdout.splitlines()
        return [
            line.split("run.py")[1].strip() for line in called if "mutation/run.py" in line and "=" in line
        ]

    assert mutate() == ["--workers 2 --green"]
    assert mutate(FAIL="mypy") == ["--workers 2 --green"]  # mypy is not one of the tests
    assert mutate(FAIL="-m message") == ["--workers 2"]
    assert mutate(FAIL="--nbval") == ["--workers 2"]
    assert mutate(MAKEFLAGS="STAGES=mutate") == ["--workers 2"]


def test_law_jobs_is_the_number_of_tests_that_run_at_once(project: Path):
    for jobs, expected in (([], "2"), (["JOBS=5"], "5")):
        called = run(project, "make", "test", *jobs).stdout
        assert re.findall(r"^REQUIRE_ALL=.* (?:-n|--workers) (\d+)", called, re.MULTILINE) == 5 * [expected]


def test_law_ci_runs_make_test_with_require_all_set(project: Path):
    def calls(text: str) -> list[str]:
        return [line for line in text.splitlines() if line.startswith("REQUIRE_ALL")]

    ci, own = (run(project, *command).stdout for command in (["bash", ".ci/run"], ["make", "test"]))
    assert calls(own)
    assert calls(ci) == [line.replace(ALLOWED, "REQUIRE_ALL=1", 1) for line in calls(own)]


@pytest.mark.parametrize("command", [["test"], ["unit"], ["oldest", "PYTHON=.venv/bin/python"]])
def test_law_no_stage_runs_without_a_browser_unless_that_is_allowed(project: Path, command: list[str]):
    shutil.copytree(project / ".venv" / "bin", project / ".venv-oldest" / "bin")
    done = run(project, "make", *command, FAIL="tests.browser")
    assert done.returncode != 0
    assert f"{ALLOWED} -m tests.browser" in done.stdout
    assert not re.search(r"worksteal|run\.py", done.stdout)
    allowed = "but-browser,corpora,notes"
    done = run(project, "make", *command, f"REQUIRE_ALL={allowed}")
    assert f"REQUIRE_ALL={allowed} -m pytest" in done.stdout


def test_law_make_book_executes_no_chapters(project: Path):
    done = run(project, "make", "book")
    called = [line for line in done.stdout.splitlines() if line.startswith("REQUIRE_ALL")]
    assert called == [f"{ALLOWED} build . --all -W -n --keep-going"]
    assert "_build/html/index.html" in done.stdout


def test_law_every_install_gets_the_readers_arguments(project: Path):
    (project / ".venv" / "ready").unlink()
    done = run(project, "make", "book", "PYTHON=.venv/bin/python", "PIP_ARGS=--no-cache-dir")
    installs = [line for line in done.stdout.splitlines() if line.startswith(f"{ALLOWED} -m pip install")]
    assert [line.split("install ")[1] for line in installs] == [
        "--no-cache-dir -c constraints.txt torch",
        "--no-cache-dir -c constraints.txt -e .[book,test]",
    ]


PINNED = "tests/test_environment.py::test_law_the_environment_holds_the_pinned_versions"


@pytest.mark.parametrize("target", ["oldest", "newest"])
def test_law_oldest_and_newest_have_their_own_environments_and_versions(project: Path, target: str):
    shutil.copytree(project / ".venv" / "bin", project / f".venv-{target}" / "bin")
    program = project / f".venv-{target}" / "bin" / "python"
    program.write_text(PRETENDER.replace("$*", "$PYTEST_ADDOPTS $*", 1), encoding="utf-8")
    done = run(project, "make", target, "PYTHON=.venv/bin/python", REQUIRE_ALL="7")
    assert done.returncode == 0, done.stderr
    calls = [line for line in done.stdout.splitlines() if line.startswith("REQUIRE_ALL=7")]
    assert f"REQUIRE_ALL=7 -m venv .venv-{target}" in calls
    pins = {"oldest": "-c .venv-oldest/constraints.txt ", "newest": ""}[target]
    installs = [line.partition("install ")[2].strip() for line in calls if "pip install" in line]
    assert installs == [f"{pins}torch", f"{pins}-e .[book,test]"]
    assert all(f"--deselect={PINNED} " in line for line in calls if "-m pytest" in line)
    stages = {"oldest": ["unit", "messages"], "newest": [s for s in STAGES if s != "mutate"]}[target]
    assert re.findall(r"^(\S+) +\d+ s  ok$", done.stdout, re.MULTILINE) == stages
    assert (project / ".venv" / "ready").read_text(encoding="utf-8") == "one"


def test_law_oldest_uses_the_lower_bounds(project: Path):
    shutil.copytree(project / ".venv" / "bin", project / ".venv-oldest" / "bin")
    run(project, "make", "oldest", "PYTHON=.venv/bin/python")
    written = (project / ".venv-oldest" / "constraints.txt").read_text(encoding="utf-8")
    assert written == f"{ALLOWED} tests/oldest.py\n"


def test_law_links_are_checked_on_demand_only(project: Path):
    called = run(project, "make", "links").stdout
    assert f"{ALLOWED} build . --all -W -n --keep-going --builder linkcheck" in called
    assert "linkcheck" not in run(project, "make", "test").stdout


def test_law_lab_renews_its_copies_but_keeps_what_the_reader_changed(project: Path):
    chapter, copy = project / "chapters" / "first.ipynb", project / "_lab" / "first.ipynb"
    assert "kept" not in run(project, "make", "lab").stdout
    assert copy.read_text(encoding="utf-8") == "one"

    chapter.write_text("two", encoding="utf-8")
    done = run(project, "make", "lab")
    assert copy.read_text(encoding="utf-8") == "two"
    assert "trust _lab/first.ipynb" in done.stdout

    copy.write_text("mine", encoding="utf-8")
    assert "kept" not in run(project, "make", "lab").stdout
    chapter.write_text("three", encoding="utf-8")
    done = run(project, "make", "lab")
    assert "kept your _lab/first.ipynb; the newer chapter is chapters/first.ipynb" in done.stdout
    assert copy.read_text(encoding="utf-8") == "mine"


def test_law_help_lists_every_target_and_the_plain_commands():
    shown = run(ROOT, "make", "help").stdout
    listed = set(re.findall(r"^  ([a-z-]+)  ", shown, re.MULTILINE))
    verbs = {"book", "browser", "serve", "test", "chapters", "lab", "links", "oldest", "newest", "help"}
    assert {*verbs, *STAGES} <= listed
    assert "-m venv .venv" in shown
    assert "jupyter-book build ." in shown


def test_law_an_old_python_is_refused_with_instructions(project: Path):
    (project / ".venv" / "ready").unlink()
    old = project / "old-python"
    pretend = 'exec python3 -c "import sys; sys.version_info = (3, 9, 1); $2"'
    old.write_text(f"#!/bin/sh\n{pretend}\n", encoding="utf-8")
    old.chmod(0o755)
    done = run(project, "make", "environment", f"PYTHON={old}")
    assert done.returncode != 0
    assert f"Python 3.11 or newer is needed, and {old} is 3.9.1: run make PYTHON=python3.11" in done.stderr
