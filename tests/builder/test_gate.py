"""`make test` catches changes that make a chapter's text or outputs wrong.

Runs its actual stages `fresh` and `chapters-run` on a small copy of the project.
"""

import ast
import inspect
import json
import re
import shlex
import shutil
import sys
from collections import Counter

import nbformat
import pytest

from annotated_transformer.model.masks import causal_mask
from tests.builder.conftest import copy_project, run_in
from tests.quick import test_files as files_of


@pytest.fixture(scope="module")
def once(root, small, tmp_path_factory):
    """Return a copy of the project with the small chapter built, and its first figure again at its end."""
    folder = tmp_path_factory.mktemp("built")
    copy_project(root, folder)
    (again,) = re.findall(r"^```.code-cell[^`]*^lengths[^`]*```\n\n```.words[^`]*```\n", small, re.MULTILINE)
    (folder / "chapters" / "src" / "01_fixture.md").write_text(f"{small}\n{again}", "utf-8")
    result = run_in(folder, sys.executable, "-m", "builder.build")
    assert result.returncode == 0, result.stdout
    return folder


@pytest.fixture
def copy(once, tmp_path):
    """Return a copy of it that the test may change."""
    return shutil.copytree(once, tmp_path, dirs_exist_ok=True)


@pytest.fixture
def make(run):
    """Run a target of the copy's Makefile with this environment, even if it is out of date."""
    environment = f"RUN={shlex.quote(sys.executable)}", "JOBS=0"  # in one process
    return lambda target: run("make", "-o", ".venv/ready", "-o", ".venv/tested", *environment, target)


def change(path, old, new):
    text = path.read_text("utf-8")
    assert old in text, f"{old!r} is not in {path.name}"
    path.write_text(text.replace(old, new), "utf-8")


def store_other_values(clean, path):
    """Write a notebook that repeats a claim, each time with another stored value; return the value it has."""
    notebook = json.loads(clean)
    (cell,) = (cell for cell in notebook["cells"] if '"claim"' in json.dumps(cell))
    claim = cell["outputs"][0]["metadata"]["claim"]
    (value,) = claim["value"]
    moving = [line.replace("0.5))", "0.5), moves=True)") for line in cell["source"]]
    for name, stored, source in (
        ("another", {"claim": {**claim, "value": [1.002 * value]}}, cell["source"]),
        ("moves", {"claim": {**claim, "value": [1.02 * value], "moves": True}}, moving),
        ("moves-no-more", {"claim": {**claim, "moves": True}}, cell["source"]),
        ("nothing", {}, cell["source"]),
    ):
        output = {**cell["outputs"][0], "metadata": stored}
        notebook["cells"].append({**cell, "id": name, "outputs": [output], "source": source})
    path.write_text(json.dumps(notebook), "utf-8")
    return value


