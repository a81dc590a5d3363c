"""Fold the claims of a section into one line, "✓ 8 checks": each of them stays a click away."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform


class checks(nodes.Element):  # type: ignore[misc]
    """The folded cells; `count` is the number of their claims."""


class FoldChecks(SphinxPostTransform):
    """Fold the cells of each section that show nothing but claims; a lone claim stays visible."""

    default_priority = 901  # after the questions, which are folded already
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Fold the claims of one page."""
        for section in list(self.document.findall(nodes.section)):
            section[:] = in_one_fold(list(section))


def in_one_fold(blocks: list[nodes.Node]) -> list[nodes.Node]:
    """Return the blocks of a section, its cells of claims in one fold where the last of them stood.

    Cells that are hidden as a whole and stand beside the fold go into it: two folds in a row help nobody.
    """
    cells = [block for block in blocks if claims_only(block)]
    count = sum(map(number_of_claims, cells))
    if count < 2:
        return blocks
    first = last = blocks.index(cells[-1])
    while is_hidden(blocks[first - 1]) or blocks[first - 1] in cells:
        first -= 1
    while last + 1 < len(blocks) and is_hidden(blocks[last + 1]):
        last += 1
    inside = [block for block in blocks[:first] if block in cells] + blocks[first : last + 1]
    fold = checks("", *inside, count=count)
    return [*(block for block in blocks[:first] if block not in cells), fold, *blocks[last + 1 :]]


def number_of_claims(block: nodes.Node) -> int:
    """Return the number of claims that a block shows."""
    return sum(raw.astext().startswith('<a class="at-claim"') for raw in block.findall(nodes.raw))


def claims_only(block: nodes.Node) -> bool:
    """Return whether a block is a cell with folded code that shows claims and nothing else."""
    if not isinstance(block, nodes.container) or "tag_hide-input" not in block["classes"]:
        return False
    outputs = [part for part in block.children if "cell_output" in part.get("classes", ())]
    shown = sum(len(part.children) for part in outputs)
    return 0 < shown == number_of_claims(block)


def is_hidden(block: nodes.Node) -> bool:
    """Return whether a block is a cell that is hidden as a whole."""
    return isinstance(block, nodes.container) and "tag_hide-cell" in block["classes"]


def visit_checks(translator: Any, node: checks) -> None:
    """Open the fold."""
    translator.body.append('<details class="at-checks"><summary><span class="at-check">✓</span> ')
    translator.body.append(f"{node['count']} checks</summary>\n")


def depart_checks(translator: Any, node: checks) -> None:
    """Close the fold."""
    translator.body.append("</details>\n")


def setup(app: Sphinx) -> None:
    """Register the above with Sphinx."""
    app.add_node(checks, html=(visit_checks, depart_checks))
    app.add_post_transform(FoldChecks)
