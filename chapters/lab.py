"""Copy the notebooks for readers to work in.

python chapters/lab.py             into _lab, with a start page, keeping what a reader has changed there
python chapters/lab.py --student   into _build/student, without the solutions of the exercises
"""

import re
import shutil
import sys
from pathlib import Path

import nbformat
from build import text_of, write
from imports import HERE, ROOT
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook

from annotated_transformer.book.site.notebooks import without_solutions

START = "start.ipynb"
WELCOME = """# Start here

Open a chapter, change a number, and run its cells (*Run → Run All Cells* runs the whole chapter). To see
folded code, click the bar in its place; to see a solution, click the arrow beside its heading. These are
copies, so nothing that you change here changes the book. To get a fresh copy of a chapter, delete yours and
run `make lab` again.

| Chapter | Running time |
| --- | --- |
"""


def code(path: Path) -> list[tuple[str, str]]:
    """Return the type and the source of each cell; opening and saving a notebook changes neither."""
    return [(cell.cell_type, cell.source) for cell in nbformat.read(path, as_version=4).cells]


def copy(new: Path, folder: Path) -> str:
    """Copy a notebook into a folder, unless the reader changed the copy that is there.

    Returns:
        What to tell the reader if a changed copy is kept and the notebook is newer, or else an empty string.
    """
    mine, original = folder / new.name, folder / ".original" / new.name
    if mine.exists() and not (original.exists() and code(mine) == code(original)):
        renewed = not original.exists() or code(new) != code(original)
        return f"kept your {mine.name}, which you changed; the newer chapter is {new}" if renewed else ""
    shutil.copyfile(new, mine)
    shutil.copyfile(new, original)
    return ""


def start_page(notebooks: list[Path]) -> NotebookNode:
    """Return a notebook that lists the others, with their running times."""
    rows = []
    for path in notebooks:
        text = "\n".join(source for kind, source in code(path) if kind == "markdown")
        title = re.search(r"^# (.+)$", text, re.MULTILINE)
        time = re.search(r"Running: ([^.]+)\.", text)
        rows.append(f"| [{title[1] if title else path.stem}]({path.name}) | {time[1] if time else ''} |")
    return new_notebook(cells=[new_markdown_cell(WELCOME + "\n".join(rows), id="start")])


def main(arguments: list[str]) -> None:
    """Copy all notebooks."""
    notebooks = sorted(HERE.glob("*.ipynb"))
    if arguments not in ([], ["--student"]):
        sys.exit(f"unknown arguments: {' '.join(arguments)}; give none, or --student")
    folder = ROOT / ("_build/student" if arguments else "_lab")
    if arguments:
        folder.mkdir(parents=True, exist_ok=True)
        for path in notebooks:
            notebook = nbformat.from_dict(without_solutions(nbformat.read(path, as_version=4)))
            write(folder / path.name, text_of(notebook))
        print(f"wrote {len(notebooks)} notebooks without solutions into {folder.relative_to(ROOT)}")
        return
    (folder / ".original").mkdir(parents=True, exist_ok=True)
    for told in filter(None, (copy(path, folder) for path in notebooks)):
        print(told)
    write(folder / START, text_of(start_page(notebooks)))


if __name__ == "__main__":
    main(sys.argv[1:])
