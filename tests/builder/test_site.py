"""Layouts of equations, reading times, and the citation."""

from pathlib import Path
from unittest.mock import Mock

import nbformat
import pytest
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from builder.reader import SETUP
from builder.site import page_cells
from builder.site.rendering import equations, folds, footer, reading


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


def test_law_the_reading_time_counts_what_is_not_folded():
    shown = nodes.paragraph("", "word " * 300)
    page = nodes.section("", shown, folds.fold("", folds.fold_line("", "2 results"), shown.deepcopy()))
    page += nodes.container("", shown.deepcopy(), classes=["dropdown"])
    page += nodes.math_block("", r"a \quad b \quad c")
    assert reading.words_shown(page) == 303


def test_message_a_reading_time_that_is_far_from_the_words(monkeypatch: pytest.MonkeyPatch):
    page = nodes.section("", nodes.paragraph("", "word " * 5_100))
    logger = Mock()
    monkeypatch.setattr(reading, "logger", logger)
    for minutes in (21, 30, 20):
        body = {"body": f"<em>Reading: {minutes} minutes. Running: 5 minutes.</em>"}
        reading.check_time(Mock(spec=Sphinx), "x", "page.html", body, page)
    (warned,) = logger.warning.call_args_list
    words = "its words take 26 minutes to read, and it names 20; give the nearest multiple of 5"
    assert warned.args[0] % warned.args[1:] == words


def test_law_the_citation_has_the_version_the_date_and_a_bibtex_entry():
    facts = {
        "title": "A <Book>",
        "version": "1.2",
        "date-released": "2031-05-07",
        "authors": [{"name": "us"}],
    }
    words = footer.footer(facts)
    assert words.startswith("Version 1.2, 2031-05-07.")
    for entry in ("title = {A &lt;Book&gt;}", "author = {{us}}", "year = {2031}"):
        assert entry in words


HEAD = "---\njupytext: {text_representation: {extension: .md, format_name: myst}}\n---\n"
CODE = "```{code-cell} ipython3\n1\n```\n"


def taken(folder: Path, source: str) -> str:
    """Return the text of a page whose notebook has a setup cell, a plain text, and a cell with an output."""
    (folder / "chapters" / "src").mkdir(parents=True)
    (folder / "chapters" / "src" / "one.md").write_text(HEAD + source, "utf-8")
    new = nbformat.v4
    output = new.new_output("execute_result", {"text/plain": "kept"}, execution_count=2)
    setup = new.new_code_cell("import x", metadata={"tags": [SETUP]})
    code = new.new_code_cell("1", execution_count=2, outputs=[output])
    content = [nbformat.writes(new.new_notebook(cells=[setup, new.new_markdown_cell("plain"), code]))]
    app = Mock(spec=Sphinx)
    app.srcdir, app.env = folder, Mock()
    app.env.doc2path.return_value = str(folder / "chapters" / "one.ipynb")
    page_cells.take_source(app, "chapters/one", content)
    app.env.note_dependency.assert_called_once_with(str(folder / "chapters" / "src" / "one.md"))
    return content[0]


def test_law_a_page_has_the_texts_of_its_source_and_the_outputs_of_its_notebook(tmp_path):
    page = nbformat.reads(taken(tmp_path, f"See {{eq}}`eq-x`.\n\n{CODE}"), as_version=4)
    (text, code) = page.cells
    assert (text.source, code.source, code.execution_count) == ("See {eq}`eq-x`.", "1", 2)
    assert code.outputs[0].data == {"text/plain": "kept"}


@pytest.mark.message
def test_message_a_notebook_of_a_different_source(tmp_path):
    sentence = r"one\.ipynb has 1 cells of code and its source 2; run make chapters"
    with pytest.raises(ExtensionError, match=sentence):
        taken(tmp_path, CODE + CODE)
