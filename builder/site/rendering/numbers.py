"""Numbers by chapter: equation (3.1), exercise 3.1. On pages without a number: 1, 2, 3."""

from typing import Any, cast

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.domains.math import MathDomain
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx_exercise.nodes import exercise_enumerable_node, solution_node, solution_title

from builder.chapters import number
from builder.source import STARS, kind_and_stars


def number_items(app: Sphinx, doctree: nodes.document) -> None:
    """Number the labeled equations and the exercises of a page; references show the same numbers."""
    page, domain = app.env.docname, cast(MathDomain, app.env.get_domain("math"))
    labeled = [block for block in doctree.findall(nodes.math_block) if block.get("number")]
    for place, block in enumerate(labeled, start=1):
        block["number"] = number(page, place)
        domain.equations[block["label"]] = (page, block["number"])
    exercises = enumerate(doctree.findall(exercise_enumerable_node), start=1)
    app.env.metadata[page]["exercises"] = {node["label"]: number(page, place) for place, node in exercises}


class NameExercises(SphinxPostTransform):
    """Write "Exercise 3.1 · Implement ★★ · Title", "Solution to exercise 3.1", and references likewise."""

    default_priority = 4  # before sphinx-exercise and before references are resolved

    def number_of(self, label: str) -> str:
        """Return the number of the exercise with this label, or an empty string."""
        page = getattr(self.env, "sphinx_exercise_registry", {}).get(label, {}).get("docname", "")
        return str(self.env.metadata[page].get("exercises", {}).get(label, "")) if page else ""

    def run(self, **kwargs: Any) -> None:
        """Write the titles of one page and the references on it."""
        for node in list(self.document.findall(exercise_enumerable_node)):
            title = exercise_heading(node, self.number_of(node["label"]))
            clear_ids(node)  # as an admonition, it gets no number from Sphinx, which counts through the book
            node.replace_self(
                nodes.admonition("", title, *node[1:], ids=node["ids"], classes=node["classes"])
            )
        for node in self.document.findall(solution_node):
            target = self.number_of(node["target_label"])
            if target and isinstance(node[0], solution_title):
                node[0] = nodes.title("", f"Solution to exercise {target}")
                node["title"] = node[0].astext()
            clear_ids(node)
        for reference in self.document.findall(addnodes.pending_xref):
            target = self.number_of(reference.get("reftarget", ""))
            if target and reference["reftype"] == "ref" and not reference.get("refexplicit"):
                reference["refexplicit"] = True
                reference.children = []
                reference += nodes.inline("", f"exercise {target}", classes=["std", "std-ref"])


def exercise_heading(node: exercise_enumerable_node, place: str) -> nodes.title:
    """Return "Exercise 3.1", and what follows it: the kind, the stars, and the title, each if given."""
    title = nodes.title("", "", nodes.inline("", f"Exercise {place} ", classes=["caption-number"]))
    kind, stars = kind_and_stars(node["classes"])
    if kind or stars:
        title += nodes.Text(f"· {kind.capitalize()} ".replace("  ", " "))
    if stars:
        label = f'role="img" aria-label="difficulty {stars} of {STARS}"'
        title += nodes.raw("", f'<span class="at-stars" {label}>{"★" * stars}</span>', format="html")
        title += nodes.Text(" ")
    if len(node[0]) > 1:  # the subtitle
        title += nodes.Text("· ")
        title += nodes.inline("", "", *node[0][1].children, classes=["at-exercise-name"])
    return title


def clear_ids(node: nodes.Element) -> None:
    """Remove the id that sphinx-exercise gives to the content of every exercise and solution."""
    for section in node.findall(nodes.section):
        section["ids"] = [
            name for name in section["ids"] if name not in ("exercise-content", "solution-content")
        ]
