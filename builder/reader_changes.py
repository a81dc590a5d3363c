"""Change settings of chapters one at a time, as readers do, run all cells, and list what then breaks.

python -m builder.reader_changes NAME …          all changes of these chapters (without a name, of all)
python -m builder.reader_changes NAME --only 2   the second change of this chapter

The front matter of a chapter lists changes that a reader might make: `changes: [[lr=0.05, lr=0.01], …]`,
each the old code, which occurs once, and the new. After a change, every cell must run, each claim must show
its line (✓ or ✗ with its value), each figure must be drawn, and each check must give its verdict.
"""

import argparse
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from nbclient import NotebookClient
from nbformat import NotebookNode
from tqdm import tqdm

from annotated_transformer.book.cells.check import STRICT
from builder.book import Book
from builder.build import COLOR
from builder.chapters import CHAPTERS, ROOT, front_matter, written
from builder.staleness import unexecuted

Change = tuple[str, str]
MAY_FAIL = {"raises-exception"}
READERS = {"exercise", "solution"}
LINE = re.compile(r"[✓✗] ")


def changes(source: Path) -> list[Change]:
    """Return the changes that the front matter of a chapter lists."""
    return [(str(old), str(new)) for old, new in front_matter(source).get("changes", [])]


def changed(notebook: NotebookNode, change: Change) -> NotebookNode:
    """Return the notebook with one change.

    Raises:
        ValueError: The old code does not occur exactly once outside of the exercises.
    """
    old, new = change
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    found = [c for c in code if old in c.source and not READERS & set(c.metadata.get("tags", []))]
    count = sum(cell.source.count(old) for cell in found)
    if count != 1:
        raise ValueError(f"the code {old!r} occurs {count} times, not once; give more of it, or less")
    found[0].source = found[0].source.replace(old, new)
    return notebook


def faults(notebook: NotebookNode) -> Iterator[str]:
    """Yield what is missing from the outputs of an executed notebook."""
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        begins = cell.source.strip().partition("\n")[0][:60]
        tags = set(cell.metadata.get("tags", []))
        errors = [each for each in cell.outputs if each.output_type == "error"]
        for error in errors if not tags & MAY_FAIL else []:
            at = re.findall(r"^-+> *\d+ (.*)$", COLOR.sub("", "\n".join(error.traceback)), re.MULTILINE)
            where = f" in {at[0].strip()!r}" if at else ""
            yield f"{begins!r} raises {error.ename}: {error.evalue.partition(chr(10))[0]}{where}"
        if errors:
            continue
        texts = [output.get("data", {}).get("text/markdown", "") for output in cell.outputs]
        said = [text for text in texts if LINE.match(text)]
        if len(said) < len(cell.metadata.get("claims", [])):
            yield f"{begins!r}: {len(said)} of its claims are shown: {said}"
        html = "".join(output.get("data", {}).get("text/html", "") for output in cell.outputs)
        drawn = html.count('<figure class="at-figure')
        wanted = len(re.findall(r"^show_(?:figure|slider|drag)\(", cell.source, re.MULTILINE))
        if drawn < wanted:
            yield f"{begins!r}: {drawn} of its {wanted} figures are drawn"
        verdicts = [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
        if re.search(r"^checks\.check_", cell.source, re.MULTILINE) and not any(map(LINE.match, verdicts)):
            yield f"{begins!r}: the check gives no verdict"


@cache
def the_book() -> Book:
    """Return the book, read once: a notebook needs the titles of the others."""
    return Book(ROOT)


def run(source: Path, change: Change | None) -> list[str]:
    """Run a chapter with one change in a reader's copy, and return what breaks."""
    notebook = unexecuted(source, the_book())
    if change:
        notebook = changed(notebook, change)
    os.environ.pop(STRICT, None)
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    resources = {"metadata": {"path": str(CHAPTERS)}}
    return list(
        faults(NotebookClient(notebook, timeout=900, allow_errors=True, resources=resources).execute())
    )


def main() -> int:
    """Run the changes that are asked for, print what breaks, and return how many of them break something."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--only", type=int, help="number of one change, from 1")
    parser.add_argument("--change", nargs=2, metavar=("OLD", "NEW"), help="a change that is not listed")
    options = parser.parse_args()
    sources = written(ROOT)
    if unknown := sorted(set(options.names) - {source.stem for source in sources}):
        parser.error(
            f"no chapter is called {', '.join(unknown)}; there are {', '.join(s.stem for s in sources)}"
        )
    tried = broken = 0
    for source in [each for each in sources if not options.names or each.stem in options.names]:
        listed = [tuple(options.change)] if options.change else changes(source)
        for change in tqdm(listed[options.only - 1 : options.only] if options.only else listed, source.stem):
            found = run(source, change)
            tried, broken = tried + 1, broken + bool(found)
            print(f"{source.stem}: {change[0]} → {change[1]}: {'ok' if not found else ''}", flush=True)
            for fault in found:
                print(f"    {fault}", flush=True)
    print(f"{tried - broken} of {tried} changes run to the end")
    return broken


if __name__ == "__main__":
    sys.exit(min(main(), 1))
