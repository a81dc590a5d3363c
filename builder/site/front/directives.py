"""Directives of the front: the picture, cards, tables of chapters, and the reference of the rooms."""

from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from annotated_transformer.book import chapters as rooms
from annotated_transformer.checkpointing.checkpoint import pretrained_folder
from builder.chapters import Chapter
from builder.explorer.bundle import model_size
from builder.explorer.still import MAP, POSTER
from builder.site.front.cards import cards, icon, table
from builder.site.front.cover_data import FILE, MODEL
from builder.site.front.model_map import model_map
from builder.site.front.picture import picture
from builder.site.front.targets import TargetTable, note_sources

MODULE = """### `{short}`

```{{eval-rst}}
.. automodule:: {name}
   :members:
```
"""


class Picture(SphinxDirective):
    """`{attention-picture}`: the live picture of the cover."""

    def run(self) -> list[nodes.Node]:
        """Return the picture as HTML."""
        self.env.note_dependency(str(FILE))
        self.env.note_dependency(str(pretrained_folder(MODEL) / "model.safetensors"))
        return [nodes.raw("", picture(model_size(MODEL)), format="html")]


class Poster(SphinxDirective):
    """`{poster} TEXT`: links to the whole Transformer on one sheet; the PDF is there once it is made."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the text, linked, and the other form."""
        here = [file for file in POSTER if file.is_file()]
        for file in POSTER:
            self.env.note_dependency(str(file))
        links = [f'<a href="_static/{file.name}">{file.suffix[1:].upper()}</a>' for file in here]
        return [nodes.raw("", f"<p>{self.arguments[0]} ({', '.join(links)}).</p>", format="html")]


class YouAreHere(SphinxDirective):
    """`{you-are-here} N`: the map of the model for chapter N, beside its opening question."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the map as HTML."""
        self.env.note_dependency(str(MAP))
        number, chapters = int(self.arguments[0]), self.config.at_chapters
        chapter = next(each for each in chapters if each.number == number)
        return [nodes.raw("", model_map(chapters, chapter), format="html", classes=["at-map"])]


class chapter_cards(nodes.General, nodes.Element):  # type: ignore[misc]
    """A placeholder for the cards; they link to other pages, so they are made when this one is written."""


class Cards(SphinxDirective):
    """`{chapter-cards}`: a card for each chapter, by part."""

    def run(self) -> list[nodes.Node]:
        """Return the placeholder, and register the files that the cards are made from."""
        note_sources(self.env)
        for chapter in self.config.at_chapters:
            self.env.note_dependency(str(icon(Path(self.env.srcdir), chapter)))
        return [chapter_cards()]


def write_cards(translator: Any, node: nodes.Element) -> None:
    """Write the cards into the page."""
    builder = translator.builder
    here = builder.current_docname

    def link(page: str) -> str:
        return str(builder.get_relative_uri(here, page))

    translator.body.append(cards(builder.config.at_chapters, Path(builder.env.srcdir), link))
    raise nodes.SkipNode


class Chapters(TargetTable):
    """`{chapter-tables}`: the chapters of each part, with the questions that they answer."""

    def text(self, chapters: dict[int, Chapter]) -> str:
        """Return the tables as Markdown."""
        return table(list(chapters.values()))


def draws(name: str) -> bool:
    """Return whether a module of a room draws figures."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return "annotated_transformer.book.drawing" in Path(spec.origin).read_text(encoding="utf-8")


class Rooms(SphinxDirective):
    """`{rooms}`: the reference of the modules in the rooms of the chapters, less their drawings."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each module."""
        modules = walk_packages(rooms.__path__, f"{rooms.__name__}.")
        names = [each.name for each in modules if not each.ispkg and not draws(each.name)]
        text = "\n".join(MODULE.format(short=name.partition(".")[2], name=name) for name in names)
        return self.parse_text_to_nodes(text, allow_section_headings=True)
