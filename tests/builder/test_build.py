"""The builder is reproducible, stores nothing machine-specific, and keeps no chapter older than its data."""

import json
import re
import runpy
import subprocess
import sys
from compileall import compile_dir

import nbformat
import pytest
from nbconvert import ScriptExporter

from annotated_transformer.book.cells.source import show_source
from annotated_transformer.model.masks import causal_mask
from builder.imports import PACKAGE, fingerprint, imported

HEADER = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {display_name: Python 3, language: python, name: python3}
---
"""


def chapter(copy, *cells, name="01_one"):
    blocks = [f"```{{code-cell}} ipython3\n{cell}\n```\n" for cell in cells]
    (copy / "chapters" / "src" / f"{name}.md").write_text("\n".join([HEADER, *blocks]))
    return copy / "chapters" / f"{name}.ipynb"


@pytest.fixture
def builder(module):
    return module("build")


@pytest.fixture
def pretender(builder, monkeypatch, capsys):
    """Return a function that runs the builder with `execute` mocked and returns the executed chapters.

    The word "weights" opens a weights file, and the word "show" shows the source of `causal_mask`.
    """

    def execute(source, book):
        notebook = builder.unexecuted(source, book)
        opened = ["../annotated_transformer/weights/en-de/config.json"] * ("weights" in source.read_text())
        notebook.metadata["made_of"] = builder.made_of(opened)
        for cell in notebook.cells:
            if "show" in cell.source:
                page = {"text/markdown": repr(show_source(causal_mask))}
                cell.outputs = [nbformat.v4.new_output("display_data", page)]
            if cell.cell_type == "code":
                builder.name_folded(cell)
        return builder.text_of(notebook)

    monkeypatch.setattr(builder, "execute", execute)

    def build():
        builder.build([])
        return re.findall(r"built (\w+)\.ipynb", capsys.readouterr().out)

    return build


def test_law_two_builds_give_the_same_bytes_and_keep_what_nbval_compares(copy, builder, capsys):
    notebook = chapter(
        copy,
        "'a' * 3",
        "'a' * 3",
        ":tags: [raises-exception]\n\n1 / 0",
        "print({'b', 'c'} >= {'b'})",
        ":tags: [remove-output, nbval-ignore-output]\n\nobject()",  # like a widget: output differs each time
    )
    builder.build([])
    first = notebook.read_bytes()
    builder.build(["01_one"])
    assert capsys.readouterr().out == "built 01_one.ipynb\n" * 2
    assert notebook.read_bytes() == first
    _, *cells = [cell for cell in json.loads(first)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == [2, 3, 4, 5, 6]
    assert len({cell["id"] for cell in cells}) == 5
    assert cells[0]["outputs"][0]["data"]["text/plain"] == ["'aaa'"]
    assert cells[2]["outputs"][0]["traceback"] == ["ZeroDivisionError: division by zero"]
    assert cells[4]["outputs"] == []
    assert all("execution" not in cell["metadata"] for cell in cells)
    assert not list(copy.rglob("*.new"))


def test_law_only_chapters_whose_files_changed_are_executed_again(copy, pretender):
    one, two = chapter(copy, "1"), chapter(copy, "'weights'", name="02_two")
    assert pretender() == ["01_one", "02_two"]
    assert pretender() == []
    one.unlink()
    two.write_text(two.read_text() + "4")  # edited by hand; the builder undoes it
    assert pretender() == ["01_one", "02_two"]
    assert two.read_text().endswith("}\n")
    folder = copy / "annotated_transformer" / "weights" / "en-de"
    (folder / "tokenizer.json").write_text("{}")
    assert pretender() == ["02_two"]
    (folder / "config.json").unlink()
    assert pretender() == ["02_two"]
    (folder / "README.md").write_text("no chapter is made of it")
    (folder.parent / "de-en" / "model.safetensors").write_bytes(b"")
    assert pretender() == []


def test_law_changed_texts_are_written_without_executing_the_code(copy, builder, pretender, capsys):
    notebook = chapter(copy, "1")
    source = copy / "chapters" / "src" / "01_one.md"
    source.write_text(source.read_text() + "\n# A title\n")
    assert pretender() == ["01_one"]
    executed = json.loads(notebook.read_text())
    executed["cells"][1]["outputs"] = [nbformat.v4.new_output("stream", text="kept")]
    notebook.write_text(builder.text_of(nbformat.from_dict(executed)))
    record(builder)
    source.write_text(source.read_text().replace("A title", "A better title"))
    builder.build([])
    assert capsys.readouterr().out == "rewrote 01_one.ipynb\n"
    assert "A better title" in notebook.read_text()
    assert "kept" in notebook.read_text()
    assert pretender() == []
    source.write_text(source.read_text().replace("\n1\n", "\n2\n"))
    assert pretender() == ["01_one"]


TABLE = f"{PACKAGE}/__init__.py"
TYPES = b"if TYPE_CHECKING: import tools\n"
HOUSE = {
    "builder/build.py": b"",
    "chapters/tools.py": f"import {PACKAGE}.door".encode(),
    TABLE: b"%bEXPORTS = {'lamp': 'Bulb', 'door': 'KEY'}" % TYPES,
    f"{PACKAGE}/door.py": b'"""A door."""\nHANDLE = 1  # brass',
    f"{PACKAGE}/lamp.py": b"SCRIPT = 'light.js'",
    f"{PACKAGE}/room.py": f"import math\ndef enter():\n    from {PACKAGE}.door import HANDLE".encode(),
    f"{PACKAGE}/web/light.js": b"on()",
}


def cell(text):
    return json.dumps({"cells": [{"cell_type": "code", "source": [text]}]}).encode()


def record(builder):
    """Record that the notebook was built from what is there now."""
    print_now = fingerprint("chapters/01_one.ipynb", builder.present())
    builder.RECORD.write_text(json.dumps({"01_one": print_now}))


def test_law_a_notebook_converts_to_a_python_script(copy, builder, pretender):
    notebook = chapter(copy, "answer = 42")
    assert pretender() == ["01_one"]
    script, about = ScriptExporter().from_filename(str(notebook))
    assert about["output_extension"] == ".py"
    exec(compile(script, "script", "exec"), names := {})
    assert names["answer"] == 42
    built = notebook.read_text("utf-8")
    notebook.write_text(built.replace('"file_extension": ".py",', ""), "utf-8")
    record(builder)
    assert pretender() == []  # written without executing the code
    assert notebook.read_text("utf-8") == built


def test_law_a_cell_runs_the_code_to_which_import_statements_lead():
    _, tools, hall, door, lamp, room, light = HOUSE
    for code, found in (
        ("if x:\n    import tools", {hall, door, tools}),
        (f"import {PACKAGE}, {PACKAGE}.room", {hall, door, room, lamp, light}),
        (f"import {PACKAGE}.room", {hall, door, room}),
        (f"from {PACKAGE} import KEY", {hall, door}),
        (f"from {PACKAGE} import Bulb", {hall, lamp, light}),
        (f"from {PACKAGE} import lamp", {hall, lamp, light}),
        ("%who", set()),
    ):
        assert imported(cell(code), HOUSE) == found, code


def test_law_only_what_a_chapter_runs_and_imports_counts_in_its_fingerprint():
    door, lamp = f"{PACKAGE}/door.py", f"{PACKAGE}/lamp.py"
    room, key = f"import {PACKAGE}.room", f"from {PACKAGE} import KEY"
    for imports, file, text, counts in (
        (room, door, b'"""The\ndoor."""\n\nHANDLE = 1', False),
        (room, door, b"HANDLE = 2", True),
        (room, lamp, b"", False),
        (room, "builder/build.py", b"build()", True),
        (key, TABLE, TYPES + b"EXPORTS = {'room': 'Sofa', 'door': 'BELL KEY'}", False),
        (key, TABLE, TYPES + b"EXPORTS = {'lamp': 'Bulb KEY'}", True),
        (key, TABLE, TYPES + b"N = 1\nEXPORTS = {'lamp': 'Bulb', 'door': 'KEY'}", True),
    ):
        house = {**HOUSE, "01.ipynb": cell(imports)}
        prints = {fingerprint("01.ipynb", files) for files in (house, {**house, file: text})}
        assert len(prints) == 1 + counts, text


def test_law_a_new_clone_executes_only_what_differs_from_its_commit(copy, builder, pretender):
    def git(*arguments):
        me = ["-c", "user.name=I", "-c", "user.email=i@example.org"]
        subprocess.run(["git", *me, *arguments], cwd=copy, check=True, capture_output=True)

    def executed(file, old, new):
        """Return the chapters that the first build of a clone executes after an edit, and undo everything."""
        text = (copy / file).read_text()
        assert old in text
        (copy / file).write_text(text.replace(old, new, 1))
        builder.RECORD.unlink()
        built = pretender()
        git("checkout", ".")
        return built

    (copy / ".gitignore").write_text("__pycache__\n_build\n")
    chapter(copy, "1")
    two = chapter(copy, "import annotated_transformer.model.masks", name="02_two")
    chapter(copy, "from annotated_transformer.model.masks import causal_mask  # show it", name="03_three")
    assert pretender() == ["01_one", "02_two", "03_three"]
    git("init")
    git("add", ".")
    git("commit", "-m", "all")
    assert executed("chapters/src/01_one.md", "\n1\n", "\n3\n") == ["01_one"]
    assert executed("chapters/02_two.ipynb", '"outputs": []', '"outputs": [4]') == ["02_two"]
    masks = "annotated_transformer/model/masks.py"
    assert executed("annotated_transformer/commands/train.py", '"""', '"""Reworded: ') == []
    assert executed(masks, '"""', '"""Reworded: ') == []
    assert executed(masks, '"""Return the lower', '"""Reworded: the lower') == ["03_three"]
    assert executed(masks, "import torch\n", "import torch\nNEW = 1\n") == ["02_two", "03_three"]
    two.write_text("<<<<<<< HEAD")
    git("commit", "-a", "-m", "a merge")
    builder.RECORD.unlink()
    assert pretender() == ["02_two"]


def test_law_a_notebook_records_its_inputs_and_the_check_detects_a_change(copy, builder, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(copy))
    weights, results = "annotated_transformer/weights/de-en", "annotated_transformer/book/results"
    made_by_pip = copy / "annotated_transformer.egg-info" / "PKG-INFO"  # not of the project
    made_by_pip.parent.mkdir()
    made_by_pip.write_text("Name: annotated-transformer")
    load = f"import annotated_transformer as at\nat.load('../{weights}')[0].training"
    load += f"\nopen('../{made_by_pip.relative_to(copy)}').close()"
    read = "from annotated_transformer.book.results import read_result\nlen(read_result('beams'))"
    notebook = chapter(copy, load, read)
    chapter(copy, f"len(open('../{results}/collapse.json').read())", name="02_two")
    builder.build([])
    assert builder.all_stale() == []
    names = ("config.json", "model.safetensors", "tokenizer.json")
    files = [f"{results}/beams.json", *(f"{weights}/{name}" for name in names)]
    assert list(json.loads(notebook.read_text())["metadata"]["made_of"]) == files
    (copy / files[0]).write_text((copy / files[0]).read_text().replace("0", "1"))
    (copy / files[2]).write_bytes(b"others")

    def check(*names):
        monkeypatch.setattr(sys, "argv", ["build.py", "--check", *names])
        runpy.run_path(builder.__file__, run_name="__main__")

    check("02_two")
    with pytest.raises(
        SystemExit, match=rf"^01_one: built before {files[0]}, {files[2]} changed\n.*then: make"
    ):
        check()


def test_law_a_chapter_that_fails_to_build_keeps_the_old_notebook(copy, builder, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(copy))
    compile_dir(copy / "annotated_transformer", maxlevels=0, quiet=1)  # as after an earlier import
    for cell, sentence in (
        ("object()", "prints ' at 0x"),
        ("import warnings\nwarnings.warn('look out')", "a cell warns: .*look out"),
        ("import sys\nsys.prefix", "prints '/"),
        ("__import__('annotated_transformer').__name__", "no import statement leads to annotated_transf"),
        ("assert 1 > 2, 'a false claim'", "AssertionError: a false claim"),
    ):
        notebook = chapter(copy, cell)
        notebook.write_text("old")
        with pytest.raises(SystemExit, match=f"(?s)^01_one.md: .*{sentence}"):
            builder.build([])
        assert notebook.read_text() == "old"


def test_message_a_chapter_without_a_notebook_and_a_notebook_without_a_source(copy, builder):
    chapter(copy, "1")
    chapter(copy, "2", name="02_two").write_text("<<<<<<< HEAD")  # a merge
    (copy / "chapters" / "03_three.ipynb").write_text("{}")
    missing = ["01_one: 01_one.ipynb is missing", "03_three: 03_three.md is missing"]
    assert builder.all_stale() == [missing[0], "02_two: 02_two.ipynb is no notebook", missing[1]]
    with pytest.raises(SystemExit, match="no chapter is called 03_three; there are 01_one, 02_two"):
        builder.build(["03_three"])


@pytest.mark.slow
def test_law_a_kernel_that_stops_answering_is_noticed_and_replaced_once(copy, builder, monkeypatch, capsys):
    """A kernel that sleeps uses no processor time, as one whose answer was lost."""
    monkeypatch.setattr(builder, "SILENT", 4.0)
    source, tried = copy / "chapters" / "src" / "01_one.md", copy / "tried"
    sleep = f"tried = Path({str(tried)!r})\nif not tried.exists():\n    tried.touch()\n    time.sleep(600)"
    chapter(copy, "import time\nfrom pathlib import Path", sleep, "'awake'")
    book = builder.Book(copy)
    assert "'awake'" in builder.execute(source, book)
    assert capsys.readouterr().out.endswith("kernel has stopped answering; executing the chapter again\n")
    chapter(copy, "import time\ntime.sleep(600)")
    with pytest.raises(SystemExit, match=r"01_one\.md: the kernel has stopped answering, again"):
        builder.execute(source, book)


@pytest.mark.slow
def test_law_a_kernel_whose_subprocess_does_the_work_is_left_alone(copy, builder, monkeypatch, capsys):
    monkeypatch.setattr(builder, "SILENT", 4.0)
    busy = "import time\nend = time.process_time() + 6\nwhile time.process_time() < end: pass\n"
    chapter(copy, f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {busy!r}]).returncode")
    builder.execute(copy / "chapters" / "src" / "01_one.md", builder.Book(copy))
    assert capsys.readouterr().out == ""
