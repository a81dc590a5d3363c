"""Turn a chapter's source into the notebook that readers open, in plain Markdown.

Markdown that only the site understands is replaced: roles by links and numbers, exercises and solutions by
headings, the words of a figure by text below it, labels and comments by nothing. What the site folds is
folded in JupyterLab, Notebook, and Colab.
"""

import ast
import json
import re
from collections.abc import Iterator
from textwrap import shorten
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from annotated_transformer.book.drawing.captions import identity
from builder.book import Book
from builder.chapters import chapter_number
from builder.claim_values import LINE, Refusals, fill
from builder.figure_words import is_figure, markdown, take_words
from builder.handbook import last_line
from builder.source import HIDDEN, INLINE, Block, Source, blocks, is_mark, read

SETUP = "setup"  # the tag of the notebook's cells that its source does not have
TALLIED = re.compile(r"(?<!\.)\b(claim|check|check_close)\(")
FOLDED = HIDDEN | {"solution"}
LISTING = re.compile(r"^`{3,}python\n(# annotated_transformer.*)", re.MULTILINE)
SOLUTION = "#### Solution"  # below an exercise's "### …", and ended by the next heading
EXERCISES = re.compile(r"^## Exercises$", re.MULTILINE)
RUN_FIRST = (
    "The exercises need the cells above. If you get `NameError: name 'checks' is not defined`, run these "
    "first: *Run → Run All Above Selected Cell* in JupyterLab, *Runtime → Run before* in Colab."
)
WHAT_CALLS_DO = {
    "checks.check_": "The book's answer, and the check of it",
    "explore(": "Draw the figure for other values",
    "run_command(": "Run the command",
    "messages = {": "The error messages of the handbook, provoked",
    "run_messages(": "The wrong lines of the handbook, run for their messages",
}
REMEMBER = """

# The words of the book's figures: where your values differ, a figure says its own
from annotated_transformer.book.drawing.captions import remember

remember("""


def read_cells(source: NotebookNode, book: Book, page: str) -> list[NotebookNode]:
    """Return the cells of a chapter's notebook, made from those of its source, without outputs.

    Raises:
        ValueError: A reference has no target, or no heading follows a solution to end its fold.
    """
    cells, refused = list[NotebookNode](), Refusals()
    solving, written = False, read(book.sources[page])
    numbers = {exercise.code: exercise.number for exercise in written.exercises}
    for cell in source.cells:
        if cell.cell_type == "code":
            if not any(earlier.cell_type == "code" for earlier in cells):
                cells.append(setup_cell(book))
            cells.append(folded(cell))
            if "exercise" in cell.metadata.get("tags", []):
                cells[-1].metadata["exercise"] = {"id": numbers.get(cell.source, "")}  # for `grade`
            continue
        tags, below = cell.metadata.get("tags", []), cell.source
        if is_mark(cell):
            cells += before_handbook(written)
            below = below.partition("\n")[2]
        texts: list[str] = []
        with refused:
            texts = list(split(below, book, page))
        for place, text in enumerate(texts):
            metadata = {"tags": tags} if tags else {}
            if text == SOLUTION:
                solving, metadata["jp-MarkdownHeadingCollapsed"] = True, True
            elif solving and text.startswith(("## ", "### ")):
                solving = False
            elif solving and place == 0 and cells[-1].cell_type == "code":
                raise ValueError(f"{page}: a heading must end a solution, not {text[:40]!r}")
            if solving:
                metadata["tags"] = [*tags, "solution"]
            if text.startswith("# ") and chapter_number(page):
                text = f"# {chapter_number(page)}. {text[2:]}"
            cells.append(new_markdown_cell(text, id=f"{cell.id}-{place}", metadata=metadata))
    refused.raise_all()
    if any(cell.cell_type == "code" and TALLIED.search(cell.source) for cell in cells):
        code = (
            "# After Run All: how many of the claims and checks above hold, and which do not\n"
            "from annotated_transformer.book.cells.tally import tally\n\ntally()"
        )
        if written.topic:  # a heading as high ends the fold
            cells.append(new_markdown_cell("# After Run All", id="after"))
        cells.append(fold(new_code_cell(code, id="tally", metadata={"tags": [SETUP]})))
    return cells


def before_handbook(source: Source) -> Iterator[NotebookNode]:
    """Yield the last line of a chapter, and the folded heading of its handbook."""
    title = f"Handbook: {source.topic}"
    anchor = title.replace(" ", "-")  # as in JupyterLab
    yield new_markdown_cell(last_line(source, f"#{anchor}"), id="stuck")
    yield new_markdown_cell(f"# {title}", id="handbook", metadata={"jp-MarkdownHeadingCollapsed": True})


def setup_cell(book: Book) -> NotebookNode:
    """Return the cell that installs the package where it is missing, if the book has an address."""
    if book.repository:
        package = f"annotated-transformer[notebooks] @ git+{book.repository}@{book.branch}"
        missing = f'%pip install --quiet "{package}"'
    else:
        missing = (
            "raise ModuleNotFoundError(\n"
            '        "This notebook needs the package annotated_transformer; to install it, "\n'
            "        'run in the folder of the book\\'s project: pip install \".[notebooks]\"'\n"
            "    )"
        )
    code = (
        "# Setup, for Colab and downloaded notebooks: install what is missing\n"
        "import importlib.util\n\n"
        f'if importlib.util.find_spec("annotated_transformer") is None:\n    {missing}'
    )
    return fold(new_code_cell(code, id=SETUP, metadata={"tags": [SETUP]}))


def folded(cell: NotebookNode) -> NotebookNode:
    """Return a copy of a code cell, folded if the site folds it."""
    copy = new_code_cell(cell.source, id=cell.id, metadata=dict(cell.metadata))
    tags = set(cell.metadata.get("tags", []))
    return fold(copy, outputs="hide-cell" in tags) if tags & FOLDED else copy


