"""The pre-commit hooks run the commands of `make lint` on changed files, with the tools in .venv."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
REPOSITORIES = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
HOOKS = [hook for repository in REPOSITORIES for hook in repository["hooks"]]
PYTHON = ".venv/bin/python"  # its versions are those in constraints.txt, as tests/test_environment.py checks


def test_law_the_hooks_run_the_commands_of_make_lint():
    recipe = re.search(r"^lint:.*\n((?:\t.+\n)+)", MAKEFILE, re.MULTILINE)[1]
    lines = [line.strip().replace("$(RUN)", PYTHON) for line in recipe.splitlines()]
    assert [re.sub(r" --force-exclude$", " .", hook["entry"]) for hook in HOOKS] == lines
    assert re.search(rf"^VENV := {PYTHON.partition('/')[0]}$", MAKEFILE, re.MULTILINE)


def test_law_nothing_is_downloaded():
    assert [repository["repo"] for repository in REPOSITORIES] == ["local"]
    assert {hook["language"] for hook in HOOKS} == {"system"}
    assert not [hook["id"] for hook in HOOKS if "additional_dependencies" in hook]


def test_law_every_file_that_lint_reads_is_passed():
    assert all(set(hook) == {"id", "name", "entry", "language", "types_or"} for hook in HOOKS)
    assert all(set(hook["types_or"]) == {"python", "pyi", "jupyter"} for hook in HOOKS)


@pytest.mark.parametrize(("name", "status"), [("good.py", 0), ("bad.py", 1), ("_build/bad.py", 0)])
def test_law_a_hook_fails_on_a_bad_file_and_skips_what_lint_skips(tmp_path: Path, name: str, status: int):
    (tmp_path / "_build").mkdir()
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    text = '"""A file."""\n' if name.startswith("good") else "import  os\n"
    (tmp_path / name).write_text(text, encoding="utf-8")
    for hook in HOOKS:
        command = [sys.executable, *hook["entry"].split()[1:], name]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == status, done.stdout + done.stderr
