"""The chapters of the book: the front matter of the sources in `chapters/src` lists them.

    title: Masking
    part: "Part I: Attention"
    question: How do you keep a word from attending to padding, or to words that come after it?
    here: [mask]              the parts of the model that it is about, which the strip at its head marks
    terms: {causal mask: …}   what it introduces; the glossary is made of them
    prerequisites: [what a reader needs, in Markdown, with a link to where it is taught]

The number is the beginning of the file's name.
"""

import hashlib
import re
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from sphinx.errors import ExtensionError

if TYPE_CHECKING:
    from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "chapters"
FRONT_MATTER = re.compile(r"\A---\n(.*?\n)---\n", re.DOTALL)
READING = re.compile(r"^(?=\*Reading: )", re.MULTILINE)
NEEDED = {"title", "part", "question"}
OTHERS = {"here", "terms", "prerequisites", "jupytext", "kernelspec"}
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
PYTHON = {  # without pygments_lexer: the pages color plain Python
    "name": "python",
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "nbconvert_exporter": "python",
    "codemirror_mode": {"name": "ipython", "version": 3},
}


@dataclass(frozen=True)
class Chapter:
    """A chapter: its page is `file`, it introduces `terms`, and is about `here`, parts of the model."""

    number: int
    part: str
    title: str
    question: str
    file: str
    terms: dict[str, str] = field(default_factory=dict)
    here: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The page's name without its folder, which its source shares."""
        return self.file.rpartition("/")[2]


def read_chapters(root: Path) -> list[Chapter]:
    """Return the chapters of the book in `root`, in their order.

    Raises:
        ExtensionError: The front matter of a source lacks what the list of chapters needs, or two sources
            have the same number.
    """
    found, numbered = [], dict[int, Path]()
    for source in written(root, "[0-9][0-9]_*"):
        head = front_matter(source)
        if missing := NEEDED - head.keys():
            raise ExtensionError(f"the front matter of {source.name} has no {', '.join(sorted(missing))}")
        number = int(source.name[:2])
        if (other := numbered.setdefault(number, source)) != source:
            raise ExtensionError(f"{other.name} and {source.name} are both chapter {number}; rename one")
        here = tuple(head.get("here", []))
        given = {name: str(head[name]) for name in NEEDED}
        terms = {name: " ".join(meaning.split()) for name, meaning in head.get("terms", {}).items()}
        found.append(Chapter(number, **given, file=f"chapters/{source.stem}", terms=terms, here=here))
    return found


def written(root: Path, pattern: str = "*") -> list[Path]:
    """Return the sources of chapters and guides whose names match a pattern, in the order of their names."""
    return sorted((root / "chapters" / "src").glob(f"{pattern}.md"))


def source_of(root: Path, name: str) -> Path:
    """Return the path of a chapter's source."""
    return root / "chapters" / "src" / f"{name}.md"


def front_matter(source: Path) -> dict[str, Any]:
    """Return what stands between the lines `---` at the top of a source; nothing if it has none.

    Raises:
        ExtensionError: It is not YAML, or has a key that nothing reads, such as a misspelled one.
    """
    head = FRONT_MATTER.match(source.read_text("utf-8"))
    try:
        found = yaml.safe_load(head[1]) or {} if head else {}
    except yaml.YAMLError as error:
        raise ExtensionError(
            f"the front matter of {source.name} is not YAML (quote a text that has a colon): {error}"
        ) from error
    if unread := sorted(map(str, found.keys() - NEEDED - OTHERS)):
        known, unknown = ", ".join(sorted(NEEDED | OTHERS)), ", ".join(unread)
        raise ExtensionError(
            f"the front matter of {source.name} has {unknown}, which nothing reads; the keys are {known}"
        )
    return found


@cache
def parsed(text: str) -> "NotebookNode":
    """Return the notebook that the text of a source describes, to be read only: a text is parsed once."""
    import jupytext  # takes two seconds, and front matter needs none of it

    return jupytext.reads(text, fmt="md:myst")


def read_source(source: Path) -> "NotebookNode":
    """Read a source; a cell's id is a digest of its text, so it is stable when other cells change.

    The chapter's prerequisites stand before the line that says how long it takes.
    """
    notebook, seen = deepcopy(parsed(source.read_text("utf-8"))), Counter[str]()
    needed = front_matter(source).get("prerequisites")
    before = f"**Before this chapter:** {'; '.join(needed or [])}. "
    for cell in notebook.cells:
        if needed and cell.cell_type == "markdown":
            cell.source = READING.sub(lambda _: before, cell.source, count=1)
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:8]
        cell.id = f"{digest}-{seen[digest]}"
        seen[digest] += 1
    notebook.metadata = type(notebook)(kernelspec=KERNEL, language_info=PYTHON)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook
