"""The README is accurate: its lines run from the installed package, and its files exist."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "RELEASING.md"]
PACKAGE, README = ROOT / "annotated_transformer", (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NOT_INSTALLED = shutil.ignore_patterns("__pycache__", ".ruff_cache", "ruff.toml")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def files_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of a copy, and install it alone into a folder."""
    source, site = (tmp_path_factory.mktemp(name) for name in ("source", "site"))
    shutil.copytree(PACKAGE, source / PACKAGE.name, ignore=NOT_INSTALLED)
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-text"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*pip, "--no-build-isolation", "--target", site, source], check=True)
    assert files_of(site / PACKAGE.name) == files_of(source / PACKAGE.name)
    (metadata,) = site.glob("*.dist-info")
    assert {path.name for path in site.iterdir()} == {PACKAGE.name, metadata.name, "bin"}
    return site


@pytest.mark.slow
def test_law_each_line_runs_from_the_installed_package(installed: Path, tmp_path: Path):
    (code,), shell = blocks("python"), "".join(blocks("sh"))
    ((expression, expected),) = re.findall(r"^(\S.*?)  # (\[.*\])$", code, re.MULTILINE)
    code += f"import annotated_transformer\nprint(annotated_transformer.__file__, {expression}, sep='\\n')"
    path = f"{installed / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PYTHONPATH": str(installed), "PATH": path}

    def run(*command: str, **options: bool) -> str:
        process = subprocess.run(
            command, **options, cwd=tmp_path, env=environment, text=True, capture_output=True
        )
        assert process.returncode == 0, process.stderr
        return process.stdout

    file, printed = run(sys.executable, "-c", code).splitlines()
    assert Path(file).is_relative_to(installed)
    assert ast.literal_eval(printed) == ast.literal_eval(expected)
    lines = re.findall(r"^annotated-transformer (?:.|(?<=\\)\n)*$", shell, re.MULTILINE)
    first, *_ = [run(line.replace("--steps 600", "--steps 3"), shell=True) for line in lines]
    assert [first.strip()] == ast.literal_eval(expected)
    assert (tmp_path / "FOLDER" / "model").is_dir()


def test_law_every_extra_is_listed():
    page = (ROOT / "chapters" / "installation.md").read_text(encoding="utf-8")
    listed = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)))
    assert sorted(listed) == sorted(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("document", DOCUMENTS)
def test_law_every_file_named_exists(document: str):
    text = (ROOT / document).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert links
    assert [name for name in links if not (ROOT / name).exists()] == []
