"""The handbook of a chapter: what its source has below the heading `# Handbook: TOPIC`, at its end.

In the notebook, the handbook is the last part, below a folded heading. On the site it is a page of its own,
`handbook/NAME`, with the outputs of the same notebook.
"""

import re
from pathlib import Path
from typing import Any

from nbformat import writes
from nbformat.v4 import new_notebook
from sphinx.application import Sphinx

from annotated_transformer.book.from_scratch.steps import STEPS
from builder.source import SYMPTOMS, Source, read

FOLDER = "handbook"
BUILD = "build_it_yourself.ipynb"
LOCAL = re.compile(r"\]\(#([\w-]+)\)")
FILE = re.compile(r"(\{doc\}`(?:[^`<]*<)?|\]\()([\w-]+(?:\.(?:md|ipynb)|(?=[>`])))")


def page_of(source: Path, anchor: str) -> str:
    """Return the page on which an anchor of a chapter lies: that of the chapter or of its handbook."""
    in_handbook = source.is_file() and anchor in read(source).in_handbook
    return f"{FOLDER if in_handbook else 'chapters'}/{source.stem}"


def relinked(text: str, source: Path, page: str) -> str:
    """Return a text of a chapter's page with links to its other page where their anchors lie there.

    Those of a handbook that name a file mean one beside the chapter.
    """

    def link(local: re.Match[str]) -> str:
        there = page_of(source, local[1])
        return local[0] if there == page else f"](/{there}.ipynb#{local[1]})"

    if page.startswith("chapters/"):
        return LOCAL.sub(link, text)
    return FILE.sub(r"\1/chapters/\2", LOCAL.sub(link, text))


def last_line(source: Source, link: str) -> str:
    """Return the last lines of a chapter, which lead to its handbook, and to the steps that it completes."""
    symptoms = sum(entry.section == SYMPTOMS for entry in source.entries)
    stuck = (
        f"*Stuck, or curious?* The [handbook on {source.topic}]({link}) has {symptoms} symptoms and "
        f"{len(source.entries) - symptoms} questions."
    )
    numbers = [step.number for step in STEPS if step.chapter == Path(source.name).stem]
    if not numbers:
        return stuck
    steps = f"steps {numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"step {numbers[0]}"
    return f"*Your turn.* You can now write {steps} of [Build it yourself]({BUILD}).\n\n{stuck}"


def write_stubs(app: Sphinx, config: Any) -> None:
    """Write a file for each handbook, for Sphinx to find; `page_cells.take_source` says what is in it."""
    folder = Path(app.srcdir, FOLDER)
    names = {chapter.name for chapter in config.at_chapters if read(chapter.path).topic}
    for old in folder.glob("*.ipynb"):
        if old.stem not in names:
            old.unlink()
    for name in names:
        folder.mkdir(exist_ok=True)
        if not (path := folder / f"{name}.ipynb").exists():
            path.write_text(writes(new_notebook()), "utf-8")


def leave_out_download(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Offer no notebook on the page of a handbook: it is in the chapter's."""
    if page.startswith(f"{FOLDER}/"):
        context["sourcename"] = context["page_source_suffix"] = ""
