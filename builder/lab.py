"""Copy the notebooks for readers to work in, with a start page, keeping what a reader has changed there.

python -m builder.lab             into _lab
python -m builder.lab --student   into _student, without the solutions of the exercises
"""

import json
import re
import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook

from builder.build import write
from builder.chapters import CHAPTERS, KERNEL, PYTHON, ROOT
from builder.reader import without_solutions
from builder.staleness import text_of

START = "start.ipynb"
WELCOME = """# Start here

Open a chapter, change a number, and run its cells (*Run → Run All Cells* runs the whole chapter). To see
folded code, click the bar in its place{}; *View → Expand All Code* opens all
cells. Outputs follow your change: figures, tables, and the lines of claims (✓, ✗, or – for what is said of
the book's example only). A figure whose values differ from the book's says its own title and caption, and
one whose labels differ says that it does; if only lines and shades have moved, the text below it may no
longer describe it. Other text keeps the numbers of the book.

These are copies, so nothing that you change here changes the book. To get a fresh copy of a chapter, delete
or rename yours and run `make {}` again. The package is not copied: edit a formula in `annotated_transformer`,
restart the kernel, and the chapters, training, and translation compute with your lines. What does not follow
an edit, such as `attention="fused"`, is listed in `chapters/installation.md`, *Working in the notebooks*.

| Chapter | Running time on one core |
| --- | --- |
"""


def code(text: str) -> list[tuple[str, str]] | None:
    """Return the type and the source of each cell, or None if the text is no notebook.

    Opening and saving a notebook changes neither.
    """
    try:
        return [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]
    except (ValueError, KeyError, TypeError):
        return None


def copy(name: str, text: str, folder: Path) -> str:
    """Copy a notebook into a folder, unless the reader changed the copy that is there.

    Returns:
        What to tell the reader if a changed copy is kept and the notebook is newer, or else an empty string.
    """
    mine, original = folder / name, folder / ".original" / name
    before = original.read_text("utf-8") if original.exists() else ""
    if not mine.exists():
        before = ""
    elif (now := code(mine.read_text("utf-8", errors="replace"))) is None or now != code(before):
        newer = code(text) != code(before)
        return f"kept your {mine.name}, which you changed; rename it to get the newer one" if newer else ""
    if text != before:
        write(mine, text)
        write(original, text)
    return ""


def start_page(chapters: dict[str, str], *, student: bool) -> NotebookNode:
    """Return a notebook that lists the others, with their running times."""
    rows = []
    for name, text in chapters.items():
        words = "\n".join(source for kind, source in code(text) or () if kind == "markdown")
        title = re.search(r"^# (.+)$", words, re.MULTILINE)
        time = re.search(r"Running: (.+?) on one CPU core\.", words)
        rows.append(f"| [{title[1] if title else name}]({name}) | {time[1] if time else ''} |")
    welcome = WELCOME.format(
        *("", "student") if student else ("; to see a solution, click the arrow beside its heading", "lab")
    )
    page = new_notebook(cells=[new_markdown_cell(welcome + "\n".join(rows), id="start")])
    page.metadata = NotebookNode(kernelspec=KERNEL, language_info=PYTHON)  # otherwise JupyterLab asks
    return page


def main(arguments: list[str]) -> None:
    """Copy all notebooks."""
    if arguments not in ([], ["--student"]):
        sys.exit(f"unknown arguments: {' '.join(arguments)}; give none, or --student")
    student = bool(arguments)
    folder = ROOT / ("_student" if student else "_lab")
    (folder / ".original").mkdir(parents=True, exist_ok=True)
    chapters = {path.name: path.read_text("utf-8") for path in sorted(CHAPTERS.glob("*.ipynb"))}
    if student:
        for name, text in chapters.items():
            notebook = without_solutions(nbformat.reads(text, as_version=4))
            chapters[name] = text_of(nbformat.from_dict(notebook))
    for message in filter(None, (copy(name, text, folder) for name, text in chapters.items())):
        print(message)
    write(folder / START, text_of(start_page(chapters, student=student)))


if __name__ == "__main__":
    main(sys.argv[1:])
