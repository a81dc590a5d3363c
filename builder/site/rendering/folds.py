"""What a page keeps closed at its end: its results, and its code."""

from collections.abc import Callable
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective


class fold(nodes.Element):  # type: ignore[misc]
    """Content that is closed until it is asked for; its first child is a `fold_line`."""


class fold_line(nodes.TextElement):  # type: ignore[misc]
    """The line of a fold that stays visible."""


class Evidence(SphinxDirective):
    """`{evidence} 13 results …`: what the tests recompute of a page, below one line that counts it."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {"id": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return the fold."""
        mark = nodes.inline("", "✓", classes=["at-check"])
        line = fold_line("", "", mark, nodes.Text(f" {self.arguments[0]}"))
        ids = [self.options["id"]] if "id" in self.options else []
        return [fold("", line, *self.parse_content_to_nodes(), classes=["at-evidence"], ids=ids)]


class PageCode(SphinxDirective):
    """`{page-code}`: the code of set-up, experiments and figures, below one line at the end of a page."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the fold."""
        line = fold_line("", "Code of this page")
        return [fold("", line, *self.parse_content_to_nodes(), classes=["at-page-code"], ids=["page-code"])]


def element(tag: str, after: str) -> tuple[Callable[[Any, Any], None], Callable[[Any, Any], None]]:
    """Return how a node is written as an HTML element: its begin, with what is `after` it, and its end."""

    def visit(translator: Any, node: nodes.Element) -> None:
        translator.body.append(translator.starttag(node, tag, after))

    def depart(translator: Any, node: nodes.Element) -> None:
        translator.body.append(f"</{tag}>\n")

    return visit, depart


NODES = {fold: element("details", "\n"), fold_line: element("summary", "")}
