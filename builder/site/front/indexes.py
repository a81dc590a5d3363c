"""All figures and labeled equations of the book: `{figure-gallery}` and `{equation-index}`.

The figures are read from the chapters' outputs, their words and the equations from the sources, and the tests
of the equations from `tests/`, where each names its equation: `@pytest.mark.equation("eq-softmax")`.
"""

import ast
import html
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sphinx.application import Sphinx

from builder.chapters import Chapter, source_of
from builder.figures import Drawing, drawings, faces, plain, with_faces
from builder.handbook import page_of
from builder.site.front.targets import TargetTable

FOLDER = "figures"  # of the site's static files
MARK = "pytest.mark.equation"
EQUATION = re.compile(r"^\$\$\n?([^$]*?)\n?\$\$ \((eq-[a-z0-9-]+)\)$", re.MULTILINE)


@dataclass(frozen=True)
class Equation:
    """A labeled equation, as TeX, and the tests that are marked with its label: file and name."""

    label: str
    formula: str
    tests: tuple[tuple[str, str], ...]


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


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


class Gallery(TargetTable):
    """`{figure-gallery}`: every figure in small, by chapter, with its title, its file, and its code."""

    required_arguments = 0

    def text(self, chapters: dict[int, Chapter], root: Path) -> str:
        """Return the gallery as Markdown and HTML."""
        lines = []
        for chapter in chapters.values():
            lines += [f"```{{rubric}} {chapter.number}. {chapter.title}", ":heading-level: 3", "```", ""]
            found = drawings(root / f"{chapter.file}.ipynb")
            shots = "".join(_shot(one, page_of(root, chapter.name, one.anchor)) for one in found)
            lines += [f'<div class="at-gallery">{shots}</div>', ""]
        return "\n".join(lines)


def _shot(drawing: Drawing, page: str) -> str:
    file, anchor = f"../_static/{FOLDER}/{drawing.anchor}.svg", drawing.anchor
    code = f"../{page}.html#{anchor.replace('figure', 'code')}"
    return (
        f'<div class="at-shot"><a href="../{page}.html#{anchor}">'
        f'<img loading="lazy" src="{file}" alt="{html.escape(drawing.alt)}">'
        f"<span>{drawing.number}</span> {html.escape(drawing.title)}</a>"
        f'<p><a href="{file}" download>SVG</a> · <a href="{code}">code</a></p></div>'
    )


def write_figures(app: Sphinx) -> None:
    """Write the files that the gallery shows, and that a reader saves."""
    folder = Path(app.outdir, "_static", FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    files = [Path(app.srcdir, f"{chapter.file}.ipynb") for chapter in app.config.at_chapters]
    found = [one for file in files for one in drawings(file)]
    known = faces("".join(one.svg for one in found))
    for one in found:
        (folder / f"{one.anchor}.svg").write_text(with_faces(plain(one.svg), known), "utf-8")


class EquationIndex(TargetTable):
    """`{equation-index}`: every labeled equation, with the tests that are marked with it."""

    required_arguments = 0

    def text(self, chapters: dict[int, Chapter], root: Path) -> str:
        """Return the table as Markdown."""
        tests = marked_tests(root / "tests")
        lines = [_row(["", "Equation and tests"]), _row(["---", "---"])]
        for chapter in chapters.values():
            for equation in equations_of(source_of(root, chapter.name), tests):
                formula = equation.formula.replace("\n", " ").replace("|", r"\vert ")
                names = "".join(f"<br>`{name}` in `{file}`" for file, name in equation.tests)
                lines.append(_row([f"{{eq}}`{equation.label}`", f"$\\displaystyle {formula}$ {names}"]))
        return "".join(lines)
