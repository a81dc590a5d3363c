"""The builder is reproducible, stores nothing machine-specific, and keeps no chapter older than its data."""

import importlib.util
import json
import re
import shutil
import subprocess

import nbformat
import pytest

HEADER = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {display_name: Python 3, language: python, name: python3}
---

# A chapter
"""


def chapter(copy, *cells, name="01_one"):
    blocks = [f"```{{code-cell}} ipython3\n{cell}\n```\n" for cell in cells]
    (copy / "chapters" / "src" / f"{name}.md").write_text("\n".join([HEADER, *blocks]))
    return copy / "chapters" / f"{name}.ipynb"


@pytest.fixture
def builder(copy):
    """Return the copy's builder as a module."""
    spec = importlib.util.spec_from_file_location("builder", copy / "chapters" / "build.py")
    builder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(builder)
    return builder


@pytest.fixture
def pretender(builder, monkeypatch, capsys):
    """Return a function that runs the builder with `execute` mocked and returns what it printed.

    A source that contains the word "weights" is treated as having opened a weights file.
    """

    def execute(source):
        text = source.read_text("utf-8")
        opened = [str(builder.WEIGHTS / "en-de" / "config.json")] * ("weights" in text)
        return json.dumps({"metadata": {"made_of": builder.made_of(opened)}, "text": text})

    monkeypatch.setattr(builder, "execute", execute)

    def build(*names):
        builder.build(list(names))
        return capsys.readouterr().out

    return build


def test_law_two_builds_give_the_same_bytes_and_keep_what_nbval_compares(copy, build):
    notebook = chapter(
        copy,
        "'a' * 3",
        "'a' * 3",
        ":tags: [raises-exception]\n\n1 / 0",
        "print({'b', 'c'} >= {'b'})",
        ":tags: [remove-output, nbval-ignore-output]\n\nobject()",  # like a widget: output differs each time
    )
    assert build().returncode == 0
    first = notebook.read_bytes()
    result = build("01_one")
    assert "built 01_one.ipynb" in result.stdout
    assert notebook.read_bytes() == first
    cells = [cell for cell in json.loads(first)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == [1, 2, 3, 4, 5]
    assert len({cell["id"] for cell in cells}) == 5
    assert cells[0]["outputs"][0]["data"]["text/plain"] == ["'aaa'"]
    assert cells[2]["outputs"][0]["traceback"] == ["ZeroDivisionError: division by zero"]
    assert cells[4]["outputs"] == []
    assert all("execution" not in cell["metadata"] for cell in cells)
    assert not list(copy.rglob("*.new"))


def test_law_only_what_changed_is_executed_again(copy, pretender):
    one, two = chapter(copy, "1"), chapter(copy, "2", name="02_two")
    assert pretender() == "built 01_one.ipynb\nbuilt 02_two.ipynb\n"
    assert pretender() == ""
    chapter(copy, "3")
    assert pretender() == "built 01_one.ipynb\n"
    two.write_text(two.read_text() + "4")  # edited by hand; the builder undoes it
    assert pretender() == "built 02_two.ipynb\n"
    assert json.loads(two.read_text())["text"] == (copy / "chapters" / "src" / "02_two.md").read_text()
    config = copy / "annotated_transformer" / "config.py"
    config.write_text(config.read_text() + "# changed\n")
    assert pretender() == "built 01_one.ipynb\nbuilt 02_two.ipynb\n"
    one.unlink()
    assert pretender() == "built 01_one.ipynb\n"


def test_law_changed_weights_rebuild_the_chapters_that_use_them_and_no_others(copy, pretender):
    chapter(copy, "1")
    chapter(copy, "'weights'", name="02_two")
    assert pretender() == "built 01_one.ipynb\nbuilt 02_two.ipynb\n"
    folder = copy / "annotated_transformer" / "weights" / "en-de"
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        (folder / name).write_bytes((folder / name).read_bytes() + b" ")
        assert pretender() == "built 02_two.ipynb\n", name
    (folder / "README.md").write_text("no chapter is made of it")
    other = folder.parent / "de-en" / "model.safetensors"
    other.write_bytes(b"")
    assert pretender() == ""
    (folder / "config.json").unlink()
    assert pretender() == "built 02_two.ipynb\n"


def test_law_a_new_clone_executes_only_what_differs_from_its_commit(copy, builder, monkeypatch, capsys):
    monkeypatch.setattr(builder, "execute", lambda source: nbformat.writes(builder.read(source)))

    def git(*arguments):
        me = ["-c", "user.name=I", "-c", "user.email=i@example.org"]
        subprocess.run(["git", *me, *arguments], cwd=copy, check=True, capture_output=True)

    def executed():
        """Return the chapters that the first build of a clone executes, and undo every change."""
        builder.RECORD.unlink(missing_ok=True)
        builder.build([])
        built = capsys.readouterr().out.split()[1::2]
        git("checkout", ".")
        return built

    (copy / ".gitignore").write_text("__pycache__\n")
    chapter(copy, "1")
    two = chapter(copy, "2", name="02_two")
    git("init")
    builder.build([])
    capsys.readouterr()
    git("add", ".")
    git("commit", "-m", "all")
    assert executed() == []
    chapter(copy, "3")
    assert executed() == ["01_one.ipynb"]
    two.write_text(two.read_text().replace("nbformat", "by_hand"))
    assert executed() == ["02_two.ipynb"]
    config = copy / "annotated_transformer" / "config.py"
    config.write_text(config.read_text() + "# changed\n")
    assert executed() == ["01_one.ipynb", "02_two.ipynb"]
    builder.RECORD.unlink()
    shutil.rmtree(copy / ".git")
    builder.build([])
    assert "01_one" in capsys.readouterr().out


READS = """import json
import os

import annotated_transformer.checkpointing.checkpoint as checkpoint

model, tokenizer = checkpoint.load("../annotated_transformer/weights/de-en")
json.load(open("../benchmarks/results/quoted.json"))["bleu"]"""


def test_law_a_notebook_records_its_inputs_and_the_check_detects_a_change(copy, build):
    results = copy / "benchmarks" / "results"
    results.mkdir(parents=True)
    for name in ("quoted", "other"):
        (results / f"{name}.json").write_text('{"bleu": 41.36}')
    notebook = chapter(copy, READS)
    chapter(copy, "1 + 1", name="02_two")
    assert build().returncode == 0
    weights = "annotated_transformer/weights/de-en"
    assert list(json.loads(notebook.read_text())["metadata"]["made_of"]) == [
        f"{weights}/config.json",
        f"{weights}/model.safetensors",
        f"{weights}/tokenizer.json",
        "benchmarks/results/quoted.json",
    ]
    (results / "other.json").write_text('{"bleu": 41.37}')  # no chapter uses this file
    assert build("--check").returncode == 0
    (results / "quoted.json").write_text('{"bleu": 41.37}')
    (copy / weights / "model.safetensors").write_bytes(b"others")
    result = build("--check")
    assert result.returncode == 1
    assert "02_two" not in result.stdout
    assert (
        f"01_one: built before {weights}/model.safetensors, benchmarks/results/quoted.json changed"
        in result.stdout
    )


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("object()", "prints ' at 0x"),
        ("import warnings\nwarnings.warn('look out')", "a cell warns: .*look out"),
        ("import sys\nsys.prefix", "prints '/"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("assert 1 > 2, 'a false claim'", "AssertionError: a false claim"),
    ],
)
def test_law_a_chapter_that_fails_to_build_keeps_the_old_notebook(copy, build, cell, sentence):
    notebook = chapter(copy, cell)
    notebook.write_text("old")
    result = build()
    assert result.returncode == 1
    assert re.search(sentence, result.stdout, re.DOTALL)
    assert notebook.read_text() == "old"


