"""The explorer as Sphinx builds it: its directives, and its files, only on pages that show it."""

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from annotated_transformer.book.explorer import first_frame
from builder.explorer import bundle, pack
from builder.site.front.targets import reference

FOLDER = "explorer"  # in _static
MARK = "data-explorer="  # in the body of each page that shows the explorer
PLACE = """<div class="at-x" data-explorer='{{"view": "all"}}'>
<p class="at-x-translation"><q lang="en">{sentence}</q> becomes <q lang="de">{text}</q></p>
<noscript><p>With JavaScript, you can type a sentence of your own here.</p></noscript></div>"""


class Explorer(SphinxDirective):
    """`{explorer}`: the whole explorer."""

    def run(self) -> list[nodes.Node]:
        """Return its place, with a sentence and its translation for readers without scripts."""
        self.env.note_dependency(str(first_frame.FILE))
        frame = json.loads(first_frame.FILE.read_text(encoding="utf-8"))
        return [nodes.raw("", PLACE.format_map(frame), format="html")]


class TensorTable(SphinxDirective):
    """`{tensor-table}`: each kind of tensor with its formula, function and chapter.

    The explorer takes the formulas from this table.
    """

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.env.note_dependency(str(bundle.HERE / "provenance.json"))
        titles = ("Tensor", "Formula", "Function", "Chapter")
        group = nodes.tgroup("", *(nodes.colspec(colwidth=width) for width in (4, 3, 4, 3)), cols=len(titles))
        head = nodes.row("", *(nodes.entry("", nodes.paragraph("", title)) for title in titles))
        group += nodes.thead("", head)
        group += nodes.tbody("", *(self._row(kind, entry) for kind, entry in bundle.kinds().items()))
        return [nodes.table("", group, classes=["at-x-formulas"])]

    def _row(self, kind: str, entry: dict[str, Any]) -> nodes.row:
        title = entry["title"][0].upper() + entry["title"][1:]
        formula = nodes.inline("", "", nodes.math(entry["tex"], entry["tex"]), ids=[f"formula-{kind}"])
        function = entry["function"].removeprefix("annotated_transformer.")
        code = reference(self.env, "py", "obj", entry["function"], nodes.literal("", function))
        cells = [
            [nodes.paragraph("", "", nodes.strong("", title), nodes.Text(f". {entry['words']}"))],
            [nodes.paragraph("", "", formula)],
            [nodes.paragraph("", "", code)],
            [nodes.paragraph("", "", self._chapter(entry["chapter"]))],
        ]
        return nodes.row("", *(nodes.entry("", *cell) for cell in cells))

    def _chapter(self, number: int) -> nodes.Node:
        chapter = next(chapter for chapter in self.config.at_chapters if chapter.number == number)
        words = nodes.inline("", f"{number}.\N{NO-BREAK SPACE}{chapter.title}")
        return reference(self.env, "std", "doc", f"/{chapter.file}", words)


def write_explorer(app: Sphinx) -> None:
    """Pack engine, models, script, and style into the book; no second copy of the weights is committed."""
    folder = Path(app.outdir, "_static", FOLDER)
    pack.write_weights(folder)
    models = {name: bundle.model_size(name) for name in bundle.EXAMPLES}
    script = bundle.explorer_script(models, app.config.at_chapters)
    (folder / "explorer.js").write_text(script, encoding="utf-8")
    style = (bundle.HERE / "ui" / "explorer.css").read_text(encoding="utf-8")
    (folder / "explorer.css").write_text(style, encoding="utf-8")


def load_explorer(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Load script and style on the pages that show the explorer."""
    if MARK in context.get("body", ""):
        app.add_js_file(f"{FOLDER}/explorer.js", defer="defer")
        app.add_css_file(f"{FOLDER}/explorer.css")