def fold(cell: NotebookNode, *, outputs: bool = False) -> NotebookNode:
    """Fold a cell: `jupyter` is for JupyterLab and Notebook, `cellView` for Colab."""
    cell.metadata |= {"jupyter": {"source_hidden": True} | ({"outputs_hidden": True} if outputs else {})}
    cell.metadata |= {"cellView": "form"}
    return cell


def without_solutions(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook without the solutions, their headings and texts included."""
    cells = [cell for cell in notebook["cells"] if "solution" not in cell["metadata"].get("tags", [])]
    return {**notebook, "cells": cells}


def complete(cells: list[NotebookNode]) -> None:
    """Fill in what the cells of a notebook take from the outputs, when they have them."""
    refused, titles, figures = Refusals(), {}, {}
    with refused:
        fill(cells)
    with refused:
        for cell, below, texts, words in take_words(cells):
            below.source = markdown(words)
            titles[cell.id] = f"Figure {words.number}. {words.title}"
            (output,) = filter(is_figure, cell.outputs)
            figures[words.number] = identity(texts, words, output.data["text/html"])
    refused.raise_all()
    for cell in cells:
        if cell.id == SETUP and figures:
            lines = (f'    "{n}": {json.dumps(each, ensure_ascii=False)},\n' for n, each in figures.items())
            cell.source += f"{REMEMBER}{{\n{''.join(lines)}}})"
    for cell in cells:
        if cell.cell_type == "code":
            name_folded(cell, titles.get(cell.id, ""))


def name_folded(cell: NotebookNode, figure: str = "") -> None:
    """Begin folded code with a comment that says what it does, which viewers show in its place.

    A comment that the source has stays. Otherwise it is made from the `figure`, or from the listing, the
    claims or the table in the outputs, or else from the code.
    """
    if not cell.metadata.get("jupyter", {}).get("source_hidden") or cell.source.startswith("#"):
        return
    data = [output.get("data", {}) for output in cell.outputs]
    texts = [text for each in data if (text := each.get("text/markdown", ""))]
    claims = [claim["what"] for claim in map(LINE.match, texts) if claim]
    names = [figure] if figure else []
    names += [f"Show the source, from {path.strip('# ')}" for text in texts for path in LISTING.findall(text)]
    if claims and not figure:
        names = [f"Check {len(claims)} claims" if len(claims) > 1 else f"Check a claim: {claims[0]}"]
    heads = [text.splitlines()[0] for text in texts if text.startswith("|")]
    names += [shorten("Table: " + ", ".join(re.findall(r"[^|]*[^|\s]", head)), 80) for head in heads]
    if name := next(iter(names), "") or of_code(cell.source):
        cell.source = f"# {name}\n{cell.source}"


def of_code(source: str) -> str:
    """Return what folded code does, if it only imports, solves an exercise, draws, or runs a command.

    Of a cell that defines one function, and nothing else, return the first line of the docstring. Others have
    a comment that says what they are for.
    """
    body = ast.parse(source).body
    if all(isinstance(statement, ast.Import | ast.ImportFrom) for statement in body[:3]):
        return "Imports"
    for call, what in WHAT_CALLS_DO.items():
        if call in source:
            return what
    match [statement for statement in body if not isinstance(statement, ast.Import | ast.ImportFrom)]:
        case [ast.FunctionDef() as function]:
            return (ast.get_docstring(function) or "").partition("\n")[0]
    return ""


def split(text: str, book: Book, page: str) -> list[str]:
    """Return a Markdown cell of the source as cells of the notebook.

    The words of a figure are one of them, and a solution's heading; the text of an exercise begins another.
    """
    first, *_ = [*blocks(text), None]
    if first and first.kind == "words" and first.start == 0:
        return [text[: first.end].strip(), *split(text[first.end :], book, page)]
    text = EXERCISES.sub(rf"\g<0>\n\n{RUN_FIRST}", plain(text, book, page))
    parts = re.split(rf"^({SOLUTION})$|^(?=### Exercise )", text, flags=re.MULTILINE)
    return [part.strip() for part in parts if part and part.strip()]


def plain(text: str, book: Book, page: str) -> str:
    """Return Markdown of the source as plain Markdown."""
    pieces, done = [], 0
    for block in blocks(text):
        pieces += [text[done : block.start], plain_block(block, book, page)]
        done = block.end
    return re.sub(r"\n{3,}", "\n\n", "".join([*pieces, text[done:]]))


def plain_block(block: Block, book: Book, page: str) -> str:
    """Return what stands for a block of the source in the notebook."""
    match block.kind:
        case "heading" | "text":
            return INLINE.sub(lambda part: plain_part(part, book, page), block.text)
        case "words" | "code" | "html" | "formula":  # words stay until there are outputs
            return block.text
        case "exercise-start":
            return f"### {book.exercises[block.options['label']][1].heading}\n\n"
        case "solution-start":
            return f"{SOLUTION}\n"
        case "equation":
            return f"$$\n{block.content}\n\\tag{{{book.equations[block.name][1].number}}}\n$$\n"
    return ""


def plain_part(part: re.Match[str], book: Book, page: str) -> str:
    """Return what stands for a part of a line in the notebook."""
    if part["comment"]:
        return ""
    if part["role"] == "whence":
        return f"<small>{part['content']}</small>"
    if part["role"] and part["role"] != "claim":  # which is filled in when the notebook has its outputs
        return book.resolve(part["role"], part["content"], page)
    if part["target"]:
        return book.relink(part["words"], part["target"], page) or part[0]
    return part[0]
