"""Three notebooks in JupyterLab: code is folded, texts are readable, answers are graded, all cells run."""

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
# JupyterLab treats all notebooks the same way; what differs between them is tested in test_reader.py.
NAMES = ("03_scaled_dot_product_attention", "08_positional_encoding", "12_cross_attention")
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
# Puts a check that fails into the setup cell and runs it; runs the last cell.
FAIL = """async () => {
    const { content } = jupyterapp.shell.currentWidget;
    content.activeCellIndex = content.widgets.findIndex(cell => cell.model.type === "code");
    const check = "from annotated_transformer.book.cells.check import check\\ncheck(False, 'two is one')";
    content.activeCell.model.sharedModel.setSource(check);
    await jupyterapp.commands.execute("notebook:run-cell");
    return content.activeCellIndex;
}"""
RUN_LAST = """async () => {
    const { content } = jupyterapp.shell.currentWidget;
    content.activeCellIndex = content.widgets.length - 1;
    await jupyterapp.commands.execute("notebook:run-cell");
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="module")
def address(folder, tmp_path_factory):
    settings = tmp_path_factory.mktemp("settings")
    for name in NAMES:
        (folder / f"{name}.ipynb").write_bytes((ROOT / "chapters" / f"{name}.ipynb").read_bytes())
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


def cells_of(name):
    return json.loads((ROOT / "chapters" / f"{name}.ipynb").read_text("utf-8"))["cells"]


@pytest.fixture(scope="module")
def window(browser):
    with contextlib.closing(browser.new_context(viewport={"width": 1280, "height": 1000})) as context:
        context.set_default_timeout(120_000)
        yield context


@pytest.fixture(scope="module", params=NAMES)
def opened(address, window, request):
    """Open a notebook, wait until all of its cells are there, and return its page and its name."""
    page, name = window.new_page(), request.param
    page.goto(f"{address}/{name}/tree/{name}.ipynb")  # in a workspace of its own
    page.wait_for_function(
        "n => document.querySelectorAll('.jp-Notebook .jp-Cell').length === n", arg=len(cells_of(name))
    )
    page.wait_for_selector(".jp-RenderedMarkdown h1")
    yield page, name
    page.close()


def test_law_the_start_page_opens_with_a_kernel_and_without_a_question(address, window):
    page = window.new_page()
    page.goto(f"{address}/start/tree/start.ipynb")
    page.wait_for_selector(".jp-RenderedMarkdown h1")
    page.locator(".jp-Dialog, .jp-KernelName:has-text('Python 3')").first.wait_for()
    assert page.locator(".jp-Dialog").all_inner_texts() == []
    page.close()


def test_law_a_reader_sees_little_code_before_the_second_text_no_solution_and_no_myst(opened):
    page, name = opened
    cells, seen = cells_of(name), page.evaluate(SEEN)
    texts = [place for place, cell in enumerate(seen) if cell["text"]]
    assert sum(cell["lines"] for cell in seen[: texts[1]]) <= LINES
    assert sum(cell["lines"] for cell in seen) > LINES  # open code is counted
    assert [found for cell in seen if cell["text"] for found in RAW.findall(cell["words"])] == []
    solutions = [place for place, cell in enumerate(cells) if "solution" in cell["metadata"].get("tags", [])]
    headings = [place for place in solutions if "jp-MarkdownHeadingCollapsed" in cells[place]["metadata"]]
    assert headings
    hidden = [place for place, cell in enumerate(seen) if not cell["shown"]]
    assert hidden == [place for place in solutions if place not in headings]


def test_law_all_cells_run_and_answers_are_graded(opened):
    page, name = opened
    page.evaluate(RUN_ALL)
    expected = sum("raises-exception" in cell["metadata"].get("tags", []) for cell in cells_of(name))
    ended = f"most => ({RAN})() || document.querySelectorAll({ERROR!r}).length > most"  # it runs no more
    page.wait_for_function(ended, arg=expected, timeout=300_000, polling=500)
    failed = page.locator(ERROR).all_inner_texts()
    assert len(failed) == expected, failed
    if name == NAMES[0]:
        for answer, verdict in (
            ("1 / len(scores) for s in scores", "✗"),
            ("math.exp(s - m) / t for s in scores", "✓"),
        ):
            cell = page.locator(".jp-CodeCell", has_text="def my_softmax(scores)").first
            cell.locator(".cm-content").click()
            page.keyboard.press("Control+a")
            page.keyboard.insert_text(
                "def my_softmax(scores):\n    m = max(scores); t = sum(math.exp(s - m) for s in scores)\n"
                f"    return [{answer}]\nchecks.check_softmax(my_softmax)"
            )
            page.keyboard.press("Control+Enter")
            cell.locator(".jp-OutputArea-output", has_text=verdict).wait_for()


def test_law_keys_move_an_interactive_figure_and_no_cell(opened):
    page, _ = opened
    parts = page.locator("figure :is(input[type=range], [role=slider], svg[tabindex])").all()
    assert parts
    for part in parts:
        part.focus()
        seen, cell = set(), page.evaluate(ACTIVE)
        for key in ("ArrowUp", "ArrowDown", "ArrowDown"):
            page.keyboard.press(key)
            seen.add(part.evaluate(STATE))
        assert (len(seen) > 1, page.evaluate(ACTIVE)) == (True, cell)


def test_law_the_last_line_counts_claims_and_links_to_the_cell_of_one_that_fails(opened):
    page, _ = opened
    last = page.locator(".jp-CodeCell").last
    whole = re.search(r"✓ (\d+) of \1 claims and checks hold", last.inner_text())
    assert whole
    place = page.evaluate(FAIL)
    page.evaluate(RUN_LAST)  # which scrolls to it
    words = f"✓ {whole[1]} of {int(whole[1]) + 1} claims and checks hold in this kernel. ✗ 1: two is one."
    last.locator(".jp-OutputArea-output", has_text=words).wait_for()
    last.get_by_role("link", name="two is one").click()
    page.wait_for_function(f"document.querySelectorAll('.jp-Cell')[{place}].getBoundingClientRect().top > 0")


def test_law_saving_keeps_the_marks_of_exercises(opened, folder):
    page, name = opened
    before = cells_of(name)
    page.keyboard.press("Escape")
    page.keyboard.press("b")  # a new cell
    page.keyboard.press("Control+s")
    for _ in range(100):
        with contextlib.suppress(ValueError):  # half written
            saved = json.loads((folder / f"{name}.ipynb").read_text("utf-8"))["cells"]
            if len(saved) > len(before):
                break
        page.wait_for_timeout(300)
    assert len(saved) == len(before) + 1
    marks, same = ([cell["metadata"].get("exercise") for cell in cells] for cells in (before, saved))
    assert [*filter(None, same)] == [*filter(None, marks)] != []
