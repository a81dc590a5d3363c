"""Tables of all figures and labeled equations of the book: `{figure-index}` and `{equation-index}`.

The figures are read from the chapters' outputs, the equations from their sources, and the tests of the
equations from `tests/`, where each names its equation: `@pytest.mark.equation("eq-softmax")`.
"""

import ast
import html
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from builder.chapters import Chapter, source_of
from builder.site.front.targets import TargetTable

TITLE = re.compile(
    r'<p class="at-figure-title"><a class="at-figure-number" href="#(figure-[\d-]+)">'
    r"Figure ([\d.]+)</a> (.*?)</p>"
)
MARK = "pytest.mark.equation"
EQUATION = re.compile(r"^\$\$\n?([^$]*?)\n?\$\$ \((eq-[a-z0-9-]+)\)$", re.MULTILINE)


@dataclass(frozen=True)
class Equation:
    """A labeled equation, as TeX, and the tests that are marked with its label: file and name."""

    label: str
    formula: str
    tests: tuple[tuple[str, str], ...]


def figures_of(notebook: Path) -> list[tuple[str, str, str]]:
    """Return anchor, number, and title of each figure of a notebook, in their order."""
    printed = "\n".join(
        "".join(output.get("data", {}).get("text/html", ""))
        for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        for output in cell.get("outputs", [])
    )
    return [(anchor, number, html.unescape(title)) for anchor, number, title in TITLE.findall(printed)]


def equations_of(source: Path, tests: dict[str, list[tuple[str, str]]]) -> list[Equation]:
    """Return the labeled equations of a chapter's source, in their order, with their tests."""
    found = EQUATION.findall(source.read_text(encoding="utf-8"))
    return [Equation(label, formula, tuple(tests.get(label, ()))) for formula, label in found]


def marked_tests(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Return, for the label of each equation, the tests that are marked with it: file and name."""
    tests: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for path in sorted(folder.rglob("test_*.py")):
        for label, name in marks(path.read_text(encoding="utf-8")):
            tests[label].append((path.relative_to(folder.parent).as_posix(), name))
    return tests


def marks(code: str) -> list[tuple[str, str]]:
    """Return the labels that the tests of a file are marked with, each with the name of its test."""
    labels = []
    for node in ast.walk(ast.parse(code)) if MARK in code else ():
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == MARK:
                    labels += [(ast.literal_eval(argument), node.name) for argument in mark.args]
    return labels


def _plain(text: str) -> str:
    """Escape text so that Markdown shows it as it is."""
    return re.sub(r"([\\`*_{}\[\]<>$|~])", r"\\\1", text)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


class FigureIndex(TargetTable):
    """`{figure-index}`: every figure, with its title."""

    required_arguments = 0

    def text(self, chapters: dict[int, Chapter], root: Path) -> str:
        """Return the table as Markdown."""
        lines = [_row(["Figure", "What it shows"]), _row(["---", "---"])]
        for chapter in chapters.values():
            for anchor, number, title in figures_of(root / f"{chapter.file}.ipynb") if chapter.file else ():
                lines.append(_row([f"[{number}](/{chapter.file}.ipynb#{anchor})", _plain(title)]))
        return "".join(lines)


class EquationIndex(TargetTable):
    """`{equation-index}`: every labeled equation, with the tests that are marked with it."""

    required_arguments = 0

    def text(self, chapters: dict[int, Chapter], root: Path) -> str:
        """Return the table as Markdown."""
        tests = marked_tests(root / "tests")
        lines = [_row(["", "Equation and tests"]), _row(["---", "---"])]
        for chapter in chapters.values():
            for equation in equations_of(source_of(root, chapter.name), tests) if chapter.file else ():
                formula = equation.formula.replace("\n", " ").replace("|", r"\vert ")
                names = "".join(f"<br>`{name}` in `{file}`" for file, name in equation.tests)
                lines.append(_row([f"{{eq}}`{equation.label}`", f"$\\displaystyle {formula}$ {names}"]))
        return "".join(lines)
