"""The Makefile: a failed stage fails `make test` but stops no other, and a reader's edits are kept."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MISSPELLED = "recie" + "ve"
PROGRAMS = ("python", "jupyter", "jupyter-book", "repo-review", "deno", "oxfmt", "oxlint", "typos", "zizmor")
PRETENDER = """#!/bin/sh
echo "REQUIRE_ALL=$REQUIRE_ALL $PYTEST_ADDOPTS $*"
case "$*" in *"$FAIL"*) test -z "$FAIL";; esac
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with fake environments, in which each program prints how it was called."""
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in (".venv", ".venv-oldest", ".venv-newest"):
        (tmp_path / name / "bin").mkdir(parents=True)
        for program in PROGRAMS:
            path = tmp_path / name / "bin" / program
            path.write_text(PRETENDER, encoding="utf-8")
            path.chmod(0o755)
    (tmp_path / "chapters").mkdir()
    for name in ("pyproject.toml", "constraints.txt", "chapters/first.ipynb", ".venv/ready"):
        (tmp_path / name).write_text("one", encoding="utf-8")
    return tmp_path


def run(project: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a project, without the variables of an outer make, which may be any."""
    environment = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=project, env=environment)


def stages(done: subprocess.CompletedProcess[str], result: str) -> list[str]:
    """Return the stages of `make test` with this result in its summary."""
    return re.findall(rf"^(\S+) +\d+ s  {result}$", done.stdout, re.MULTILINE)


def calls(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stdout.splitlines() if line.startswith("REQUIRE_ALL=")]


def test_law_a_failed_stage_fails_make_test_and_the_other_stages_still_run(project: Path):
    done = run(project, "make", "test")
    every = stages(done, "ok")
    assert {"static", "unit", "chapters-run", "pages"} <= set(every)
    assert (done.returncode, stages(done, "FAILED")) == (0, [])
    done = run(project, "make", "test", FAIL="mypy")
    assert done.returncode != 0
    assert stages(done, "FAILED") == ["static"]
    assert stages(done, "ok") == [stage for stage in every if stage != "static"]
    assert re.search(r"\btypes\b.* Error .*^failed: static", done.stderr, re.MULTILINE | re.DOTALL)
    others = "builder.build --check", "ruff check", "build . --all"
    assert [other for other in others if not any(other in call for call in calls(done))] == []


CHAPTERS = ("03_masking", "13_decoder", "masking_guide")


@pytest.fixture
def chapters(project: Path) -> Path:
    """Return the project with three chapters, tests of one of them, and what Sphinx has kept of all."""
    kept = project / "_build" / ".doctrees" / "chapters"
    room = project / "tests" / "book" / "chapters" / "masking"
    for folder in (kept, room, project / "tests" / "builder"):
        folder.mkdir(parents=True)
    (project / "chapters" / "first.ipynb").unlink()
    for name in CHAPTERS:
        (project / "chapters" / f"{name}.ipynb").touch()
        (kept / f"{name}.doctree").touch()
    for file, text in (
        ("cases", "ids=lambda path: path.stem"),
        ("pages", 'parametrize("name", X)'),
        ("x", ""),
    ):
        (project / "tests" / "builder" / f"test_{file}.py").write_text(text, encoding="utf-8")
    return project


def test_law_without_a_chapter_all_of_them_are_tested(chapters: Path):
    done = run(chapters, "make", "test")
    assert stages(done, "ok") == ["static", "unit", "chapters-run", "pages"]
    made = "\n".join(calls(done))
    assert "tests/" not in made.replace("tests.browser", "")
    assert " -k " not in made
    assert re.search("builder.build --check *$", made, re.MULTILINE)
    assert re.search(r"build \. --all -W", made)
    assert [name for name in CHAPTERS if f" chapters/{name}.ipynb" in made] == [*CHAPTERS]
    assert len(list(chapters.glob("_build/.doctrees/chapters/*"))) == len(CHAPTERS)


@pytest.mark.parametrize("chapter", ["3", "03", "masking", "03_masking"])
def test_law_a_chapter_is_tested_alone(chapters: Path, chapter: str):
    done = run(chapters, "make", "test", f"CHAPTER={chapter}")
    assert stages(done, "ok") == ["unit", "static", "pages"]
    unit, *parts, looked = (call for call in calls(done) if "tests.browser" not in call)
    check, notebook, page = (
        next(part for part in parts if word in part) for word in ("--check", "--nbval", "build . ")
    )
    assert len(parts) == 3
    only = " ".join(
        f"tests/{name}"
        for name in ("book/chapters/masking", "builder/test_cases.py", "builder/test_pages.py")
    )
    for call in (unit, looked):
        assert call.endswith(f" {only} -k masking and not api/")
    assert check.endswith(" -m builder.build --check 03_masking")
    assert re.findall(r"\S+\.ipynb", notebook) == ["chapters/03_masking.ipynb"]
    assert re.search(r" build \. +-W -n --keep-going$", page)
    kept = {path.stem for path in chapters.glob("_build/.doctrees/chapters/*")}
    assert kept == {*CHAPTERS} - {"03_masking"}
    failed = run(chapters, "make", "test", f"CHAPTER={chapter}", FAIL="--nbval")
    assert (failed.returncode != 0, stages(failed, "FAILED")) == (True, ["static"])


