"""All figures and labeled equations of the book: `{figure-gallery}` and `{equation-index}`.

The figures are read from the chapters' outputs, their words and the equations from the sources, and the tests
of the equations from `tests/`, where each names its equation: `@pytest.mark.equation("eq-softmax")`.
"""

import ast
import html
from collections import defaultdict
from pathlib import Path

from sphinx.application import Sphinx

from builder.chapters import Chapter
from builder.figures import Drawing, drawings, faces, plain, with_faces
from builder.handbook import page_of
from builder.site.front.targets import TargetTable
from builder.source import read

FOLDER = "figures"  # of the site's static files
MARK = "pytest.mark.equation"


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


class Gallery(TargetTable):
    """`{figure-gallery}`: every figure in small, by chapter, with its title, its file, and its code."""

    def text(self, chapters: dict[int, Chapter]) -> str:
        """Return the gallery as Markdown and HTML."""
        lines = []
        for chapter in chapters.values():
            lines += [f"```{{rubric}} {chapter.number}. {chapter.title}", ":heading-level: 3", "```", ""]
            figures = drawings(chapter.notebook)
            shots = "".join(_shot(figure, page_of(chapter.path, figure.anchor)) for figure in figures)
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
    every = [drawing for chapter in app.config.at_chapters for drawing in drawings(chapter.notebook)]
    known = faces("".join(drawing.svg for drawing in every))
    for drawing in every:
        (folder / f"{drawing.anchor}.svg").write_text(with_faces(plain(drawing.svg), known), "utf-8")


class EquationIndex(TargetTable):
    """`{equation-index}`: every labeled equation, with the tests that are marked with it."""

    def text(self, chapters: dict[int, Chapter]) -> str:
        """Return the table as Markdown."""
        tests = marked_tests(Path(self.env.srcdir, "tests"))
        lines = ["|  | Equation and tests |", "| --- | --- |"]
        for chapter in chapters.values():
            for equation in read(chapter.path).equations:
                formula = equation.formula.replace("\n", " ").replace("|", r"\vert ")
                names = "".join(f"<br>`{name}` in `{file}`" for file, name in tests[equation.label])
                lines.append(f"| {{eq}}`{equation.label}` | $\\displaystyle {formula}$ {names} |")
        return "\n".join(lines)
