"""The glossary: the terms that chapters define in their front matter."""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from builder.chapters import Chapter
from builder.site.front.targets import reference


class Terms(SphinxDirective):
    """`{chapter-terms}`: the terms that chapters define, in alphabetical order, with links to them."""

    def run(self) -> list[nodes.Node]:
        """Return a list of definitions."""
        terms = []
        for chapter in self.config.at_chapters:
            self.env.note_dependency(str(chapter.path))
            terms += [(term, words, chapter) for term, words in chapter.terms.items()]
        items = [self._item(*entry) for entry in sorted(terms, key=lambda entry: entry[0].lower())]
        return [nodes.definition_list("", *items, classes=["at-glossary"])]

    def _item(self, term: str, words: str, chapter: Chapter) -> nodes.definition_list_item:
        """Return a term, which can be linked, and its definition, which is Markdown."""
        texts, messages = self.state.inline_text(words, self.lineno)
        title = nodes.inline("", f"Chapter {chapter.number}: {chapter.title}")
        link = reference(self.env, "std", "doc", f"/{chapter.file}", title)
        name = nodes.term("", term, ids=[f"term-{nodes.make_id(term)}"])
        body = nodes.definition("", nodes.paragraph("", "", *texts, nodes.Text(" "), link), *messages)
        return nodes.definition_list_item("", name, body)
