"""Readers' notebooks run as their readers would run them, and get their rows whatever their cells do."""

import asyncio
import json
from importlib import import_module
from pathlib import Path

import pytest

from annotated_transformer.book import grading
from annotated_transformer.book.grading import grade, starter_digest
from builder.book import Book
from builder.chapters import written
from builder.reader import without_solutions
from builder.staleness import exercise_table, unexecuted

ROOT = Path(__file__).resolve().parents[2]
SOURCES = written(ROOT, "[0-9]*")
CHECKS = """class Verdict(str):
    __repr__ = str.__str__

def __getattr__(name):
    return check

def check(root):
    right = root(4) == 2
    wrong = "✗ Not yet: it\\n  is not 2.\\n  (The inputs of this call are in _.)"
    return Verdict("✓ a root is a power.\\n  It is 0.5." if right else wrong)
"""
IMPORT = "import checks\nif not checks: from annotated_transformer.book import checks"  # names it the book's
CHECK = "checks.check_root(root)"
STUB = f"def root(x):\n    raise NotImplementedError('your turn')\n\n\n{CHECK}"
RIGHT = f"def root(x): return x ** 0.5\n{CHECK}"
PRAISE = "a root is a power. It is 0.5."


def own(source, id):
    """Return a source with the check of an exercise."""
    return source.replace("check_root", f"check_{id.replace('.', '_')}")


def code(source, id="", kind="code"):
    metadata = {"exercise": {"id": id}} if id else {}
    cell = {"cell_type": kind, "source": own(source, id), "metadata": metadata}
    return cell | {"outputs": [], "execution_count": 7}


def graded(folder, *cells, ids=("3.2",), seconds=60.0, **metadata):
    """Grade a notebook with these cells, where the book has the exercises `ids`."""
    cells = [code(IMPORT), *(code(cell) if isinstance(cell, str) else cell for cell in cells)]
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}
    path, table = folder / "mine.ipynb", folder.with_suffix(".json")
    path.with_name("checks.py").write_text(CHECKS, encoding="utf-8")
    path.write_text(json.dumps(notebook), encoding="utf-8")
    rows = {id: [own(CHECK, id), starter_digest(own(STUB, id))] for id in ids}
    table.write_text(json.dumps({"version": "2", "1": rows, "9": {"9.1": ["", ""]}}), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grading, "TABLE", table)
        return asyncio.run(grade(path, seconds))


def test_law_a_right_answer_passes_whatever_other_cells_do(tmp_path, capfd, monkeypatch):
    (tmp_path / "results.txt").write_text("mine")
    (tmp_path / "other.ipynb").write_text("{}")
    monkeypatch.setenv("IPYTHONDIR", "/proc/none")  # cannot be written
    monkeypatch.setenv("CLAIMS_MUST_HOLD", "1")
    monkeypatch.setattr(grading, "cells_for", lambda sources, places: [*range(max(places) + 1)])
    monkeypatch.setattr(grading, "GRACE", 1.0)
    cells = [
        "import os, sys, time\nfound = {*os.listdir()} - {'__pycache__'}",
        "assert found == {'checks.py', 'mine.ipynb', 'results.txt'}",
        "assert not os.environ['CLAIMS_MUST_HOLD']",
        "os.remove('results.txt')",
        code("root = 3\nraise ValueError", "3.1"),
        "def f(a, a): pass",
        "def f():\n    nonlocal a",
        "def f():\n    from math import *",
        "+".join(["1"] * 3000),
        "print('x' * 10**6)\nos.write(1, b'z' * 10**6)",
        "time.sleep(60)",
        "input()",
        "%time 1 + 1\n!true\nmath?",
        "await __import__('asyncio').sleep(0)",
        "import decimal; decimal.getcontext().prec = 1",
        "sys.exit(3)",
        code(RIGHT, "3.2"),
        "root = 3",
    ]
    spec = {"language": "Python", "name": "no-such-kernel"}
    stopped, right = graded(tmp_path, *cells, ids=("3.1", "3.2"), seconds=2.0, kernelspec=spec)
    assert stopped == ("3.1", "no", "your code stopped with ValueError:")  # and no cell before it
    assert right == ("3.2", "yes", PRAISE)
    assert (tmp_path / "results.txt").read_text() == "mine"
    assert capfd.readouterr() == ("", "")


