"""The notebooks in JupyterLab: code is folded, texts are readable, answers are graded, and all cells run."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.book.test_reader import RAW

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(path.stem for path in (ROOT / "chapters").glob("*.ipynb"))
RUN = ("03_scaled_dot_product_attention", "08_positional_encoding", "12_cross_attention")
SETTINGS = {  # all cells in the page at once, and no window in front of them
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false"},
}
LINES = 15
# What a reader sees of each cell: its kind, its text, and how many lines of its code are open.
SEEN = """() => [...document.querySelectorAll(".jp-Notebook .jp-Cell")].map(cell => ({
    text: cell.classList.contains("jp-MarkdownCell"),
    words: cell.innerText,
    lines: [...cell.querySelectorAll(".jp-CodeCell .cm-line, .jp-InputArea-editor .cm-line")]
        .filter(line => line.offsetParent).length,
}))"""
BUSY = """() => [...document.querySelectorAll(".jp-CodeCell .jp-InputPrompt")]
    .some(prompt => prompt.innerText.includes("*"))"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Start JupyterLab in a folder of copies, and return its address."""
    folder, settings = tmp_path_factory.mktemp("lab"), tmp_path_factory.mktemp("settings")
    for name in NAMES:
        (folder / f"{name}.ipynb").write_bytes((ROOT / "chapters" / f"{name}.ipynb").read_bytes())
    for name, values in SETTINGS.items():
        path = settings / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(values), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = {"JUPYTER_CONFIG_DIR": str(settings), "JUPYTER_DATA_DIR": str(settings), "OMP_NUM_THREADS": "1"}
    options = ["--no-browser", "--allow-root", f"--ServerApp.port={port}", "--IdentityProvider.token="]
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        *options,
        f"--LabApp.user_settings_dir={settings}",
        str(folder),
    ]
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
def opened(address, browser, request):
    """Return a function that opens a notebook and waits until all of its cells are there."""
    pages = []

    def open_notebook(name):
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        pages.append(page)
        workspace = f"{name}-{request.node.originalname}"  # with no other notebook open
        page.goto(f"{address}/{workspace}/tree/{name}.ipynb", timeout=120_000)
        cells = json.loads((ROOT / "chapters" / f"{name}.ipynb").read_text("utf-8"))["cells"]
        page.wait_for_function(
            "n => document.querySelectorAll('.jp-Notebook .jp-Cell').length === n",
            arg=len(cells),
            timeout=120_000,
        )
        page.wait_for_selector(".jp-RenderedMarkdown h1", timeout=120_000)
        return page

    yield open_notebook
    for page in pages:
        page.close()


@pytest.mark.parametrize("name", NAMES)
def test_law_a_reader_sees_little_code_before_the_second_text_and_no_myst(opened, name):
    seen = opened(name).evaluate(SEEN)
    texts = [place for place, cell in enumerate(seen) if cell["text"]]
    assert sum(cell["lines"] for cell in seen[: texts[1]]) <= LINES
    assert sum(cell["lines"] for cell in seen) > LINES  # open code is counted
    assert [found for cell in seen if cell["text"] for found in RAW.findall(cell["words"])] == []


def run_all(page):
    """Run all cells, and wait until the last has run."""
    page.keyboard.press("Escape")
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    page.wait_for_function(BUSY, timeout=60_000)
    page.wait_for_function(f"() => !({BUSY})()", timeout=300_000)


@pytest.mark.parametrize("name", RUN)
def test_law_all_cells_run(opened, name):
    page = opened(name)
    run_all(page)
    cells = json.loads((ROOT / "chapters" / f"{name}.ipynb").read_text("utf-8"))["cells"]
    expected = sum("raises-exception" in cell["metadata"].get("tags", []) for cell in cells)
    failed = page.locator("[data-mime-type='application/vnd.jupyter.stderr']").all_inner_texts()
    assert len(failed) == expected, failed
    if name == RUN[0]:
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
