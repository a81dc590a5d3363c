"""The page of all symptoms, made from the handbooks: `{symptoms}`."""

import re
from collections import defaultdict

import nbformat
from docutils import nodes

from builder.chapters import Chapter
from builder.claim_values import quote_all
from builder.handbook import FOLDER
from builder.site.front.targets import TargetTable
from builder.site.rendering.questions import FIELD
from builder.source import SEEN, SYMPTOMS, Entry, read

LINK = re.compile(r" ?\(?\[[^\]]*\]\([^)\s]*\)\)?")
CAUSE = re.compile(r"^- \*Cause\.\* (.+?)(?=^- |\Z)", re.MULTILINE | re.DOTALL)
EXAMPLE = "expected all tensors to be on the same device"


class Symptoms(TargetTable):
    """`{symptoms}`: the symptoms of all handbooks by what one sees, and a field that filters them."""

    def run(self) -> list[nodes.Node]:
        """Put the field into the page, and below it the lists, whose sections MyST puts there itself."""
        field = FIELD.format(asks="What do you see?", example=EXAMPLE)
        self.state.document[0] += nodes.raw("", field, format="html")
        return super().run()

    def text(self, chapters: dict[int, Chapter]) -> str:
        """Return the lists as Markdown, with the values of claims in them."""
        lists = defaultdict[str, list[str]](list)
        for chapter in chapters.values():
            cells = nbformat.read(chapter.notebook, as_version=4).cells
            for entry in read(chapter.path).entries:
                if entry.section == SYMPTOMS:
                    lists[entry.kind].append(quote_all(listed(chapter, entry), cells))
        return "\n\n".join(f"## {kind}\n\n" + "\n".join(lists[kind]) for kind in SEEN)


def listed(chapter: Chapter, entry: Entry) -> str:
    """Return a symptom as an item of a list, with its cause, which leads to its entry."""
    title, cause = LINK.sub("", entry.title), CAUSE.search(entry.text)
    text = " ".join(LINK.sub("", cause[1] if cause else "").split())
    return f"- [{title}](/{FOLDER}/{chapter.name}.ipynb#{entry.anchor}) ({chapter.number}). {text}"
