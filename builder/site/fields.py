"""The fields of exercises whose answers are values: what a page judges by, from the exercises' checks."""

import json
from importlib import import_module
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx_exercise.nodes import exercise_enumerable_node

from annotated_transformer.book import chapters as rooms
from annotated_transformer.book.exercises.answers import Judged
from builder.chapters import source_of
from builder.source import read

ROOMS = Path(rooms.__file__).parent
MARK = "at-judged"  # a class in the body of each page that needs `exercises.js`


def declared_checks(source: Path) -> dict[str, Judged]:
    """Return the checks that can judge a page, by the labels of a chapter's exercises."""
    if not room_of(source).is_file():
        return {}
    checks = import_module(f"{rooms.__name__}.{source.stem[3:]}.exercises")
    functions = {
        exercise.label: getattr(checks, exercise.check.partition("(")[0].removeprefix("checks."), None)
        for exercise in read(source).exercises
    }
    return {label: function for label, function in functions.items() if isinstance(function, Judged)}


def room_of(source: Path) -> Path:
    """Return the path of the checks of a chapter's exercises, which need not be there."""
    return ROOMS / source.stem[3:] / "exercises.py"


def add_fields(app: Sphinx, doctree: nodes.document) -> None:
    """Write what is right, and what mistakes give, into each exercise; a script makes the fields of it."""
    exercises = {node["label"]: node for node in doctree.findall(exercise_enumerable_node)}
    if not exercises:
        return
    source = source_of(Path(app.srcdir), Path(app.env.docname).name)
    app.env.note_dependency(str(room_of(source)))
    for label, check in declared_checks(source).items():
        data = json.dumps(check.exported(), ensure_ascii=False).replace("<", r"\u003c")
        script = f'<script type="application/json" class="{MARK}">{data}</script>'
        exercises[label] += nodes.raw("", script, format="html")