@pytest.mark.parametrize("chapter", ["4", "33", "mask", "masking_", "decoder masking", "*"])
def test_law_an_unknown_chapter_is_refused_with_those_that_there_are(chapters: Path, chapter: str):
    done = run(chapters, "make", "test", f"CHAPTER={chapter}")
    assert done.returncode != 0
    assert calls(done) == []
    assert f"there is no chapter {chapter}; there are {' '.join(CHAPTERS)}." in done.stderr


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    """Return a copy without git, as of an unpacked zip, with bad files wherever .gitignore says ignored."""
    patterns = [
        line for line in (ROOT / ".gitignore").read_text("utf-8").split("\n") if line[:1] not in ("", "#")
    ]
    left_out = [".git", "*.ipynb", "weights", "*.jsonl", *(pattern.strip("/") for pattern in patterns)]
    copy = tmp_path / "the book"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*left_out))
    for pattern in patterns:
        made = copy / pattern.strip("/").replace("*", "x")
        if not pattern.endswith("/") and pattern != "/.venv":
            made.write_text(MISSPELLED)
            continue
        made.mkdir()
        for name in ("a.md", "a.py", "a.js"):
            (made / name).write_text(f"const  a = '{MISSPELLED}'")
        (made / "action.yml").write_text("runs: {using: composite, steps: [{run: '${{ inputs.a }}'}]}")
    return copy


def test_law_lint_reads_no_ignored_file_in_a_copy_without_git(unpacked: Path):
    (unpacked.parent / "environment").symlink_to(sys.prefix)  # whose path may have a space
    lint = ["make", "--old-file=../environment/ready", "VENV=../environment", "lint"]
    done = run(unpacked, *lint)
    assert done.returncode == 0, done.stdout + done.stderr
    (unpacked / "docs" / "mine.md").write_text(MISSPELLED)
    done = run(unpacked, *lint)
    assert done.returncode != 0
    assert "mine.md" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("target", "program", "faults"),
    [
        ("lint", "oxlint", {"debugger;": "no-debugger"}),
        ("types", "deno", {'Math.max("1");': "TS2345", "export const same = (x) => x;": "TS7006"}),
    ],
)
def test_law_a_fault_in_javascript_is_found(project: Path, target: str, program: str, faults: dict[str, str]):
    """Of the programs of the stage, only the one that checks JavaScript is real."""
    (project / ".venv" / "bin" / program).unlink()
    (project / ".venv" / "bin" / program).symlink_to(Path(sys.prefix, "bin", program))
    for path in [
        path
        for place in ("annotated_transformer", "builder", "tests")
        for path in ROOT.glob(f"{place}/**/*.[jt]s")
    ]:
        copy = project / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    for name in ("deno.json", ".oxlintrc.json"):
        shutil.copy(ROOT / name, project)
    done = run(project, "make", target)
    assert done.returncode == 0, done.stdout + done.stderr
    with (project / "builder/explorer/ui/words.js").open("a", encoding="utf-8") as script:
        script.write("\n".join(faults))
    done = run(project, "make", target)
    assert done.returncode != 0
    assert [code for code in faults.values() if code not in done.stdout + done.stderr] == []


def test_law_ci_allows_no_skip(project: Path):
    done = run(project, "bash", ".ci/run")
    assert done.returncode == 0
    assert any("-m pytest" in call for call in calls(done))
    assert all(call.startswith("REQUIRE_ALL=1 ") for call in calls(done))
    assert {"unit", "chapters-run", "pages", "slow", "mutate"} <= set(stages(done, "ok"))
    assert run(project, "bash", ".ci/run", FAIL="mypy").returncode != 0


def test_law_the_deliberate_bugs_rely_on_the_tests_only_if_these_passed(project: Path):
    for failed in ("", "-m not page", "builder.build --check", "--nbval"):
        mutate = [c for c in calls(run(project, "make", "ci", FAIL=failed)) if "mutation/run.py" in c]
        assert [call.endswith(" --green") for call in mutate] == [not failed], failed


def test_law_making_the_book_runs_no_test_and_no_chapter(project: Path):
    done = run(project, "make", "book")
    assert any(" build . " in call for call in calls(done))
    assert not any("pytest" in call or "builder.build" in call for call in calls(done))


