"""Fixtures: a minimal copy of the project, a small chapter that is built once, and pages in a browser."""

import contextlib
import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.conftest import of_pages
from tests.explorer_pages import HTML, WIDE, BookPage
from tests.serving import serving
from tests.small_book import render

HERE = Path(__file__).parent
FILES = "_config.yml chapters/conftest.py chapters/nbval_sanitize.cfg chapters/references.bib".split()
Run = Callable[..., subprocess.CompletedProcess[str]]
OpenPage = Callable[..., BookPage]
PATIENCE = 60_000  # milliseconds: the explorer's model, on a busy machine


def copy_project(root: Path, folder: Path) -> None:
    """Copy the package, the builder, and the files that `make` needs, without any chapter."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(root / name, folder)
    skip = shutil.ignore_patterns("__pycache__")
    for name in ("annotated_transformer", "builder"):
        shutil.copytree(root / name, folder / name, ignore=skip)
    (folder / "chapters" / "src").mkdir(parents=True)
    for name in FILES:
        shutil.copy(root / name, folder / name)


def run_in(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a copy, importing the copy's package, with stdout and stderr merged."""
    outer = ("PYTEST_", "MAKE", "MFLAGS")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(outer)}
    return subprocess.run(
        command,
        cwd=folder,
        env={**clean, "PYTHONPATH": str(folder)},
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@pytest.fixture(scope="session")
def small() -> str:
    return (HERE / "fixture" / "01_fixture.md").read_text("utf-8")


@pytest.fixture(scope="session")
def small_book(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the pages of the small book, which renders without a warning."""
    pages, warnings = render(tmp_path_factory.mktemp("book"))
    assert warnings == ""
    return pages


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> Path:
    """Return a copy of the project without chapters."""
    copy_project(root, tmp_path)
    return tmp_path


def builders() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] == "builder"]


@pytest.fixture
def module(copy: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Import a module of the copy's builder instead of ours."""
    for name in builders():
        monkeypatch.delitem(sys.modules, name)  # put back when the test ends
    monkeypatch.syspath_prepend(copy)
    yield lambda name: importlib.import_module(f"builder.{name}")
    for name in builders():
        del sys.modules[name]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return lambda *command: run_in(tmp_path, *command)


@pytest.fixture(scope=of_pages)
def book() -> Iterator[str]:
    """Serve the rendered book, and yield its address."""
    assert (HTML / "index.html").is_file(), f"{HTML} holds no book; run `make book` first"
    with serving(HTML) as address:
        yield address


@pytest.fixture
def open_page(browser: Browser, book: str) -> Iterator[OpenPage]:
    """Return a function that opens a page of the book in a window of its own, until the test ends."""
    with contextlib.ExitStack() as windows:

        def opened(address: str = "about:blank", **options: Any) -> BookPage:
            context = browser.new_context(**{"base_url": book, "viewport": WIDE, **options})
            page = BookPage(windows.enter_context(contextlib.closing(context)).new_page())
            page.set_default_timeout(PATIENCE)
            page.goto(address)
            return page

        yield opened


@pytest.fixture
def visitor(open_page: OpenPage) -> Iterator[BookPage]:
    """Yield a page in a window of its own, which has loaded nothing yet; a fault fails the test."""
    faults: list[str] = []
    yield open_page(reduced_motion="reduce").watched(faults)
    assert faults == []
