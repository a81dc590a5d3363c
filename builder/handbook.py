"""The handbook of a chapter: what its source has below the heading `# Handbook: TOPIC`, at its end.

    # Handbook: masks

    ## Symptoms

    ### A number

    **The loss is NaN from one batch on**

    - *Cause.* A row of the mask hides all keys.
    - *Test.* `mask.any(dim=-1).all()` is False for that batch.
    - *Repair.* Give such rows weights of 0 ({ref}`queries that may read nothing <masking-blind>`).

A paragraph that begins in bold begins an entry. In the notebook, the handbook is the last part, below a
folded heading. On the site it is a page of its own, `handbook/NAME`, with the outputs of the same notebook.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from docutils.nodes import make_id
from nbformat import NotebookNode, writes
from nbformat.v4 import new_notebook
from sphinx.application import Sphinx

from builder.chapters import parsed, source_of

FOLDER = "handbook"
MARK = re.compile(r"# Handbook: (?P<topic>.+)")
SYMPTOMS = "Symptoms"
ENTRIES = (SYMPTOMS, "Why not", "Questions")  # the beginnings of the sections whose paragraphs are entries
KINDS = ("A message", "A shape", "A number", "A curve", "A text")  # what one sees, of a symptom
HEADING = re.compile(r"^(?P<level>#{2,3}) (?P<title>.+)$")
SECTION = re.compile(r"^##+ (.+)$", re.MULTILINE)
ENTRY = re.compile(r"\*\*(?P<title>.+?)\*\*(?P<text>.*)", re.DOTALL)
LABEL = re.compile(r"^\(([\w-]+)\)=$", re.MULTILINE)
FIGURE = re.compile(r"^```\{words\} ([\w.]+)\. ", re.MULTILINE)
LOCAL = re.compile(r"\]\(#([\w-]+)\)")
FILE = re.compile(r"(\{doc\}`(?:[^`<]*<)?|\]\()([\w-]+(?:\.(?:md|ipynb)|(?=[>`])))")


class Entry(NamedTuple):
    """An entry: the section and subsection that it is in, its title, and its text, as Markdown."""

    section: str
    kind: str
    title: str
    text: str

    @property
    def anchor(self) -> str:
        """The id of the entry on its page."""
        return entry_id(re.sub(r"[`$*]", "", self.title))


def slug(title: str) -> str:
    """Return the id of a section with this title."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def entry_id(title: str) -> str:
    """Return the id of an entry with this title, whose apostrophes the site makes curly."""
    return make_id("asked " + re.sub("['’]", "", title))


def divided(cells: Sequence[NotebookNode]) -> tuple[list[NotebookNode], list[NotebookNode]]:
    """Return the cells of a chapter, and those of its handbook, which a source may lack."""
    marked = (place for place, cell in enumerate(cells) if is_mark(cell))
    place = next(marked, len(cells))
    return list(cells[:place]), list(cells[place:])


def is_mark(cell: NotebookNode) -> bool:
    """Return whether the handbook begins with this cell."""
    return bool(cell.cell_type == "markdown" and MARK.match(cell.source))


def entries(cells: Iterable[NotebookNode]) -> Iterator[Entry]:
    """Yield the entries of a handbook."""
    section, kind, held = "", "", list[str]()
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    for block in [*re.split(r"\n{2,}", LABEL.sub("", "\n\n".join(texts))), "## End"]:
        block = block.lstrip()  # of what a label leaves
        heading, begins = HEADING.match(block), block.startswith("**")
        if held and (heading or begins):
            found = ENTRY.match("\n\n".join(held))
            assert found, held
            yield Entry(section, kind, " ".join(found["title"].split()), found["text"].strip())
            held = []
        if heading:
            is_section, title = heading["level"] == "##", heading["title"]
            section, kind = (title, "") if is_section else (section, title)
        elif section.startswith(ENTRIES) and (begins or held):
            held.append(block)


@cache
def anchors(source: str) -> frozenset[str]:
    """Return the anchors in the handbook of a chapter with this source."""
    cells, found = divided(parsed(source).cells)[1], set[str]()
    for cell in cells:
        found |= {f"claim-{name}" for name in cell.metadata.get("claims", ())}
        if cell.cell_type == "markdown":
            numbers = [number.replace(".", "-") for number in FIGURE.findall(cell.source)]
            found |= {f"{kind}-{number}" for number in numbers for kind in ("figure", "code")}
            found |= {*map(slug, SECTION.findall(cell.source)), *LABEL.findall(cell.source)}
    return frozenset(found | {entry.anchor for entry in entries(cells)})


def page_of(root: Path, name: str, anchor: str) -> str:
    """Return the page on which an anchor of a chapter lies: that of the chapter or of its handbook."""
    source = source_of(root, name)
    in_handbook = source.is_file() and anchor in anchors(source.read_text("utf-8"))
    return f"{FOLDER if in_handbook else 'chapters'}/{name}"


def relinked(text: str, root: Path, page: str) -> str:
    """Return a text of a page with links to the chapter's other page where their anchors lie there.

    Those of a handbook that name a file mean one beside the chapter.
    """

    def link(found: re.Match[str]) -> str:
        there = page_of(root, page.rpartition("/")[2], found[1])
        return found[0] if there == page else f"](/{there}.ipynb#{found[1]})"

    if page.startswith("chapters/"):
        return LOCAL.sub(link, text)
    return FILE.sub(r"\1/chapters/\2", LOCAL.sub(link, text))


def last_line(handbook: Sequence[NotebookNode], link: str) -> str:
    """Return the last line of a chapter, which leads to its handbook."""
    found = MARK.match(handbook[0].source)
    assert found
    listed = [entry.section == SYMPTOMS for entry in entries(handbook)]
    return (
        f"*Stuck, or curious?* The [handbook on {found['topic']}]({link}) has {sum(listed)} symptoms and "
        f"{len(listed) - sum(listed)} questions."
    )


def write_stubs(app: Sphinx, config: Any) -> None:
    """Write a file for each handbook, for Sphinx to find; `page_cells.take_source` says what is in it."""
    folder = Path(app.srcdir, FOLDER)
    texts = {
        each.name: source_of(Path(app.srcdir), each.name).read_text("utf-8") for each in config.at_chapters
    }
    named = {name for name, text in texts.items() if "\n# Handbook: " in text}
    for old in folder.glob("*.ipynb"):
        if old.stem not in named:
            old.unlink()
    for name in named:
        folder.mkdir(exist_ok=True)
        if not (path := folder / f"{name}.ipynb").exists():
            path.write_text(writes(new_notebook()), "utf-8")


def leave_out_download(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Offer no notebook on the page of a handbook: it is in the chapter's."""
    if page.startswith(f"{FOLDER}/"):
        context["sourcename"] = context["page_source_suffix"] = ""