@pytest.mark.parametrize("command", [["unit"], ["oldest", "PYTHON=.venv/bin/python"]], ids=["unit", "oldest"])
def test_law_a_missing_browser_stops_the_tests_unless_that_is_allowed(project: Path, command: list[str]):
    done = run(project, "make", *command, FAIL="tests.browser")
    assert done.returncode != 0
    assert not any("-m pytest" in call for call in calls(done))
    allowed = "but-browser,corpora,notes"
    done = run(project, "make", *command, f"REQUIRE_ALL={allowed}")
    tested = [call for call in calls(done) if "-m pytest" in call]
    assert tested
    assert all(call.startswith(f"REQUIRE_ALL={allowed} ") for call in tested)


@pytest.mark.parametrize(("edition", "folder"), [("", "_lab"), ("student", "_student")])
def test_law_lab_opens_the_edition_with_the_readers_options_and_may_be_root(project, edition, folder):
    programs = project / "programs"
    programs.mkdir()
    for user, allowed in (("0", "--allow-root "), ("1000", "")):
        (programs / "id").write_text(f"#!/bin/sh\necho {user}\n", encoding="utf-8")
        (programs / "id").chmod(0o755)
        path = f"{programs}:{os.environ['PATH']}"
        options = ["LAB_ARGS=--no-browser --port 9999", *([f"EDITION={edition}"] if edition else [])]
        done = run(project, "make", "lab", *options, PATH=path)
        copied, trusted, opened = (call.split(" ", 2)[2] for call in calls(done))
        assert copied == " ".join(["-m builder.lab", *([f"--{edition}"] if edition else [])])
        assert trusted == f"trust {folder}/*.ipynb"
        assert opened == f"lab {allowed}--no-browser --port 9999 {folder}/start.ipynb"


def test_law_each_edition_restores_its_own_open_notebooks(project: Path):
    jupyter = project / ".venv" / "bin" / "jupyter"
    jupyter.write_text(
        '#!/bin/sh\ntest "$1" = lab && echo "open: $JUPYTERLAB_WORKSPACES_DIR"; true\n', "utf-8"
    )
    for options, folder in (([], "_lab"), (["EDITION=student"], "_student")):
        said = run(project, "make", "lab", *options).stdout
        assert re.findall("^open: (.*)$", said, re.MULTILINE) == [str(project / folder / ".workspaces")]


def test_law_cleaning_keeps_what_readers_wrote(project: Path):
    for folder in ("_lab", "_student", "_build"):
        (project / folder).mkdir()
        (project / folder / "mine.ipynb").write_text("my answers", encoding="utf-8")
    for folder in ("annotated_transformer", "benchmarks", "tests"):
        (project / folder).mkdir()
    done = run(project, "make", "clean")
    assert done.returncode == 0, done.stderr
    assert sorted(path.parent.name for path in project.glob("_*/mine.ipynb")) == ["_lab", "_student"]


@pytest.mark.parametrize("target", ["oldest", "newest"])
def test_law_oldest_and_newest_have_their_own_environments_and_versions(project: Path, target: str):
    done = run(project, "make", target, "PYTHON=.venv/bin/python", "PIP_ARGS=--no-cache-dir")
    assert done.returncode == 0, done.stderr
    assert any(call.endswith(f" -m venv .venv-{target}") for call in calls(done))
    installs = [call for call in calls(done) if "-m pip install" in call]
    assert len(installs) == 2
    pins = {"oldest": "--no-cache-dir -c .venv-oldest/constraints.txt", "newest": "--no-cache-dir"}[target]
    assert re.search(rf"pip install {pins} +torch$", installs[0])
    assert all("-p tests.foreign_warnings" in call for call in calls(done) if "-m pytest" in call)
    assert "unit" in stages(done, "ok")
    assert (project / ".venv" / "ready").read_text(encoding="utf-8") == "one"
    if target == "oldest":
        constraints = project / ".venv-oldest" / "constraints.txt"
        assert constraints.read_text(encoding="utf-8").endswith(" tests/oldest.py\n")


def test_law_an_old_python_is_refused_with_instructions(project: Path):
    (project / ".venv" / "ready").unlink()
    old = project / "old-python"
    pretend = 'exec python3 -c "import sys; sys.version_info = (3, 9, 1); $2"'
    old.write_text(f"#!/bin/sh\n{pretend}\n", encoding="utf-8")
    old.chmod(0o755)
    done = run(project, "make", "environment", f"PYTHON={old}")
    assert done.returncode != 0
    assert f"Python 3.11 or newer is needed, and {old} is 3.9.1: run make PYTHON=python3.11" in done.stderr
