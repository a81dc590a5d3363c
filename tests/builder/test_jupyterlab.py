"""A reader's journey through JupyterLab: a start page, a chapter, an answer, a saved copy, and a figure."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.builder.test_reader import LINES, RAW

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
NAME = "03_scaled_dot_product_attention"
SETTINGS = {  # all cells in the page at once, and no window in front of them
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false"},
}
# Of each cell: its kind, its text, whether it is shown, and how many lines of its code are open.
SEEN = """() => [...document.querySelectorAll(".jp-Notebook .jp-Cell")].map(cell => ({
    text: cell.classList.contains("jp-MarkdownCell"),
    words: cell.innerText,
    shown: cell.offsetParent !== null,
    lines: [...cell.querySelectorAll(".jp-CodeCell .cm-line, .jp-InputArea-editor .cm-line")]
        .filter(line => line.offsetParent).length,
}))"""
# Clears the stored outputs, so that a number says that its cell has run, and waits for the kernel:
# without one, JupyterLab runs nothing.
RUN_ALL = """async () => {
    const context = jupyterapp.shell.currentWidget.sessionContext;
    await context.ready;
    await context.session.kernel.info;
    await jupyterapp.commands.execute("notebook:clear-all-cell-outputs");
    jupyterapp.commands.execute("notebook:run-all-cells");
}"""
ERROR = '[data-mime-type="application/vnd.jupyter.stderr"]'
RAN = """() => [...jupyterapp.shell.currentWidget.content.model.cells]
    .every(cell => cell.type !== "code" || cell.executionCount)"""
ACTIVE = "jupyterapp.shell.currentWidget.content.activeCellIndex"
STATE = "it => String([it.value, it.getAttribute('aria-valuetext'), it.closest('figure').dataset.lit])"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="module")
def address(folder, tmp_path_factory):
    settings = tmp_path_factory.mktemp("settings")
    (folder / f"{NAME}.ipynb").write_bytes((ROOT / "chapters" / f"{NAME}.ipynb").read_bytes())
    start = import_module("builder.lab").start_page({}, student=False)
    (folder / "start.ipynb").write_text(json.dumps(start), encoding="utf-8")
    for name, values in SETTINGS.items():
        path = settings / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(values), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = {"JUPYTER_CONFIG_DIR": str(settings), "JUPYTER_DATA_DIR": str(settings), "OMP_NUM_THREADS": "1"}
    options = ["--no-browser", "--allow-root", "--expose-app-in-browser"]
    options += [f"--ServerApp.port={port}", "--IdentityProvider.token="]
    settings_here = f"--LabApp.user_settings_dir={settings}"
    command = [sys.executable, "-m", "jupyterlab", *options, settings_here, folder]
    with (settings / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **home})
    try:
        for _ in range(300):
            try:
                urlopen(f"http://127.0.0.1:{port}/lab").close()
                break
            except OSError:
                assert server.poll() is None, (settings / "log").read_text()
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/lab/workspaces"
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def page(browser):
    size = {"width": 1280, "height": 1000}
    with contextlib.closing(browser.new_context(viewport=size)) as context:
        context.set_default_timeout(120_000)
        yield context.new_page()


def answer(page, expression, verdict):
    """Replace the answer of the first exercise, run its cell, and wait for the verdict."""
    cell = page.locator(".jp-CodeCell", has_text="def my_softmax(scores)").first
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(
        "def my_softmax(scores):\n    m = max(scores); t = sum(math.exp(s - m) for s in scores)\n"
        f"    return [{expression}]\nchecks.check_softmax(my_softmax)"
    )
    page.keyboard.press("Control+Enter")
    cell.locator(".jp-OutputArea-output", has_text=verdict).wait_for()


def test_law_a_reader_opens_reads_runs_answers_and_saves_a_chapter(address, page, folder):
    page.goto(f"{address}/start/tree/start.ipynb")
    page.wait_for_selector(".jp-RenderedMarkdown h1")
    page.locator(".jp-Dialog, .jp-KernelName:has-text('Python 3')").first.wait_for()
    assert page.locator(".jp-Dialog").all_inner_texts() == []  # no question of the kernel to choose

    cells = json.loads((ROOT / "chapters" / f"{NAME}.ipynb").read_text("utf-8"))["cells"]
    page.goto(f"{address}/{NAME}/tree/{NAME}.ipynb")  # in a workspace of its own
    count = "n => document.querySelectorAll('.jp-Notebook .jp-Cell').length === n"
    page.wait_for_function(count, arg=len(cells))
    page.wait_for_selector(".jp-RenderedMarkdown h1")
    seen = page.evaluate(SEEN)
    texts = [place for place, cell in enumerate(seen) if cell["text"]]
    assert sum(cell["lines"] for cell in seen[: texts[1]]) <= LINES
    assert sum(cell["lines"] for cell in seen) > LINES  # open code is counted
    assert [found for cell in seen if cell["text"] for found in RAW.findall(cell["words"])] == []
    solutions = [place for place, cell in enumerate(cells) if "solution" in cell["metadata"].get("tags", [])]
    headings = [place for place in solutions if "jp-MarkdownHeadingCollapsed" in cells[place]["metadata"]]
    hidden = [place for place, cell in enumerate(seen) if not cell["shown"]]
    start, end = (next(i for i, cell in enumerate(cells) if cell["id"] == id) for id in ("handbook", "after"))
    folded = [*(place for place in solutions if place not in headings), *range(start + 1, end)]
    assert hidden == folded != []

    page.evaluate(RUN_ALL)
    expected = sum("raises-exception" in cell["metadata"].get("tags", []) for cell in cells)
    ended = f"most => ({RAN})() || document.querySelectorAll({ERROR!r}).length > most"  # it runs no more
    page.wait_for_function(ended, arg=expected, timeout=300_000, polling=500)
    failed = page.locator(ERROR).all_inner_texts()
    assert len(failed) == expected, failed
    last = page.locator(".jp-CodeCell").last.inner_text()
    assert re.search(r"✓ (\d+) of \1 claims and checks hold", last)
    answer(page, "1 / len(scores) for s in scores", "✗")
    answer(page, "math.exp(s - m) / t for s in scores", "✓")

    page.keyboard.press("Escape")
    page.keyboard.press("b")  # a new cell
    page.keyboard.press("Control+s")
    for _ in range(100):
        with contextlib.suppress(ValueError):  # half written
            saved = json.loads((folder / f"{NAME}.ipynb").read_text("utf-8"))["cells"]
            if len(saved) > len(cells):
                break
        page.wait_for_timeout(300)
    assert len(saved) == len(cells) + 1
    marks, same = ([cell["metadata"].get("exercise") for cell in each] for each in (cells, saved))
    assert [*filter(None, same)] == [*filter(None, marks)] != []

    part = page.locator("figure :is(input[type=range], [role=slider], svg[tabindex])").first
    part.focus()
    states, cell = set(), page.evaluate(ACTIVE)
    for key in ("ArrowUp", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
        states.add(part.evaluate(STATE))
    assert (len(states) > 1, page.evaluate(ACTIVE)) == (True, cell)  # keys move the figure and no cell
