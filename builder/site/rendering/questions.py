"""Fold the entries of a handbook: they are looked up, not read from beginning to end."""

from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from builder.handbook import ENTRIES, entry_id
from builder.site.rendering.folds import fold, fold_line

ASKED = "at-asked"  # the class of a question with its answer


class FoldQuestions(SphinxPostTransform):
    """Turn each entry, a paragraph that begins in bold, into a fold with what follows it."""

    default_priority = 900  # when all references are resolved
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Fold the questions of one page."""
        for section in self.document.findall(nodes.section):
            named = [section, *([section.parent] if isinstance(section.parent, nodes.section) else [])]
            if any(each[0].astext().startswith(ENTRIES) for each in named):
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
            line = fold_line("", "", *title.children)
            text, name = nodes.paragraph("", "", *answer), entry_id(title.astext())
            shown.append(fold("", line, text, ids=[name], classes=[ASKED]))
        elif shown and is_question(shown[-1]) and not isinstance(block, fold):
            shown[-1] += block
        else:
            shown.append(block)
    return shown


def is_question(node: nodes.Node) -> bool:
    """Return whether a node is a question with its answer."""
    return isinstance(node, fold) and ASKED in node["classes"]
