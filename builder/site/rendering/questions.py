"""Fold the answers to readers' questions: they are looked up, not read from beginning to end."""

from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from builder.site.rendering.folds import fold, fold_line

TITLE = "Questions readers ask"
ASKED = "at-asked"  # the class of a question with its answer


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
            line = fold_line("", "", *title.children)
            shown.append(fold("", line, nodes.paragraph("", "", *answer), ids=[name], classes=[ASKED]))
        elif shown and is_question(shown[-1]) and not isinstance(block, fold):
            shown[-1] += block
        else:
            shown.append(block)
    return shown


def is_question(node: nodes.Node) -> bool:
    """Return whether a node is a question with its answer."""
    return isinstance(node, fold) and ASKED in node["classes"]
