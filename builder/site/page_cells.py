"""The cells of a chapter's page: those of its source, with the outputs that its notebook has for them.

The source carries the texts, for the page and for the notebook. The notebook carries the outputs, by the ids
of the cells, which are digests of their code: no page shows code with the outputs of other code. The words of
a figure, which stand below its cell in the source, are put into its output. Of what the notebook has, the
page shows the results. Claims and checks stand below one line at the end of the page, the
code of figures and experiments below another; the checks of exercises, nowhere. A chapter has a second page,
its handbook (`builder/handbook.py`).
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from builder.chapters import front_matter, source_of
from builder.claim_values import checks_in, line, named_claims
from builder.figure_words import is_figure, with_outputs, with_words
from builder.handbook import FOLDER, last_line, relinked
from builder.source import COMMENT, READERS, divided, read, split_sections

FOLDED = {"hide-input", "hide-cell"}
LAYOUT = ("claim(", "show_table(")
CUT = "\0"  # a line that a page does not show
OPENING = "The opening"


def take_source(app: Sphinx, docname: str, content: list[str]) -> None:
    """Replace a chapter's notebook by the cells of its page.

    Raises:
        ExtensionError: The notebook has no outputs for a cell: it was built from a different source.
    """
    path, root = Path(app.env.doc2path(docname)), Path(app.srcdir)
    source, built = source_of(root, path.stem), root / "chapters" / path.name
    if path.suffix != ".ipynb" or not source.is_file():
        return
    app.env.note_dependency(str(source))
    app.env.note_dependency(str(built))
    notebook = nbformat.read(built, as_version=4)
    try:
        chapter, handbook = divided(with_words(with_outputs(source, notebook)))
    except ValueError as error:
        raise ExtensionError(f"{path.name}: {error}") from error
    if is_handbook := docname.startswith(f"{FOLDER}/"):
        chapter = handbook
    elif handbook:
        chapter.append(new_markdown_cell(last_line(read(source), f"/{FOLDER}/{path.name}")))
    notebook.cells = list(page_cells(chapter))
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = relinked(cell.source, source, docname)
    if "here" in front_matter(source) and not is_handbook:
        number = int(path.stem.partition("_")[0])
        notebook.cells.insert(1, new_markdown_cell(f"```{{you-are-here}} {number}\n```"))
    content[0] = nbformat.writes(notebook)


@dataclass
class Proof:
    """The results of a section: how many there are, what its claims say, and the code of its checks."""

    title: str
    count: int = 0
    lines: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        """Return the results as Markdown, below the title of the section."""
        return "\n".join([f"**{self.title}**: {self.count}\n", *self.lines, "", *map(fenced, self.code)])


def page_cells(cells: list[NotebookNode]) -> Iterator[NotebookNode]:
    """Yield the cells of a page: below the others, a fold with its results, and one with its code."""
    proofs, code = [Proof(OPENING)], list[str]()
    for cell in cells:
        if cell.cell_type != "code":
            for title, text in split_sections(cell.source):
                if title:
                    proofs.append(Proof(title))
                if text := re.sub(f" ?{COMMENT}", "", text).strip():
                    yield new_markdown_cell(text, metadata=cell.metadata)
        elif cell_tags(cell) & READERS:
            yield without_check(cell)
        else:
            yield from shown(cell, proofs[-1], code)
    if total := sum(proof.count for proof in proofs):
        words = f"{total} result{'s' if total > 1 else ''} recomputed by the tests"
        content = "\n".join(proof.markdown() for proof in proofs if proof.count)
        yield new_markdown_cell(f"`````{{evidence}} {words}\n:id: evidence\n\n{content}\n`````")
    if code:
        yield new_markdown_cell("`````{page-code}\n" + "\n".join(code) + "\n`````")


def shown(cell: NotebookNode, proof: Proof, code: list[str]) -> Iterator[NotebookNode]:
    """Yield what a page shows of a cell where it stands, and add the rest to the proof and the code."""
    claims = named_claims(cell)
    rest = [output for output in cell.outputs if output not in claims.values()]
    results = len(claims) + len(checks_in(cell.source))
    proof.count += results
    for name, output in claims.items():
        proof.lines.append(f'- <a class="at-claim" id="claim-{name}"></a>{line(output)}')
    if results and not rest:
        proof.code.append(cell.source)
    elif cell_tags(cell) & FOLDED:
        label, figures = "", [output.metadata.figure.number for output in rest if is_figure(output)]
        if figures:
            anchor = f"code-{figures[0].replace('.', '-')}"
            label = f'<p class="at-of-figure" id="{anchor}">Figure {figures[0]}</p>\n\n'
        code.append(label + fenced(cell.source))
        if rest:
            tags = ["remove-input", *(cell_tags(cell) - FOLDED)]
            yield NotebookNode(cell, outputs=rest, metadata=dict(cell.metadata, tags=tags))
    else:
        yield NotebookNode(cell, source=without_layout(cell.source), outputs=rest)


def without_layout(code: str) -> str:
    """Return the code of a cell without the statements that only state its claims or lay out its table."""
    lines = code.splitlines()
    for statement in ast.parse(code).body if any(call in code for call in LAYOUT) else []:
        if isinstance(statement, ast.Expr) and ast.unparse(statement).startswith(LAYOUT):
            for place in range(statement.lineno - 1, statement.end_lineno or statement.lineno):
                lines[place] = CUT
    return "\n".join(line for line in lines if line is not CUT).rstrip()


def without_check(cell: NotebookNode) -> NotebookNode:
    """Return a cell of an exercise or a solution without the call that checks it, and what that displayed.

    A cell that has only this call keeps it.
    """
    body = ast.parse(cell.source).body
    last = body[-1] if body else None
    if not isinstance(last, ast.Expr) or not ast.unparse(last).startswith(("checks.", "steps.")):
        return cell
    answer = "\n".join(cell.source.splitlines()[: last.lineno - 1]).rstrip()
    outputs = [output for output in cell.outputs if output.output_type != "execute_result"]
    return NotebookNode(cell, source=answer or cell.source, outputs=outputs)


def fenced(code: str) -> str:
    """Return code as a block of Markdown."""
    return f"````python\n{code}\n````\n"


def cell_tags(cell: NotebookNode) -> set[str]:
    """Return the tags of a cell."""
    return set(cell.metadata.get("tags", []))
