"""Line breaks, names and scripts of a page."""

import re

import pytest
from docutils import nodes
from sphinx import addnodes

from builder.site.rendering import typesetting
from tests.explorer_pages import HTML


def paragraph(*parts: str | nodes.Node) -> nodes.paragraph:
    return nodes.paragraph("", "", *(nodes.Text(part) if isinstance(part, str) else part for part in parts))


def test_law_a_formula_is_not_separated_from_its_bracket_or_full_stop():
    x, y, z, alone = (nodes.math("", name) for name in "xyzw")
    text = paragraph("A (", x, " and ", y, "), ", z, ". But ", alone)
    for formula in (x, y, z, alone):
        typesetting.keep_punctuation(formula)
    kept = [part.astext() for part in text if isinstance(part, nodes.inline)]
    assert kept == ["(x", "y),", "z."]
    assert text.astext() == "A (x and y), z. But w"
    assert alone.parent is text


def test_law_of_two_equal_texts_the_one_beside_the_formula_changes():
    x = nodes.math("", "x")
    text = paragraph("(", nodes.emphasis("", "a"), ") (", nodes.emphasis("", "b"), "(", x, " c")
    typesetting.keep_punctuation(x)
    assert [part.astext() for part in text] == ["(", "a", ") (", "b", "", "(x", " c"]


def test_law_the_question_below_the_title_is_marked_and_the_title_not_broken():
    title, question = nodes.title("", "Warm-up - and more"), paragraph("", nodes.strong("", "Why?"))
    later = paragraph(nodes.strong("", "Bold"))
    page = nodes.document(None, None)
    page += nodes.section(
        "", title, addnodes.index(), question, nodes.section("", nodes.title("", "a-b"), later)
    )
    typesetting.name_opening(page)
    assert title.astext() == "Warm\u2011up - and more"
    assert (question["classes"], later["classes"]) == (["at-question"], [])
    assert page[0][3][0].astext() == "a-b"


def test_law_only_an_output_of_one_line_wraps():
    for kind, text, expected in (
        ("myst-ansi", "✗ No\n", True),
        ("myst-ansi", "a\nb", False),
        ("python", "x", False),
    ):
        assert typesetting.wraps(nodes.literal_block("", text, language=kind)) is expected


def table(*heads: str, classes: str = "") -> nodes.table:
    def row(words, *names):
        return nodes.row("", *(nodes.entry("", paragraph(word), classes=[*names]) for word in words))

    numbered = row(map(str, range(1, len(heads) + 1)), *filter(None, [classes]))
    return nodes.table("", nodes.tgroup("", nodes.thead("", row(heads)), nodes.tbody("", numbered)))


def test_law_only_tables_of_words_in_three_columns_name_their_cells_and_have_roles():
    for left in (table("A", "B"), table("A", "B", "C", classes="text-right")):
        typesetting.stack(left)
        assert not [node for node in left.findall(nodes.Element) if "html" in node]
    page = table("A", "", "<i>C</i>")
    typesetting.stack(page)
    roles = [node["html"].get("role") for node in page.findall(nodes.Element) if "html" in node]
    head, body = "table rowgroup row" + 3 * " columnheader", "rowgroup row" + 3 * " cell"
    assert list(filter(None, roles)) == f"{head} {body}".split()
    labels = [text.get("html", {}).get("data-label") for text in page.findall(nodes.paragraph)]
    assert labels == [None, None, None, "A: ", None, "C: "]


def test_law_a_cell_is_named_by_its_figure_and_scripts_of_figures_run_once():
    move = "<script>\n// Turns each figure …\nmove()\n</script>"
    page = nodes.document(None, None)
    for text in (f'<figure class="at-figure" id="a">{move}', f"<b>x</b>{move}<script>other()</script>"):
        page += nodes.container("", nodes.raw("", text, format="html"), nb_element="cell_code")
    typesetting.name_drawings(page)
    (script,) = typesetting.moved_scripts(page)
    assert [cell["classes"] for cell in page] == [["at-draws"], []]
    assert [cell.astext() for cell in page] == [
        '<figure class="at-figure" id="a">',
        "<b>x</b><script>other()</script>",
    ]
    assert "move()\n};\n(window.requestIdleCallback" in script.astext()


@pytest.mark.page
def test_law_rendered_chapters_have_whole_words_in_titles_and_citations_in_round_brackets():
    chapters = sorted(HTML.glob("chapters/[0-9][0-9]_*.html"))
    assert chapters
    for chapter in chapters:
        text = chapter.read_text("utf-8")
        title = re.search(r'<h1><span class="section-number">.*?</span>([^<]+)', text)
        assert title, chapter.name
        assert not re.search(r"\w-\w", title[1]), chapter.name
        assert not re.search(r"(?:\[|\((?:<span[^>]*>)?\()<a [^>]*bibliography\.html#[^>]*>", text), (
            chapter.name
        )
