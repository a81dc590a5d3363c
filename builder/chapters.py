"""The chapters of the book: the front matter of the sources in `chapters/src` lists them.

    title: Masking
    part: "Part I: Attention"
    question: How do you keep a word from attending to padding, or to words that come after it?
    here: [mask]              the parts of the model that it is about, which the map at its head lights
    terms: {causal mask: …}   what it introduces; the glossary is made of them
    prerequisites: [what a reader needs, in Markdown, with a link to where it is taught]

The number is the beginning of the file's name.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "chapters"
FRONT_MATTER = re.compile(r"\A---\n(.*?\n)---\n", re.DOTALL)
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
    """A chapter with its source: it introduces `terms`, and is about `here`, parts of the model."""

    number: int
    part: str
    title: str
    question: str
    path: Path
    terms: dict[str, str] = field(default_factory=dict)
    here: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name that the source, the notebook, and the page share."""
        return self.path.stem

    @property
    def file(self) -> str:
        """The page, as Sphinx names it."""
        return f"chapters/{self.name}"

    @property
    def notebook(self) -> Path:
        """The executed notebook."""
        return self.path.parents[1] / f"{self.name}.ipynb"


def read_chapters(root: Path) -> list[Chapter]:
    """Return the chapters of the book in `root`, in their order.

    Raises:
        ExtensionError: The front matter of a source lacks what the list of chapters needs, or two sources
            have the same number.
    """
    chapters, numbered = [], dict[int, Path]()
    for source in written(root, "[0-9][0-9]_*"):
        head = front_matter(source)
        if missing := NEEDED - head.keys():
            raise ExtensionError(f"the front matter of {source.name} has no {', '.join(sorted(missing))}")
        number = int(source.name[:2])
        if (other := numbered.setdefault(number, source)) != source:
            raise ExtensionError(f"{other.name} and {source.name} are both chapter {number}; rename one")
        here = tuple(head.get("here", []))
        texts = {name: str(head[name]) for name in NEEDED}
        terms = {name: " ".join(meaning.split()) for name, meaning in head.get("terms", {}).items()}
        chapters.append(Chapter(number, **texts, path=source, terms=terms, here=here))
    return chapters


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
        values = yaml.safe_load(head[1]) or {} if head else {}
    except yaml.YAMLError as error:
        raise ExtensionError(
            f"the front matter of {source.name} is not YAML (quote a text that has a colon): {error}"
        ) from error
    if unread := sorted(map(str, values.keys() - NEEDED - OTHERS)):
        known, unknown = ", ".join(sorted(NEEDED | OTHERS)), ", ".join(unread)
        raise ExtensionError(
            f"the front matter of {source.name} has {unknown}, which nothing reads; the keys are {known}"
        )
    return values


def number(page: str, place: int) -> str:
    """Return the number of an item by its place on the page: 3.1 in chapters/03_name, 1 on other pages."""
    return ".".join(filter(None, (chapter_number(page), str(place))))


def chapter_number(page: str) -> str:
    """Return the number of the chapter on a page: 3 for chapters/03_name, an empty string for other pages."""
    digits = re.match(r"(?:.*/)?(\d\d)_", page)
    return str(int(digits[1])) if digits else ""
