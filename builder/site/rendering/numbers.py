"""Numbers by chapter: equation (3.1), exercise 3.1. On pages without a number: 1, 2, 3."""

from typing import Any, cast

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.domains.math import MathDomain
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx_exercise.nodes import exercise_enumerable_node, solution_node

from builder.chapters import number
from builder.source import STARS, Exercise, read


def number_equations(app: Sphinx, doctree: nodes.document) -> None:
    """Number the labeled equations of a page; references show the same numbers."""
    page, domain = app.env.docname, cast(MathDomain, app.env.get_domain("math"))
    labeled = [block for block in doctree.findall(nodes.math_block) if block.get("number")]
    for place, block in enumerate(labeled, start=1):
        block["number"] = number(page, place)
        domain.equations[block["label"]] = (page, block["number"])


class NameExercises(SphinxPostTransform):
    """Write "Exercise 3.1 · Implement ★★ · Title", "Solution to exercise 3.1", and references likewise."""

    default_priority = 4  # before sphinx-exercise and before references are resolved

    def run(self, **kwargs: Any) -> None:
        """Write the titles of one page and the references on it."""
        sources = [read(chapter.path) for chapter in self.config.at_chapters]
        exercises = {exercise.label: exercise for source in sources for exercise in source.exercises}
        for node in list(self.document.findall(exercise_enumerable_node)):
            title = exercise_title(exercises[node["label"]], node)
            clear_ids(node)  # as an admonition, it gets no number from Sphinx, which counts through the book
            node.replace_self(
                nodes.admonition("", title, *node[1:], ids=node["ids"], classes=node["classes"])
            )
        for node in self.document.findall(solution_node):
            node[0] = nodes.title("", f"Solution to exercise {exercises[node['target_label']].number}")
            node["title"] = node[0].astext()
            clear_ids(node)
        for reference in self.document.findall(addnodes.pending_xref):
            exercise = exercises.get(reference.get("reftarget", ""))
            if exercise and reference["reftype"] == "ref" and not reference.get("refexplicit"):
                reference["refexplicit"] = True
                reference.children = []
                reference += nodes.inline("", f"exercise {exercise.number}", classes=["std", "std-ref"])


def exercise_title(exercise: Exercise, node: exercise_enumerable_node) -> nodes.title:
    """Return the number, the kind, the difficulty, and the title of an exercise, as its node has it."""
    return nodes.title(
        "",
        "",
        nodes.inline("", f"Exercise {exercise.number} ", classes=["caption-number"]),
        nodes.Text(f"· {exercise.kind.capitalize()} "),
        nodes.raw("", stars(exercise.stars), format="html"),
        nodes.Text(" · "),
        nodes.inline("", "", *node[0][1].children, classes=["at-exercise-name"]),
    )


def stars(level: int) -> str:
    """Return a difficulty as HTML, which screen readers read as a number."""
    return (
        f'<span class="at-stars" role="img" aria-label="difficulty {level} of {STARS}">{"★" * level}</span>'
    )


def clear_ids(node: nodes.Element) -> None:
    """Remove the id that sphinx-exercise gives to the content of every exercise and solution."""
    for section in node.findall(nodes.section):
        section["ids"] = [
            name for name in section["ids"] if name not in ("exercise-content", "solution-content")
        ]