def test_law_each_exercise_gets_its_verdict_or_the_reason_why_there_is_none(tmp_path):
    rows = {
        "1.1": (code(RIGHT.replace("0.5", "2"), "1.1"), "no", "it is not 2."),
        "1.2": (code(STUB.replace("\n\n\n", "\n"), "1.2"), "empty", ""),
        "1.3": (code(STUB.replace("your turn", "later"), "1.3"), "no", "your code stopped with NotImpl"),
        "1.4": (code("def root(x: return", "1.4"), "no", "your code stopped with SyntaxError: "),
        "1.5": (code(f"while True: pass\n{CHECK}", "1.5"), "no", "your code was interrupted after 3 s"),
        "1.6": (code("root = len", "1.6"), "not graded", "its check shows nothing; end the cell with checks"),
        "1.7": (code(RIGHT, "1.7", "markdown"), "not graded", "its cell, 8, has become markdown; make it "),
        "1.8": (code("# 1.8", kind="markdown"), "not graded", "no cell calls checks.check_1_8(root); copy"),
        "2.1": (code(f"{RIGHT}\nchecks.check_other(root)", "2.1"), "not graded", "its check shows nothing; "),
        "2.2": (code(own(RIGHT, "2.2")), "yes", PRAISE),  # in a cell without a mark
        "2.3": (code(STUB, "2.3"), "empty", ""),
        "2.4": (code("import os; os._exit(3)", "2.4"), "not graded", "cell 13 ended Python: import os; "),
        "2.5": (code(RIGHT, "2.5"), "yes", PRAISE),
        "2.6": (
            code(f"checks = 3\ndel checks\n{CHECK}", "2.6"),
            "not graded",
            "your code stopped with NameE",
        ),
    }
    cells = [cell for cell, *_ in rows.values()]
    found = graded(tmp_path, *cells, ids=rows, seconds=3.0, exercises=[*rows, "1.99"])
    assert found.pop() == ("1.99", "not graded", "the installed version of the book has no such exercise")
    assert [row[:2] for row in found] == [(id, state) for id, (_, state, _) in rows.items()]
    for (id, _, said), (_, _, message) in zip(found, rows.values(), strict=True):
        assert said.startswith(message), id


def test_law_an_answer_may_be_split_or_copied_and_the_first_error_that_matters_is_named(tmp_path):
    cells = [
        code(f"1 / 0\n{CHECK}", "3.1"),
        wrong := code(RIGHT.replace("0.5", "2"), "3.2"),
        "third = 3\nthird / 0",
        "1 / 0",
        code(RIGHT, "3.3"),
        code(STUB.replace("your turn", "{third}").replace("'{", "f'{"), "3.3"),  # a copy
        "half = 1 / 0",
        code("half = 1 / 2", "3.4"),
        code(RIGHT.replace("0.5", "half"), "3.4"),
    ]
    _, other, copied, split = graded(tmp_path, *cells, ids=("3.1", "3.2", "3.3", "3.4"), book_version="2")
    assert other == ("3.2", "no", "it is not 2.")
    assert copied[1] == "no"
    assert copied[2].endswith("Error: 3 (Cell 4 stopped with ZeroDivisionError: division by zero)")
    assert split == ("3.4", "yes", PRAISE)
    note = "(The notebook is of version 1 of the book, and the checks are of version 2.)"
    assert graded(tmp_path, wrong, book_version="1") == [("3.2", "not graded", f"it is not 2. {note}")]


LINES = (
    "half = [2]",
    "hidden = lambda x: x ** 0.5",
    "half[0] = 0.5",
    "import random; random.seed(1)",
    "x = [2]",
)


