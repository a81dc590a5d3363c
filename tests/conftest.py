"""Fixtures that need no PyTorch, and the REQUIRE_ALL rule that turns skips into failures."""

import gc
import os
import signal
from collections.abc import Generator, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.browser import OPTIONS, find
from tests.skips import refused

ROOT = Path(__file__).resolve().parent.parent
ONLY = ("cuda", "hosts", "message", "page", "slow")  # the markers of stages that run few files
Report = pytest.TestReport | pytest.CollectReport
NO_SKIP = "REQUIRE_ALL={value} does not allow this skip: {reason}"


def pytest_configure(config: pytest.Config) -> None:
    """Check REQUIRE_ALL, handle SIGINT as in a terminal, and import the fixtures that need PyTorch.

    A shell that starts pytest in the background makes it ignore SIGINT. The process that only distributes
    tests (`-n 2`) needs no PyTorch, and the others start after it.
    """
    try:
        refused("")
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("dist", "no") == "no":
        config.pluginmanager.register(import_module("tests.fixtures"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip a file without the marker that `-m` asks for: importing a file takes longer than most tests.

    A test gets the marker only by its name, as in `pytest.mark.page`, or from what a file imports (`pages`).
    """
    marker = config.getoption("markexpr").partition(" ")[0]
    if marker not in ONLY or not collection_path.name.startswith("test_") or collection_path.suffix != ".py":
        return None
    return marker not in collection_path.read_text("utf-8") or None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import the tests without looking for garbage, and then never look at what they have imported."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Report, Report]:
    """Turn a skip that REQUIRE_ALL forbids into a failure that quotes its reason."""
    report = yield
    if report.skipped:
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if refused(reason):
            report.outcome = "failed"
            report.longrepr = NO_SKIP.format(value=os.environ["REQUIRE_ALL"], reason=reason)
    return report


pytest_make_collect_report = pytest_runtest_makereport


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the path of a Chromium that Playwright can drive (`executable_path=`)."""
    path = find()
    if path is None:
        pytest.skip("no Chromium on this machine")
    return path


def of_pages(fixture_name: str, config: pytest.Config) -> str:
    """Return the scope of a browser and of a page in it: in `make pages`, they last for the session.

    While they do, no other test of the process can run an event loop, so elsewhere they last for a module.
    """
    return "session" if config.getoption("markexpr").startswith("page") else "module"


@pytest.fixture(scope=of_pages)
def browser(chromium: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright  # imported here because the other tests do not need it

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """Yield an empty page; JavaScript errors fail the test."""
    page, errors = browser.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    page.close()
    assert errors == []


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of the corpora, which is next to the project, not in it."""
    path = ROOT.parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip("no corpora in ../shared/data")
    return path


@pytest.fixture(scope="session")
def notes() -> list[str]:
    """Return the notes that the book started from; their folder is next to the project, not in it."""
    path = ROOT.parent / "shared" / "notes"
    if not path.is_dir():
        pytest.skip("no notes in ../shared/notes")
    return [file.read_text("utf-8") for file in sorted(path.glob("*.txt"))]


@pytest.fixture
def insert() -> str:
    """Return a script that inserts HTML as JupyterLab does: scripts in it run once it is attached."""
    return """html => {
        const host = document.createElement("div");
        host.innerHTML = html;
        host.querySelectorAll("script").forEach(old => {
            const script = document.createElement("script");
            [...old.attributes].forEach(a => script.setAttribute(a.name, a.value));
            script.textContent = old.textContent;
            old.replaceWith(script);
        });
        document.body.append(host);
    }"""
