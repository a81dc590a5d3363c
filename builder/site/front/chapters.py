"""All chapters of the book, written or planned, and their cards on the cover."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Template
from sphinx.errors import ExtensionError

from builder.site.front.thumbnail import thumbnail

LIST = Path("chapters", "planned.yml")
FRONT_MATTER = re.compile(r"\A---\n(.*?\n)---\n", re.DOTALL)


@dataclass(frozen=True)
class Chapter:
    """A chapter: `file` is its page, if it is written; `terms` are those that it introduces."""

    number: int
    part: str
    title: str
    question: str
    file: str = ""
    figure: str = ""
    terms: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The page's name without its folder, which its source shares."""
        return self.file.rpartition("/")[2]


def read_chapters(root: Path) -> list[Chapter]:
    """Return the chapters of the book in `root`, in their order.

    Raises:
        ExtensionError: `planned.yml` and `chapters/src` do not name the same written chapters.
    """
    listed = [_chapter(root, entry) for entry in yaml.safe_load((root / LIST).read_text(encoding="utf-8"))]
    written = {path.stem for path in source_of(root, "x").parent.glob("[0-9][0-9]_*.md")}
    named = {chapter.name for chapter in listed if chapter.file}
    if written != named:
        raise ExtensionError(
            f"{LIST} and chapters/src differ in {sorted(written ^ named)}; give a chapter its `file` "
            f"in {LIST} once its source exists, and not before"
        )
    return listed


def source_of(root: Path, name: str) -> Path:
    """Return the path of a chapter's source."""
    return root / "chapters" / "src" / f"{name}.md"


def _chapter(root: Path, entry: dict[str, Any]) -> Chapter:
    if entry.get("file"):
        source = source_of(root, entry["file"].rpartition("/")[2])
        return Chapter(**entry, terms=defined_terms(source.read_text("utf-8")) if source.is_file() else {})
    return Chapter(**{**entry, "terms": dict.fromkeys(entry["terms"], "")})


def defined_terms(source: str) -> dict[str, str]:
    """Return the terms that a chapter's front matter defines."""
    head = FRONT_MATTER.match(source)
    terms = yaml.safe_load(head[1]).get("terms") if head else None
    return {str(term): " ".join(str(words).split()) for term, words in (terms or {}).items()}


CARDS = Template(
    """{% for part, chapters in parts %}<h3 class="at-part">{{ part }}</h3>
<ul role="list" class="at-cards">
{% for c in chapters %}<li class="at-card{{ '' if c.file else ' at-planned' }}">
{%- if c.file %}<a href="{{ link(c.file) }}">{% endif -%}
<span class="at-card-number"><span class="at-hidden">Chapter </span>{{ c.number }}
{%- if not c.file %} <span class="at-tag">planned</span>{% endif %}</span>
<strong>{{ c.title|e }}</strong><span class="at-card-question">{{ c.question|e }}</span>
{%- if c.file %}{{ drawing(c) }}</a>{% endif %}</li>
{% endfor %}</ul>
{% endfor %}"""
)


def cards(chapters: list[Chapter], root: Path, link: Callable[[str], str]) -> str:
    """Return the cards as HTML, by part; `link` turns a page's name into an address."""

    def drawing(chapter: Chapter) -> str:
        notebook = (root / f"{chapter.file}.ipynb").read_text(encoding="utf-8")
        return thumbnail(notebook, f"card-{chapter.number}-", chapter.figure)

    parts = [(part, list(members)) for part, members in groupby(chapters, key=lambda c: c.part)]
    return CARDS.render(parts=parts, link=link, drawing=drawing)