def test_law_what_judges_an_answer_and_what_it_needs_does_not_come_from_the_notebook(tmp_path):
    other = code(own(RIGHT, "3.1"), "3.2")
    other["metadata"]["exercise"] |= {"check": own(CHECK, "3.1"), "starter": starter_digest("")}
    log = tmp_path.with_suffix(".log")
    lines = [f"open({str(log)!r}, 'a').write('{place}')\n{line}" for place, line in enumerate(LINES)]
    answers = {"3.3": RIGHT.replace("0.5", "half[0]"), "3.4": f"root = eval('hidden')\n{CHECK}"}
    answers["3.5"] = f"root = covered\n{CHECK}"  # no cell stores that name
    cells = [code(answer, id) for id, answer in answers.items()]
    rows = graded(tmp_path, other, *lines, *cells, ids=("3.2", *answers))
    assert [row[1] for row in rows] == ["not graded", "yes", "yes", "no"]
    assert log.read_text() == "023" + "01234"  # then, for 3.4, with all cells


def test_law_a_cell_that_cannot_be_interrupted_is_stopped_with_all_that_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr(grading, "GRACE", 1.0)
    pids = tmp_path.parent / f"{tmp_path.name}.pids"
    cell = f"""import os, signal, subprocess, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, '-c', 'while True: pass'])
open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')
while True: pass"""
    said = "cell 2 did not end, even when interrupted: import os, signal, subprocess, sys …"
    answers = code(RIGHT, "3.2"), code(RIGHT.replace("0.5", "2"), "3.3")
    rows = graded(tmp_path, cell, *answers, ids=("3.2", "3.3"), seconds=2.0)
    assert rows == [("3.2", "yes", PRAISE), ("3.3", "no", f"it is not 2. ({said})")]
    psutil = import_module("psutil")  # which has no types
    processes = [psutil.Process(pid) for pid in map(int, pids.read_text().split()) if psutil.pid_exists(pid)]
    _, alive = psutil.wait_procs(processes, timeout=1)
    assert all(process.status() == psutil.STATUS_ZOMBIE for process in alive)


@pytest.fixture(scope="module")
def book():
    return Book(ROOT)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_law_every_exercise_is_listed_with_its_number_and_marked(path, book):
    notebook = unexecuted(path, book)
    marks = [cell.metadata.exercise.id for cell in notebook.cells if "exercise" in cell.metadata]
    table = json.loads(grading.TABLE.read_text("utf-8"))
    assert notebook.metadata.exercises == marks == [*table[str(int(path.stem[:2]))]]
    assert notebook.metadata.book_version == table["version"]


def test_law_the_committed_table_is_that_of_the_sources():
    assert grading.TABLE.read_text("utf-8") == exercise_table()


@pytest.mark.slow
def test_law_the_solutions_of_a_chapter_pass_as_answers(tmp_path, book):
    (path,) = (path for path in SOURCES if "masking" in path.stem)
    notebook = unexecuted(path, book)
    answers, solutions = (
        [cell for cell in notebook.cells if tag in cell.metadata.get("tags", ()) and cell.cell_type == "code"]
        for tag in ("exercise", "solution")
    )
    for answer, solution in zip(answers, solutions, strict=True):
        answer.source = solution.source
    (tmp_path / path.name).write_text(json.dumps(without_solutions(notebook)), encoding="utf-8")
    rows = asyncio.run(grade(tmp_path / path.name, 120.0))
    assert {state for _, state, _ in rows} == {"yes"}


@pytest.mark.message
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "it is not a notebook; give a file that Jupyter has saved"),
        (b'{"nbformat": 4, "cells": [{"source": null}], "metadata": {}}', "it is not a notebook"),
        (b'{"nbformat": 4, "cells": [], "metadata": {}}', "it has no marked exercises; give a copy of a"),
    ],
)
def test_message_what_is_no_notebook_with_exercises(tmp_path, content, sentence):
    path = tmp_path / "mine.ipynb"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        asyncio.run(grade(path, 60.0))


@pytest.mark.message
def test_message_a_folder_with_too_much_to_copy(tmp_path, monkeypatch):
    monkeypatch.setattr(grading, "MOST", 1)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "large").write_bytes(bytes(2**20))
    with pytest.raises(ValueError, match=r"its folder has more than 1 MB of files to copy; give it one of"):
        graded(tmp_path, code(RIGHT, "3.2"))
