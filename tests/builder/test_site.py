"""Layouts of equations, and a page's texts and outputs."""

from pathlib import Path
from unittest.mock import Mock

import nbformat
import pytest
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from builder.reader import SETUP
from builder.site import page_cells
from builder.site.rendering import equations
from builder.source import notebook_of


def test_law_a_wide_page_joins_what_was_broken_for_a_phone():
    spaces = r"\begin{aligned}Q &\in A\\K &\in B\end{aligned}"
    tex = rf"\begin{{gathered}}f(Q) =\\ QK\\[4pt] {spaces}\end{{gathered}}"
    joined = r"\begin{gathered}f(Q) = QK\\[4pt]Q \in A, \quad K \in B\end{gathered}"
    assert equations.for_wide(tex, lambda _: 9) == joined
    too_wide = equations.for_wide(tex, lambda _: equations.WIDE + 1)
    assert too_wide.count(r"\\") == 3  # nothing is joined
    assert equations.for_wide(r"a =\\ b", len) == r"a =\\ b"  # `gathered` only


def test_law_a_phone_breaks_an_aligned_formula_that_is_too_wide():
    tex = r"\begin{aligned}a &= b\\ c &= d\end{aligned}"
    assert equations.for_phone(tex, lambda _: equations.PHONE) == tex
    broken = equations.for_phone(tex, lambda _: equations.PHONE + 1)
    assert broken == r"\begin{aligned}& a =\\ & \quad b\\& c =\\ & \quad d\end{aligned}"


HEAD = "---\njupytext: {text_representation: {extension: .md, format_name: myst}}\n---\n"
CODE = "```{code-cell} ipython3\n1\n```\n"


def taken(folder: Path, source: str) -> str:
    """Return the text of a page whose notebook has a setup cell, a plain text, and a cell with an output."""
    (folder / "chapters" / "src").mkdir(parents=True)
    (folder / "chapters" / "src" / "one.md").write_text(HEAD + source, "utf-8")
    new = nbformat.v4
    output = new.new_output("execute_result", {"text/plain": "kept"}, execution_count=2)
    setup = new.new_code_cell("import x", metadata={"tags": [SETUP]})
    source_cells = notebook_of(folder / "chapters" / "src" / "one.md").cells
    (id, *_) = [cell.id for cell in source_cells if cell.cell_type == "code"]
    code = new.new_code_cell("# folded\n1", id=id, execution_count=2, outputs=[output])
    notebook = new.new_notebook(cells=[setup, new.new_markdown_cell("plain"), code])
    content, built = ["{}"], folder / "chapters" / "one.ipynb"
    nbformat.write(notebook, built)
    app = Mock(spec=Sphinx)
    app.srcdir, app.env = folder, Mock()
    app.env.doc2path.return_value = str(built)
    page_cells.take_source(app, "chapters/one", content)
    noted = [str(folder / "chapters" / "src" / "one.md"), str(built)]
    assert [call.args[0] for call in app.env.note_dependency.call_args_list] == noted
    return content[0]


def test_law_a_page_has_the_texts_of_its_source_and_the_outputs_of_its_notebook(tmp_path):
    page = nbformat.reads(taken(tmp_path, f"See {{eq}}`eq-x`.\n\n{CODE}"), as_version=4)
    (text, code) = page.cells
    assert (text.source, code.source, code.execution_count) == ("See {eq}`eq-x`.", "1", 2)
    assert code.outputs[0].data == {"text/plain": "kept"}


@pytest.mark.message
def test_message_a_notebook_of_a_different_source(tmp_path):
    sentence = r"one\.ipynb: it lacks the code '2'; run make chapters"
    with pytest.raises(ExtensionError, match=sentence):
        taken(tmp_path, CODE + CODE.replace("1", "2"))
