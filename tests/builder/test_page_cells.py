"""What a page shows of a chapter's cells, and where."""

import re

import nbformat

from builder.site import page_cells
from tests.builder.test_claim_values import claims_of

new = nbformat.v4
FIGURE = new.new_output("execute_result", metadata={"figure": {"number": "4.2"}})
PRINTED = new.new_output("stream", text="printed")


def code(source: str, *outputs: nbformat.NotebookNode, tags: str = "") -> nbformat.NotebookNode:
    return new.new_code_cell(source, outputs=list(outputs), metadata={"tags": tags.split()} if tags else {})


def shown(*cells: nbformat.NotebookNode) -> list[tuple[str, int]]:
    """Return the sources of a page's cells and the numbers of their outputs."""
    found = page_cells.page_cells([new.new_markdown_cell("# Title"), *cells])
    return [(cell.source, len(cell.get("outputs", []))) for cell in found][1:]


CLAIMS = claims_of(("gap", "✓ gap: **1** (exactly)", "1"))
CLAIMS.outputs = [output for output in CLAIMS.outputs if output.metadata]
LINE = '- <a class="at-claim" id="claim-gap"></a>gap: **1** (exactly)'


def test_law_the_results_of_a_page_stand_by_section_below_one_line_at_its_end():
    checks = code("# checks\ncheck(x, 'x')\ncheck_close(x, y, 'y')", tags="hide-cell")
    text, section, evidence = shown(
        CLAIMS, new.new_markdown_cell("Text <!-- typed: 1.6 -->.\n\n(label)=\n## By *hand*\n\nMore."), checks
    )[:3]
    assert (text, section) == (("Text.", 0), ("(label)=\n## By *hand*\n\nMore.", 0)), (text, section)
    assert evidence[0].startswith("`````{evidence} 3 results recomputed by the tests\n:id: evidence\n")
    assert re.findall(r"\*\*(.+)\*\*: (\d)\n\n", evidence[0]) == [("The opening", "1"), ("By *hand*", "2")]
    assert LINE in evidence[0]
    assert "claim()" in evidence[0]
    assert "check_close(x, y, 'y')" in evidence[0]


def test_law_a_cell_that_also_shows_something_stays_where_it_is_without_its_claims():
    source = 'x = 1\nclaim("gap",\n    x, equals=1)\nprint(x)\nshow_table(["x"], [[x]])'
    cell = new.new_code_cell(source, metadata=CLAIMS.metadata, outputs=[PRINTED, *CLAIMS.outputs])
    (visible, outputs), (evidence, _) = shown(cell)
    assert (visible, outputs) == ("x = 1\nprint(x)", 1)
    assert "python" not in evidence  # its code is not repeated


def test_law_folded_code_stands_at_the_end_and_a_figure_s_has_its_number():
    cells = list(page_cells.page_cells([
        code("import x", tags="hide-input"), code("draw()", FIGURE, tags="hide-input"), code("1", PRINTED),
    ]))  # fmt: skip
    assert [(cell.source, cell.metadata.get("tags")) for cell in cells[:2]] == [
        ("draw()", ["remove-input"]), ("1", None),
    ]  # fmt: skip
    page = cells[-1].source
    assert page.startswith("`````{page-code}\n")
    assert page.index("import x") < page.index('id="code-4-2">Figure 4.2</p>') < page.index("draw()")


def test_law_a_page_has_neither_the_check_of_an_answer_nor_what_it_says():
    verdict = new.new_output("execute_result", {"text/plain": "✗ Not yet"})
    answer = code("def f():\n    raise NotImplementedError\n\n\nchecks.check_f(f)", verdict, tags="exercise")
    assert shown(answer) == [("def f():\n    raise NotImplementedError", 0)]
    assert shown(code("steps.translate()", verdict, tags="exercise")) == [("steps.translate()", 0)]
    other = code("x = 1\nprint(x)", PRINTED, tags="solution")
    assert shown(other) == [("x = 1\nprint(x)", 1)]
