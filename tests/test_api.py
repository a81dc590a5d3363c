"""The public API: the names that the package and nine of its parts export, each imported on first use."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import annotated_transformer
from tests.run_reports import write_run

ROOT = Path(__file__).parent.parent
PARTS = "model text training decoding evaluation inspection plotting interop modern".split()


def listed_names(part: str) -> set[str]:
    """Return the names in the table of a page of the reference."""
    page = (ROOT / "chapters" / "api" / f"{part}.md").read_text("utf-8").partition("\n## ")[0]
    return set(re.findall(r"\{(?:class|func|exc)\}`~[\w.]+?\.(\w+)`", page))


def run(program: str, *without: str) -> str:
    blocked = f"import sys\nsys.modules.update(dict.fromkeys({without}))\n"
    process = subprocess.run([sys.executable, "-c", blocked + program], text=True, capture_output=True)
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.mark.parametrize("part", PARTS)
def test_law_each_name_of_a_part_exists_and_is_in_the_reference(part: str):
    package = import_module(f"annotated_transformer.{part}")
    assert dir(package) == sorted(package.__all__)
    assert set(package.__all__) == listed_names(part)
    for name in package.__all__:
        assert getattr(package, name).__module__.startswith("annotated_transformer.")
    assert not [name for name in package.__all__ if (Path(package.__file__).parent / f"{name}.py").exists()]


@pytest.mark.message
@pytest.mark.parametrize(
    ("package", "sentence"),
    [
        ("annotated_transformer.evaluation", r"'annotated_transformer\.evaluation' has no attribute 'BERT'"),
        ("annotated_transformer", "has no attribute 'BERT'; it has BASE, "),
    ],
)
def test_message_a_name_that_a_package_does_not_have(package: str, sentence: str):
    with pytest.raises(AttributeError, match=sentence):
        import_module(package).BERT  # noqa: B018


DRAW = """
import torch
from annotated_transformer.plotting import draw_attention, new_plot, plot_curves, to_svg
fig, ax = new_plot()
draw_attention(ax, torch.eye(2), ["a", "b"], ["c", "d"])
print(to_svg(fig)[:4], to_svg(plot_curves(FOLDER))[:4])
"""


def test_law_plotting_needs_nothing_but_the_package_and_matplotlib(tmp_path: Path):
    write_run(tmp_path)
    program = DRAW.replace("FOLDER", repr(str(tmp_path)))
    assert run(program, "IPython", "ipywidgets", "nbformat", "annotated_transformer.book") == "<svg <svg\n"


@pytest.mark.message
def test_message_drawing_without_matplotlib(tmp_path: Path):
    write_run(tmp_path)
    program = """
from annotated_transformer.plotting import read_reports
print(len(read_reports(FOLDER)))
for name in ("draw_attention", "plot_curves", "new_plot"):
    try:
        exec(f"from annotated_transformer.plotting import {name}")
    except ModuleNotFoundError as error:
        print(error.name, error, sep=": ")
"""
    printed = run(program.replace("FOLDER", repr(str(tmp_path))), "matplotlib", "IPython", "ipywidgets")
    way_out = "run pip install '.[plot]' in the folder of this book"
    sentence = f"matplotlib: drawing needs matplotlib, which is not installed; {way_out}"
    assert printed.splitlines() == ["3", *[sentence] * 3]


def test_law_each_public_name_exists_and_is_listed():
    assert dir(annotated_transformer) == sorted([*annotated_transformer.__all__, "__version__"])
    for name in annotated_transformer.__all__:
        public = getattr(annotated_transformer, name)
        assert getattr(public, "__module__", "annotated_transformer.").startswith("annotated_transformer.")


IMPORTS = f"""
import sys, {", ".join(f"annotated_transformer.{part}" for part in PARTS)}
def show():
    names = [name.partition(".") for name in sys.modules]
    print(*(name for package, _, name in names if name and package == "annotated_transformer"))
show()
assert "torch" not in sys.modules
import annotated_transformer.model.attention
show()
from annotated_transformer.decoding import Translator
show()
"""


def test_law_importing_a_module_imports_no_more_than_it_needs():
    parts, module, name = (set(line.split()) for line in run(IMPORTS).splitlines())
    assert parts == {*PARTS, "extras", "lazy_names"}
    assert module - parts == {"model.attention", "model.checks"}
    assert "decoding.translator" in name
    assert not {module for module in name if module.startswith(("training.", "plotting.", "book"))}


@pytest.mark.message
def test_message_a_name_that_the_package_does_not_have():
    with pytest.raises(AttributeError, match="has no attribute 'BERT'; it has BASE, "):
        annotated_transformer.BERT  # noqa: B018
