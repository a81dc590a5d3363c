"""Fold the entries of a handbook below their titles: they are looked up, not read from beginning to end.

A field above those of a handbook filters them as one types (entries.js).
"""

from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxRole

from builder.handbook import FOLDER
from builder.site.rendering.folds import fold, fold_line
from builder.source import ENTRIES, entry_id

ASKED = "at-asked"  # the class of a question with its answer
WHENCE = "at-whence"  # of the words behind its title that say whence the answer is
FIELD = (
    '<p class="at-filter" hidden><label>{asks} <input type="search" placeholder="{example}" '
    'autocomplete="off"></label> <output aria-live="polite"></output></p>'
)


class Whence(SphinxRole):
    """{whence}`run here`: what an entry rests on."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the words, to be shown smaller than others."""
        return [nodes.inline("", self.text, classes=[WHENCE])], []


class FoldQuestions(SphinxPostTransform):
    """Turn each entry, a paragraph that begins in bold, into a fold with what follows it."""

    default_priority = 900  # when all references are resolved
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Fold the questions of one page."""
        entries = 0
        for section in self.document.findall(nodes.section):
            named = [section, *([section.parent] if isinstance(section.parent, nodes.section) else [])]
            if any(each[0].astext().startswith(ENTRIES) for each in named):
                section[:] = folded(list(section))
                entries += sum(map(is_question, section))
        if self.env.docname.startswith(f"{FOLDER}/"):
            field = FIELD.format(asks="What do you look for?", example=f"words, among {entries} entries")
            self.document[0].insert(1, nodes.raw("", field, format="html"))


def folded(blocks: list[nodes.Node]) -> list[nodes.Node]:
    """Return the blocks of a section, each question in a fold together with its answer; other folds stay."""
    result: list[nodes.Node] = []
    for block in blocks:
        words = [node for node in block.children if node.astext()]  # the first one from MyST is empty
        if isinstance(block, nodes.paragraph) and words and isinstance(words[0], nodes.strong):
            title, name = words[0], entry_id(words[0].astext())
            whence = [word for word in words if isinstance(word, nodes.inline) and WHENCE in word["classes"]]
            answer = [word for word in words[1:] if word not in whence]
            if answer and isinstance(answer[0], nodes.Text):
                answer[0] = nodes.Text(answer[0].lstrip())
            line = fold_line("", "", *title.children, *whence)
            result.append(fold("", line, ids=[name], classes=[ASKED]))
            if any(word.astext().strip() for word in answer):
                result[-1] += nodes.paragraph("", "", *answer)
        elif result and is_question(result[-1]) and not isinstance(block, fold):
            result[-1] += block
        else:
            result.append(block)
    return result


def is_question(node: nodes.Node) -> bool:
    """Return whether a node is a question with its answer."""
    return isinstance(node, fold) and ASKED in node["classes"]
