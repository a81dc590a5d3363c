"""Numbers by chapter: equation (3.1), exercise 3.1. On pages without a number: 1, 2, 3."""

import copy
import re
from collections.abc import Collection
from typing import Any, cast

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.domains.math import MathDomain
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_title, solution_node, solution_title

KINDS = ("predict", "implement", "debug", "derive", "extend")
STARS = 3


def number(page: str, place: int) -> str:
    """Return the number of an item by its place on the page: 3.1 in chapters/03_name, 1 on other pages."""
    return ".".join(filter(None, (chapter_number(page), str(place))))


def chapter_number(page: str) -> str:
    """Return the number of the chapter on a page: 3 for chapters/03_name, an empty string for other pages."""
    found = re.match(r"(?:.*/)?(\d\d)_", page)
    return str(int(found[1])) if found else ""


def kind_and_stars(classes: Collection[str]) -> tuple[str, int]:
    """Return the kind and the difficulty that an exercise's classes name, or an empty string and 0."""
    kind = next((kind for kind in KINDS if kind in classes), "")
    return kind, next((n for n in range(1, STARS + 1) if f"stars-{n}" in classes), 0)


def number_equations(app: Sphinx, doctree: nodes.document) -> None:
    """Number the labeled equations of a page; references show the same number."""
    page, domain = app.env.docname, cast(MathDomain, app.env.get_domain("math"))
    labeled = [block for block in doctree.findall(nodes.math_block) if block.get("number")]
    for place, block in enumerate(labeled, start=1):
        block["number"] = number(page, place)
        domain.equations[block["label"]] = (page, block["number"])


def recall_numbers(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Give Sphinx back its own numbers of the last build: it writes the pages again whose numbers differ."""
    env.toc_fignumbers = getattr(env, "at_fignumbers", {})
    return []


def number_exercises(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Number the exercises of each page; Sphinx stores these numbers with those of figures."""
    env.at_fignumbers = copy.deepcopy(env.toc_fignumbers)  # type: ignore[attr-defined]
    for page, kinds in env.toc_fignumbers.items():
        for place, name in enumerate(kinds.get("exercise", {}), start=1):
            kinds["exercise"][name] = (number(page, place),)  # type: ignore[assignment]
    return []


class NameExercises(SphinxPostTransform):
    """Write "Exercise 3.1 · Implement ★★ · Title", "Solution to exercise 3.1", and references likewise."""

    default_priority = 4  # before sphinx-exercise and before references are resolved

    def number_of(self, label: str) -> str:
        """Return the number of the exercise with this label, or an empty string."""
        page = self.env.sphinx_exercise_registry.get(label, {}).get("docname", "")  # type: ignore[attr-defined]
        parts = self.env.toc_fignumbers.get(page, {}).get("exercise", {}).get(label, ())
        return "".join(map(str, parts))

    def run(self, **kwargs: Any) -> None:
        """Write the titles of one page and the references on it."""
        if not hasattr(self.env, "sphinx_exercise_registry"):
            return
        for node in self.document.findall(exercise_enumerable_node):
            if isinstance(node[0], exercise_title):
                node[0] = exercise_heading(node)
            clear_ids(node)
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


def exercise_heading(node: exercise_enumerable_node) -> nodes.title:
    """Return what follows "Exercise 3.1": the kind, the stars, and the title, each if given."""
    title = nodes.title()
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
