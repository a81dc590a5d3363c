"""Links into chapters: to claims, figures, equations, exercises and sections.

The lists of the appendices name their targets as `4#claim-mean`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from builder.chapters import Chapter, written
from builder.claim_values import measured, named_claims
from builder.handbook import page_of
from builder.source import read

TARGET = re.compile(r"(\d+)#([a-z0-9-]+)(?: (.+))?")


@dataclass(frozen=True)
class Target:
    """The target of a link; without a text, the link is named after the target."""

    chapter: int
    anchor: str
    text: str = ""


def read_targets(texts: Sequence[str]) -> tuple[Target, ...]:
    """Read targets such as `4#claim-mean`; the text of the link may follow.

    Raises:
        ExtensionError: A text is not a target.
    """
    targets = []
    for text in texts:
        match = TARGET.fullmatch(text)
        if match is None:
            raise ExtensionError(
                f"{text!r} is not a target; write CHAPTER#ANCHOR, and the link's text after it if you like"
            )
        targets.append(Target(int(match[1]), match[2], match[3] or ""))
    return tuple(targets)


def link_all(targets: Sequence[Target], chapters: dict[int, Chapter]) -> str:
    """Return links to targets as Markdown, by chapter: "Chapter 4: …; …. Chapter 3: …"."""
    parts = []
    for number in dict.fromkeys(target.chapter for target in targets):
        links = [link(target, chapters[number]) for target in targets if target.chapter == number]
        stop = "" if links[-1].partition("](")[0].endswith("?") else "."
        parts.append(f"Chapter {number}: {'; '.join(links)}{stop}")
    return " ".join(parts)


def link(target: Target, chapter: Chapter) -> str:
    """Return a link to a target in a chapter, as Markdown."""
    anchor, text = target.anchor, target.text
    if anchor.startswith("eq-"):
        return f"equation {{eq}}`{anchor}`"
    if anchor.startswith("figure-"):
        text = text or "figure " + anchor.removeprefix("figure-").replace("-", ".")
    elif anchor.startswith("claim-"):
        text = text or claims(chapter.notebook)[anchor]
    elif not anchor.startswith("ex-"):
        text = text or sections(chapter.path).get(anchor, "")
    # A target with a label and a title is referred to by its title.
    page = page_of(chapter.path, anchor)
    return f"[{text}](/{page}.ipynb#{anchor})" if text else f"{{ref}}`{anchor}`"


@cache
def rows_in(file: Path) -> list[dict[str, Any]]:
    """Return the rows of a list that several tables of a page are made from, with their targets."""
    rows = yaml.safe_load(file.read_text("utf-8"))
    return [{**row, "shown": read_targets(row["shown"])} for row in rows]


@cache
def claims(notebook: Path) -> dict[str, str]:
    """Return what each claim of a notebook measures, by its anchor."""
    cells = [cell for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code"]
    return {f"claim-{name}": measured(one) for cell in cells for name, one in named_claims(cell).items()}


def sections(source: Path) -> dict[str, str]:
    """Return the titles of the sections in a chapter's source, by the anchors that are made from them."""
    return {section.anchor: section.title for section in read(source).sections if section.level > 1}


def reference(
    environment: BuildEnvironment, domain: str, kind: str, target: str, words: nodes.Node
) -> addnodes.pending_xref:
    """Return a link that Sphinx resolves, and warns of if there is no such target."""
    return addnodes.pending_xref(
        "",
        words,
        refdomain=domain,
        reftype=kind,
        reftarget=target,
        refexplicit=True,
        refdoc=environment.docname,
        refwarn=True,
    )


def note_sources(environment: BuildEnvironment) -> None:
    """Let the page that is read be read again whenever a source of a chapter changes."""
    for source in written(Path(environment.srcdir)):
        environment.note_dependency(str(source))


class TargetTable(SphinxDirective):
    """A directive that renders a table with links into the chapters, from their sources or a list, `data`."""

    optional_arguments = 1
    data: Path | None = None

    def run(self) -> list[nodes.Node]:
        """Return the table, and register the files that it is made from."""
        root = Path(self.env.srcdir)
        chapters = {chapter.number: chapter for chapter in self.config.at_chapters}
        if self.data:
            self.env.note_dependency(str(root / self.data))
        note_sources(self.env)
        for chapter in chapters.values():
            self.env.note_dependency(str(chapter.notebook))
        return self.parse_text_to_nodes(self.text(chapters), allow_section_headings=True)

    def text(self, chapters: dict[int, Chapter]) -> str:
        """Return the table as Markdown."""
        raise NotImplementedError
