"""The builder is reproducible, stores nothing machine-specific, and keeps no chapter older than its data."""

import json
import re
import runpy
import sys

import nbformat
import pytest
from nbconvert import ScriptExporter

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

    The word "weights" opens a weights file.
    """

    def execute(source, book):
        notebook = builder.unexecuted(source, book)
        opened = ["../annotated_transformer/weights/en-de/config.json"] * ("weights" in source.read_text())
        notebook.metadata["made_of"] = builder.made_of(source.stem, opened)
        return builder.text_of(notebook)

    monkeypatch.setattr(builder, "execute", execute)

    def build():
        builder.build([])
        return re.findall(r"built (\w+)\.ipynb", capsys.readouterr().out)

    return build


TRAIN = "torch.optim.SGD([torch.zeros(1, requires_grad=True)]).step()"


def test_message_an_optimizer_in_a_folded_cell_before_the_exercises(copy, builder):
    def execute(first: str, last: str):
        cells = (
            "import torch",
            f"{first}{TRAIN}",
            "0\n```\n\n## Exercises\n\n```{code-cell} ipython3\n1",
            last,
        )
        chapter(copy, *cells, name="12_one")
        builder.execute(copy / "chapters/src/12_one.md", builder.Book(copy))

    folded = ":tags: [hide-input]\n\n"
    execute("", f"{folded}{TRAIN}")
    with pytest.raises(SystemExit, match="a folded cell trains; a reader must see how"):
        execute(folded, "2")


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
    room = copy / "annotated_transformer" / "book" / "chapters" / "one"
    room.mkdir()
    (room / "figures.py").write_text("RED = 1")
    assert pretender() == []  # made before the room had code
    source = copy / "chapters" / "src" / "01_one.md"
    source.write_text(source.read_text().replace("\n1\n", "\n2\n"))
    assert pretender() == ["01_one"]
    (room / "figures.py").write_text("RED = 2")
    assert pretender() == ["01_one"]


def test_law_changed_texts_are_written_without_executing_the_code(copy, builder, pretender, capsys):
    notebook = chapter(copy, "1")
    source = copy / "chapters" / "src" / "01_one.md"
    source.write_text(source.read_text() + "\n# A title\n")
    assert pretender() == ["01_one"]
    chapter(copy, "2", name="02_two")
    neighbor = copy / "chapters" / "src" / "02_two.md"
    neighbor.write_text(neighbor.read_text() + "\nFirst read {doc}`01_one`.\n")
    assert pretender() == ["02_two"]
    executed = json.loads(notebook.read_text())
    executed["cells"][1]["outputs"] = [nbformat.v4.new_output("stream", text="kept")]
    notebook.write_text(builder.text_of(nbformat.from_dict(executed)))
    source.write_text(source.read_text().replace("A title", "A better title"))
    builder.build([])
    one, two = capsys.readouterr().out.splitlines()
    assert re.match("rewrote 01_one.ipynb, since .* gives “# 1. A better title”, not “# 1. A title”", one)
    assert re.match("rewrote 02_two.ipynb, since .* gives “.*A better title.*”, not “.*A title.*”", two)
    assert "A better title" in notebook.read_text()
    assert "kept" in notebook.read_text()
    builder.build([])
    assert capsys.readouterr().out == "nothing to do: each notebook is what its source gives\n"
    source.write_text(source.read_text().replace("\n1\n", "\n2\n"))
    assert pretender() == ["01_one"]


def test_law_a_notebook_converts_to_a_python_script(copy, builder, pretender):
    notebook = chapter(copy, "answer = 42")
    assert pretender() == ["01_one"]
    script, about = ScriptExporter().from_filename(str(notebook))
    assert about["output_extension"] == ".py"
    exec(compile(script, "script", "exec"), names := {})
    assert names["answer"] == 42
    built = notebook.read_text("utf-8")
    notebook.write_text(built.replace('"file_extension": ".py",', ""), "utf-8")
    assert pretender() == []  # written without executing the code
    assert notebook.read_text("utf-8") == built


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
    for cell, sentence in (
        ("object()", "prints ' at 0x"),
        ("import warnings\nwarnings.warn('look out')", "a cell warns: .*look out"),
        ("import sys\nsys.prefix", "prints '/"),
        ("assert 1 > 2, 'a false claim'", "AssertionError: a false claim"),
    ):
        notebook = chapter(copy, cell)
        notebook.write_text("old")
        with pytest.raises(SystemExit, match=f"(?s)^01_one.md: .*{sentence}"):
            builder.build([])
        assert notebook.read_text() == "old"


def test_message_all_that_is_wrong_with_the_sources_is_said_in_one_run(copy, builder, pretender, capsys):
    for name in ("01_one", "02_two"):
        chapter(copy, "tokens = 12", name=name)
        source = copy / "chapters" / "src" / f"{name}.md"
        source.write_text(source.read_text() + "\nSee {claim}`gap`, {claim}`rise`, 12% of 10000 words.\n")
    for _ in range(2):  # executed, and then not again
        with pytest.raises(SystemExit, match="1"):
            builder.build([])
        lines = capsys.readouterr().err.splitlines()
        for wrong in (
            "{claim}`gap` names no claim",
            "{claim}`rise` names no claim",
            ".md: the chapter must open with",
            ".md: line 11: 10000 has no commas",
            ".md: line 11: 12% is typed, and no cell prints it",
        ):
            assert sum(wrong in line for line in lines) == 2, wrong
    assert len(builder.all_stale()) == 2


def test_message_a_chapter_without_a_notebook_and_a_notebook_without_a_source(copy, builder):
    chapter(copy, "1")
    chapter(copy, "2", name="02_two").write_text("<<<<<<< HEAD")  # a merge
    (copy / "chapters" / "03_three.ipynb").write_text("{}")
    missing = ["01_one: 01_one.ipynb is missing", "03_three: 03_three.md is missing"]
    assert builder.all_stale() == [missing[0], "02_two: 02_two.ipynb is no notebook", missing[1]]
    with pytest.raises(SystemExit, match="no chapter is called 03_three; there are 01_one, 02_two"):
        builder.build(["03_three"])
