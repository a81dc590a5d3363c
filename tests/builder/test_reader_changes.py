"""A reader changes a setting of a chapter: every cell still runs, and what no longer holds says so.

Each claim shows its line (✓ or ✗ with its value), each figure is drawn, and each check gives its verdict.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

from annotated_transformer.book.output import STRICT
from builder.book import Book
from builder.chapters import source_of
from builder.staleness import unexecuted

ROOT = Path(__file__).resolve().parents[2]
TRUE_OF_ALL = {"06_masking", "14_transformer"}  # what the book says is true after such a change, too
READERS = {"exercise", "solution"}
LINE = re.compile(r"[✓✗–] ")
CHANGES = [  # one of each kind: an entry that is renamed, seeds, a sentence, a model, and a list to loop over
    ("02_queries_keys_values", '"roles exchanged": swap_roles', '"swapped": swap_roles'),
    ("04_self_attention", "SEEDS = range(3)", "SEEDS = range(10, 12)"),
    ("08_positional_encoding", '"susan gave roses to mary"\nrng', '"susan gave mary to roses"\nrng'),
    ("20_the_same_as_pytorch", "num_layers=2, d_model=20", "num_layers=3, d_model=24"),
    ("06_masking", 'schläft", "<s> Hunde rennen <pad>"', 'schläft </s>", "<s> Hunde rennen </s> <pad>"'),
    ("14_transformer", '(["I hope that you can come tomorrow."])', '(["The old man likes to read a book."])'),
    ("21_cost_and_scale", "TOKENS = [32, 128, 512, 2048, 8192, 32768]", "TOKENS = [16, 64, 1000]"),
]


def faults(notebook: NotebookNode) -> Iterator[str]:
    """Yield what is missing from the outputs of an executed notebook."""
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        begins = cell.source.strip().partition("\n")[0][:60]
        errors = [each for each in cell.outputs if each.output_type == "error"]
        if errors and "raises-exception" not in cell.metadata.get("tags", []):
            yield f"{begins!r} raises {errors[0].ename}: {errors[0].evalue.partition(chr(10))[0]}"
        if errors:
            continue
        data = [output.get("data", {}) for output in cell.outputs]
        said = [text for each in data if LINE.match(text := each.get("text/markdown", ""))]
        if len(said) < len(cell.metadata.get("claims", [])):
            yield f"{begins!r}: {len(said)} of its claims are shown: {said}"
        drawn = sum(each.get("text/html", "").count('<figure class="at-figure') for each in data)
        wanted = len(re.findall(r"^show_(?:figure|slider|drag)\(", cell.source, re.MULTILINE))
        if drawn < wanted:
            yield f"{begins!r}: {drawn} of its {wanted} figures are drawn"
        checked = re.search(r"^checks\.check_", cell.source, re.MULTILINE)
        if checked and not any(LINE.match(each.get("text/plain", "")) for each in data):
            yield f"{begins!r}: the check gives no verdict"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "old", "new"), CHANGES, ids=[name for name, *_ in CHANGES])
def test_law_after_a_change_a_chapter_runs_to_its_last_exercise(name, old, new, monkeypatch):
    monkeypatch.delenv(STRICT, raising=False)  # as in a reader's copy
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    notebook = unexecuted(source_of(ROOT, name), Book(ROOT))
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    (cell,) = (c for c in code if old in c.source and not READERS & {*c.metadata.get("tags", [])})
    cell.source = cell.source.replace(old, new)
    resources = {"metadata": {"path": str(ROOT / "chapters")}}
    client = NotebookClient(notebook, timeout=600, allow_errors=True, resources=resources)
    assert list(faults(client.execute())) == []
    assert name not in TRUE_OF_ALL or "✗" not in code[-1].outputs[0].data["text/markdown"]  # the tally