def test_message_no_chapter_of_that_name(copy, pretender):
    chapter(copy, "1")
    with pytest.raises(SystemExit, match="no chapter is called 09_nine; there are 01_one"):
        pretender("09_nine")


def test_message_a_notebook_without_a_source_or_a_source_without_a_notebook(copy, build):
    chapter(copy, "1")
    (copy / "chapters" / "02_two.ipynb").write_text("{}")
    result = build("--check")
    assert result.returncode == 1
    assert "01_one: 01_one.ipynb is missing" in result.stdout
    assert "02_two: 02_two.md is missing" in result.stdout
    assert "then: make chapters" in result.stdout


def test_law_a_kernel_that_stops_answering_is_noticed_and_replaced_once(copy, builder, monkeypatch, capsys):
    """A kernel that sleeps uses no processor time, as one whose answer was lost."""
    monkeypatch.setattr(builder, "SILENT", 4.0)
    source, tried = copy / "chapters" / "src" / "01_one.md", copy / "tried"
    sleep = f"tried = Path({str(tried)!r})\nif not tried.exists():\n    tried.touch()\n    time.sleep(600)"
    chapter(copy, "import time\nfrom pathlib import Path", sleep, "'awake'")
    assert "'awake'" in builder.execute(source)
    said = "01_one.md: the kernel has stopped answering; executing the chapter again\n"
    assert capsys.readouterr().out == said
    tried.unlink()
    with pytest.raises(SystemExit, match=r"01_one\.md: the kernel has stopped answering, again"):
        builder.execute(source, again=False)


def test_law_a_kernel_that_works_is_left_alone_even_if_a_subprocess_does_the_work(
    copy, builder, monkeypatch, capsys
):
    monkeypatch.setattr(builder, "SILENT", 2.0)
    busy = "import time\nend = time.process_time() + 4\nwhile time.process_time() < end: pass\n"
    chapter(copy, f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {busy!r}]).returncode")
    builder.execute(copy / "chapters" / "src" / "01_one.md")
    assert capsys.readouterr().out == ""
