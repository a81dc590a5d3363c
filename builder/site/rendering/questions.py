"""Fold the answers to readers' questions: they are looked up, not read from beginning to end."""

from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from builder.site.rendering.folds import fold

TITLE = "Questions readers ask"


class question(nodes.Element):  # type: ignore[misc]
    """A question with its answer: the visible line, and the folded content."""


class question_title(nodes.TextElement):  # type: ignore[misc]
    """The question itself."""


class FoldQuestions(SphinxPostTransform):
    """Turn each question of that section, a paragraph that begins in bold, into a fold with its answer."""

    default_priority = 900  # when all references are resolved
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Fold the questions of one page."""
        for section in self.document.findall(nodes.section):
            if section[0].astext() == TITLE:
                section[:] = folded(list(section))


def folded(blocks: list[nodes.Node]) -> list[nodes.Node]:
    """Return the blocks of a section, each question in a fold together with its answer; other folds stay."""
    shown: list[nodes.Node] = []
    for block in blocks:
        words = [node for node in block.children if node.astext()]  # the first one from MyST is empty
        if isinstance(block, nodes.paragraph) and words and isinstance(words[0], nodes.strong):
            title, *answer = words
            if answer and isinstance(answer[0], nodes.Text):
                answer[0] = nodes.Text(answer[0].lstrip())
            name = nodes.make_id(f"asked {title.astext()}")
            line = question_title("", "", *title.children)
            shown.append(question("", line, nodes.paragraph("", "", *answer), ids=[name]))
        elif shown and isinstance(shown[-1], question) and not isinstance(block, fold):
            shown[-1] += block
        else:
            shown.append(block)
    return shown


def visit_question(translator: Any, node: question) -> None:
    """Open a fold."""
    translator.body.append(translator.starttag(node, "details", CLASS="at-asked"))


def depart_question(translator: Any, node: question) -> None:
    """Close a fold."""
    translator.body.append("</details>\n")


def visit_title(translator: Any, node: question_title) -> None:
    """Open the line that stays visible."""
    translator.body.append("<summary>")


def depart_title(translator: Any, node: question_title) -> None:
    """Close the line that stays visible."""
    translator.body.append("</summary>\n")