def test_law_the_gate_notices_changed_outputs_sources_claims_and_cells_but_no_pictures(copy, make, module):
    source, notebook = copy / "chapters" / "src" / "01_fixture.md", copy / "chapters" / "01_fixture.ipynb"
    clean = notebook.read_bytes()
    figure, words = json.loads(clean)["cells"][-4:-2]  # the last two count the claims
    for old, new in (
        ('"At 19 tokens 47% of', '"At 19 tokens 48% of'),  # a sentence
        ("(the book says between 0.45", "(the book says between 0.46"),  # a claim's bound
        ('"last": 0.47', '"last": 0.57'),  # a value in a figure's words
        ("0.47: always &lt; ½.", "0.57: always &lt; ½."),
        ('"frame": 2', '"frame": 4'),  # one in those of a slider
        ("tokens 2: 2 rows", "tokens 2: 4 rows"),
        ('"        [ True,  True]])"', '"        [ True, False]])"'),  # a printed tensor
        ('"✓ a square', '"✗ a square'),  # a verdict
    ):
        change(notebook, old, new)
    found = json.loads(notebook.read_text("utf-8"))
    pixels = re.sub(r"(svg\+xml,.{50}).{100}", r"\1" + "A" * 100, json.dumps(figure))
    changed = json.loads(re.sub(r'data-drawn=\\"\w+', 'data-drawn=\\"01234567', pixels))
    assert changed != figure
    found["cells"][-4:-2] = changed, words
    notebook.write_text(json.dumps(found), "utf-8")
    assert make("chapters").returncode == 0  # the first cell remembers the words
    assert make("fresh").returncode == 0  # the cells still match the source: only execution shows it
    stale = module("staleness").all_stale
    for path, old, new in (
        (source, "range(1, 20)\n", "range(1, 21)\n"),
        (source, "The first token looks", "The first token looms"),
        (source, "tags: [hide-input]\n\nlengths", "tags: [hide-cell]\n\nlengths"),
        (notebook, "- A mask of 19 tokens hides nearly", "- A mask hides neraly"),  # by hand
    ):
        assert stale() == []
        change(path, old, new)
        (reason,) = stale()
        assert reason.startswith("01_fixture: the cells differ from the source")
        change(path, new, old)
    value = store_other_values(clean, notebook.with_stem("02_claims"))
    last = inspect.getsource(inspect.unwrap(causal_mask)).splitlines()[-1]
    change(copy / "annotated_transformer" / "model" / "masks.py", last, last + "  # says nothing new")
    result = make("chapters-run")
    assert result.returncode != 0
    failed = re.findall(r"^_+ chapters/(\w+)\.ipynb::", result.stdout, re.MULTILINE)
    # The first: these, and the source that it shows; test_drawn.py notices the pixels. The second: that, too.
    assert Counter(failed) == {"01_fixture": 6 + 1, "02_claims": 3 + 1}
    assert "says nothing new" in result.stdout
    now = f"The claim 'hidden pairs of 19 tokens' now has the value [{value}], and not"
    said = "The words of a figure now have the value"
    values = re.findall(r"Cell \d+: (.* the value .*|.* values .*)", result.stdout)
    assert list(dict.fromkeys(values)) == [  # in CI, pytest's summary repeats them
        f"{now} [{1.002 * value}] (within 0.1%)",
        f"{now} [{value}] (within 0.1%)",
        "0 values of claims are stored, not 1: make chapters",
        f"{said} ('last', {value}), and not ('last', {str(value).replace('4', '5', 1)})",
        f"{said} ('frame', 2), and not ('frame', 4)",
    ]
    moved = "1 move with rounding, and keep their bounds"
    assert f"claims: 1 values are the stored ones, within 0.1%; {moved}" in result.stdout
    result = make("fresh")
    assert result.returncode != 0
    assert "02_claims: 02_claims.md is missing" in result.stdout


def test_law_quick_runs_the_test_files_of_what_has_changed(capsys):
    assert {str(path) for path in files_of(["annotated_transformer/model/checks.py", "README.md"])} == set()
    assert "annotated_transformer/model/checks.py: no test file" in capsys.readouterr().err
    for path, tests in {
        "annotated_transformer/config.py": "tests/test_config.py",
        "annotated_transformer/model/attention.py": "tests/model/test_attention.py",
        "annotated_transformer/book/toy/lookup.py": "tests/book/test_toy.py",
        "annotated_transformer/book/chapters/encoder/pooling.py": "tests/book/chapters/test_encoder.py",
        "builder/build.py": "tests/builder/test_build.py",
        "builder/seeds.py": "tests/builder/test_seeds.py",
        "builder/explorer/pack.py": "tests/builder/test_explorer.py",
        "tests/test_api.py": "tests/test_api.py",
        "tests/colors.py": "",
    }.items():
        assert {str(file) for file in files_of([path])} == set(tests.split())


BARE = "-m pytest -q -p no:cacheprovider -p nbval --nbval chapters/01_fixture.ipynb".split()


def test_law_results_that_no_longer_hold_fail_bare_nbval(copy, run):
    notebook = copy / "chapters" / "01_fixture.ipynb"
    change(notebook, "between=(0.45, 0.5)", "between=(0.45, 0.46)")
    change(notebook, "torch.equal(causal_mask(2), by_hand)", "False")
    result = run(sys.executable, *BARE)
    assert result.returncode == 1
    assert "this does not hold: hidden pairs of 19 tokens: 0.47 here; the book says" in result.stdout
    assert "this does not hold: by hand and by the package: not here" in result.stdout


SHOWS = re.compile("show_|say|check_(?!close)|claim|plot_|run_(?!messages)")


def test_law_every_committed_cell_was_executed(root):
    for path in sorted((root / "chapters").glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code" and "nbval-ignore-output" not in cell.metadata.get("tags", []):
                assert cell.execution_count, (path.name, cell.source)
                match ast.parse(cell.source).body[-1:]:
                    case [ast.Expr(ast.Call(ast.Name(name)))] if SHOWS.match(name):
                        assert cell.outputs, (path.name, cell.source)
