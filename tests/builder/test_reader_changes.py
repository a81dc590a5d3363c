"""A reader changes a setting of a chapter: every cell still runs, and what no longer holds says so."""

import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import jupytext
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from builder import reader_changes
from builder.chapters import written

ROOT = Path(__file__).resolve().parents[2]
SOURCES = written(ROOT)
# One change of each kind; `make changes` runs all of all chapters.
HANDFUL = ("04_self_attention", "08_positional_encoding", "18_decoding")


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_law_each_chapter_lists_five_changes_of_code_that_occurs_once(source):
    listed, notebook = reader_changes.changes(source), jupytext.read(source)
    assert len(listed) >= 5
    assert len({new for _, new in listed}) == len(listed)
    for old, new in listed:
        assert old != new
        reader_changes.changed(deepcopy(notebook), (old, new))  # it raises if the code does not occur once


@pytest.mark.message
def test_message_a_change_of_code_that_does_not_occur_once():
    notebook = new_notebook(cells=[new_code_cell("a = 1\nb = 1")])
    for old, count in (("= 1", 2), ("c = 1", 0)):
        sentence = f"the code '{old}' occurs {count} times, not once; give more of"
        with pytest.raises(ValueError, match=sentence):
            reader_changes.changed(notebook, (old, "= 2"))


SAID = {"text/markdown": "✗ keys read: **1** here; the book says above 2. You changed something above, …"}
PICTURE = {"text/html": '<figure class="at-figure" id="figure-1-1">'}
VERDICT = {"text/plain": "✗ Not yet: your answer is still empty"}


def cell(source, *data, error=None, **metadata):
    outputs = [new_output("display_data", data=each) for each in data]
    if error:
        trace = ["----> 2 f(SEEDS[2])"]
        outputs.append(new_output("error", ename="IndexError", evalue=error, traceback=trace))
    return new_code_cell(source, outputs=outputs, metadata=metadata)


def test_law_what_a_change_breaks_is_listed():
    good = [
        cell("claim('keys read', 1, above=2)", SAID, claims=["keys"]),
        cell("show_figure('1.1', fig)", PICTURE),
        cell("checks.check_answer(answer)", VERDICT, tags=["exercise"]),
        cell("f()", error="as it should", tags=["raises-exception"]),
    ]
    assert list(reader_changes.faults(new_notebook(cells=good))) == []
    bad = [
        cell("x = 1\nf(SEEDS[2])", error="list index out of range"),
        cell("claim('keys read', 1, above=2)", claims=["keys"]),
        cell("show_figure('1.1', fig)"),
        cell("checks.check_answer(answer)", tags=["exercise"]),
    ]
    assert list(reader_changes.faults(new_notebook(cells=bad))) == [
        "'x = 1' raises IndexError: list index out of range in 'f(SEEDS[2])'",
        "\"claim('keys read', 1, above=2)\": 0 of its claims are shown: []",
        "\"show_figure('1.1', fig)\": 0 of its 1 figures are drawn",
        "'checks.check_answer(answer)': the check gives no verdict",
    ]


@pytest.mark.parametrize(("silent", "found"), [(1, []), (2, ["the kernel has stopped answering, again"])])
def test_law_a_kernel_that_stops_answering_is_replaced_once(monkeypatch, capsys, silent, found):
    tried = []

    async def watched(client):
        tried.append(client.nb)
        if len(tried) <= silent:
            raise reader_changes.KernelSilent

    for name in (reader_changes.STRICT, "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # `run` changes them
    monkeypatch.setitem(reader_changes.execute_twice_if_silent.__globals__, "watched", watched)
    later = lambda notebook: [] if notebook is tried[-1] else ["an old one"]  # noqa: E731
    monkeypatch.setattr(reader_changes, "faults", later)
    source = SOURCES[3]
    change = reader_changes.changes(source)[0]
    assert reader_changes.run(source, change) == found
    assert len(tried) == 2
    assert [sum(change[1] in cell.source for cell in notebook.cells) > 0 for notebook in tried] == [True] * 2
    said = "04_self_attention: the kernel has stopped answering; executing the chapter again\n"
    assert capsys.readouterr().out == said


@pytest.mark.slow
@pytest.mark.parametrize("name", HANDFUL)
def test_law_after_a_change_a_chapter_runs_to_its_last_exercise(name):
    command = [sys.executable, "-m", "builder.reader_changes", name, "--only", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("1 of 1 changes run to the end\n")
