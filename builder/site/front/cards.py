"""The chapters' cards on the cover, and the table of all chapters in the preface."""

from collections.abc import Callable
from itertools import groupby
from pathlib import Path

from jinja2 import Template

from builder.chapters import Chapter

ROOMS = Path("annotated_transformer", "book", "chapters")
CARDS = Template(
    """{% for part, chapters in parts %}<h3 class="at-part">{{ part }}</h3>
<ul role="list" class="at-cards">
{% for c in chapters %}<li class="at-card"><a href="{{ link(c.file) }}">
<span class="at-card-number"><span class="at-hidden">Chapter </span>{{ c.number }}</span>
<strong>{{ c.title|e }}</strong><span class="at-card-question">{{ c.question|e }}</span>
{{- drawing(c) }}</a></li>
{% endfor %}</ul>
{% endfor %}"""
)


def cards(chapters: list[Chapter], root: Path, link: Callable[[str], str]) -> str:
    """Return the cards as HTML, by part; `link` turns a page's name into an address."""

    def drawing(chapter: Chapter) -> str:
        file = icon(root, chapter)
        return file.read_text(encoding="utf-8").strip() if file.is_file() else ""

    return CARDS.render(parts=by_part(chapters), link=link, drawing=drawing)


def icon(root: Path, chapter: Chapter) -> Path:
    """Return the file of a chapter's icon, in its room."""
    return root / ROOMS / chapter.name.partition("_")[2] / "icon.svg"


def table(chapters: list[Chapter]) -> str:
    """Return the chapters with their questions as Markdown, one table for each part."""
    lines = []
    for part, members in by_part(chapters):
        lines += [f"| {part} | The question it answers |", "| --- | --- |"]
        for chapter in members:
            title = f"{{doc}}`{chapter.title} </{chapter.file}>`"
            lines.append(f"| {chapter.number}. {title} | {chapter.question} |")
        lines.append("")
    return "\n".join(lines)


def by_part(chapters: list[Chapter]) -> list[tuple[str, list[Chapter]]]:
    """Return the chapters of each part."""
    return [(part, list(members)) for part, members in groupby(chapters, key=lambda chapter: chapter.part)]
