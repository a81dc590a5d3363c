"""The browser of the tests: one that does not start counts as none, and its absence is an error or named."""

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import browser


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the only folder in which browsers are found; nothing can be installed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "none"))
    monkeypatch.setattr(browser, "install", browser.find.cache_clear)
    browser.find.cache_clear()
    yield tmp_path
    browser.find.cache_clear()


def program(path: Path, lines: str) -> str:
    path.write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_law_a_browser_that_does_not_start_counts_as_none(programs: Path):
    program(programs / "chromium-headless-shell", "echo libnss3.so is missing >&2; exit 127")
    program(programs / "chromium", "echo install the snap")  # Ubuntu's package, where snaps cannot run
    assert browser.find() is None
    browser.find.cache_clear()
    good = program(programs / "google-chrome", "echo '<html><head></head><body></body></html>'")
    assert browser.find() == good


def test_law_a_missing_browser_is_installed_if_it_is_needed(programs: Path, monkeypatch, capsys):
    shell = programs / "chromium-headless-shell"

    def install() -> None:
        program(shell, "echo '<html></html>'")
        browser.find.cache_clear()

    monkeypatch.setattr(browser, "install", install)
    monkeypatch.setenv("REQUIRE_ALL", "but-browser,corpora,notes")
    assert browser.main() is None
    assert capsys.readouterr().out == "no Chromium on this machine: what needs one is skipped\n"
    monkeypatch.setenv("REQUIRE_ALL", "but-corpora,notes")
    assert browser.main() is None
    assert capsys.readouterr().out == f"{shell}\n"


@pytest.mark.message
def test_message_a_browser_is_needed_and_cannot_be_installed(programs: Path, monkeypatch):
    monkeypatch.setenv("REQUIRE_ALL", "but-corpora,notes")
    said = str(browser.main())
    assert said.startswith("no Chromium on this machine, or none that starts, and none could be installed.")
    assert f"{shlex.quote(sys.executable)} -m playwright install --with-deps chromium" in said
    assert "make test REQUIRE_ALL=but-browser,corpora,notes skips what needs one, and names it" in said


@pytest.mark.message
def test_message_a_wrong_value_of_require_all_before_any_test(programs: Path, monkeypatch):
    monkeypatch.setenv("REQUIRE_ALL", "but-browsers")
    assert str(browser.main()).startswith("REQUIRE_ALL=but-browsers means nothing; give 1, or but- and names")
