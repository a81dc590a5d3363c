"""Docstrings as autodoc reads them: Markdown formulas, descriptions of constants, short type names."""

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.ext.autodoc import FunctionDocumenter

from annotated_transformer.book.exercises.answers import Judged


class CheckDocumenter(FunctionDocumenter):
    """Documents a check that declares its answers as the function that it was written as."""

    objtype = "check"
    directivetype = "function"
    priority = FunctionDocumenter.priority + 1

    @classmethod
    def can_document_member(cls, member: Any, membername: str, isattr: bool, parent: Any) -> bool:
        """Return whether this class documents a member of a module."""
        return isinstance(member, Judged)


def keep_colons(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Restore what napoleon mistook for a type: a constant's description before its first colon."""
    for index, line in enumerate(lines):
        if what in {"attribute", "data", "property"} and line.startswith(":type: "):
            del lines[index]
            lines[0] = f"{line.removeprefix(':type: ')}: {lines[0]}"
            return


def markdown_math(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Let autodoc read the formulas of our docstrings, `$…$` as in Markdown."""
    lines[:] = re.sub(r"\$([^$]+)\$", r":math:`\1`", "\n".join(lines)).split("\n")


def shorten_types(app: Sphinx, doctree: nodes.document) -> None:
    """Write types by their last names where Sphinx cannot read a signature, as with `= <factory>`.

    Only text is changed, not nodes: a name may hold a reference in two forms, and Sphinx chooses one later.
    """
    for name in doctree.findall(addnodes.desc_sig_name):
        for text in list(name.findall(nodes.Text)):
            short = re.sub(r"~[\w.]*\.(\w+)", r"\1", text)
            if short != text and text.parent is not None:
                text.parent.replace(text, nodes.Text(short))
