"""The page of all symptoms, made from the handbooks: `{symptoms}`."""

import re
from pathlib import Path

import nbformat
from docutils import nodes
from nbformat import NotebookNode

from builder.chapters import Chapter, source_of
from builder.handbook import FOLDER, KINDS, SYMPTOMS, Entry, divided, entries
from builder.site.front.targets import TargetTable
from builder.site.rendering.questions import FIELD
from builder.words import with_outputs

LINK = re.compile(r" ?\(?\[[^\]]*\]\([^)\s]*\)\)?")
CAUSE = re.compile(r"^- \*Cause\.\* (.+?)(?=^- |\Z)", re.MULTILINE | re.DOTALL)
EXAMPLE = "expected all tensors to be on the same device"


class Symptoms(TargetTable):
    """`{symptoms}`: the symptoms of all handbooks by what one sees, and a field that filters them."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        """Put the field into the page, and below it the lists, whose sections MyST puts there itself."""
        field = FIELD.format(asks="What do you see?", example=EXAMPLE)
        self.state.document[0] += nodes.raw("", field, format="html")
        return super().run()

    def text(self, chapters: dict[int, Chapter], root: Path) -> str:
        """Return the lists as Markdown."""
        found = [
            (entry.kind, listed(chapter, entry))
            for chapter in chapters.values()
            for entry in entries(handbook(chapter, root))
            if entry.section == SYMPTOMS
        ]
        lists = [f"## {kind}\n\n" + "\n".join(line for of, line in found if of == kind) for kind in KINDS]
        return "\n\n".join(lists)


def handbook(chapter: Chapter, root: Path) -> list[NotebookNode]:
    """Return the cells of a chapter's handbook, with the values of claims in their texts."""
    notebook = nbformat.read(root / f"{chapter.file}.ipynb", as_version=4)
    return divided(with_outputs(source_of(root, chapter.name), notebook))[1]


def listed(chapter: Chapter, entry: Entry) -> str:
    """Return a symptom as an item of a list, with its cause, which leads to its entry."""
    title, cause = LINK.sub("", entry.title), CAUSE.search(entry.text)
    text = " ".join(LINK.sub("", cause[1] if cause else "").split())
    return f"- [{title}](/{FOLDER}/{chapter.name}.ipynb#{entry.anchor}) ({chapter.number}). {text}"
