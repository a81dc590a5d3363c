"""Layouts of equations, folds of claims, reading times, phrases for the search, and the citation."""

from unittest.mock import Mock

from docutils import nodes
from sphinx.application import Sphinx

from annotated_transformer.book.site.rendering import checks, citation, equations, reading, search
from annotated_transformer.book.site.rendering import pages as framing


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


def cell(*texts: str, tag: str = "tag_hide-input", claims: bool = True) -> nodes.container:
    """Return a cell that shows these claims, or other lines."""
    mark = '<a class="at-claim" id="x"></a>' if claims else "<b></b>"
    lines = [nodes.paragraph("", "", nodes.raw("", mark), nodes.Text(text)) for text in texts]
    return nodes.container("", nodes.container("", *lines, classes=["cell_output"]), classes=["cell", tag])


def test_law_the_claims_of_a_section_are_one_fold_and_nothing_else_is_folded():
    before, words = nodes.paragraph("", "Before."), nodes.paragraph("", "Between.")
    one, two, hidden, other = cell("a", "b"), cell("c"), cell(tag="tag_hide-cell"), cell("x", claims=False)
    found = checks.in_one_fold([before, one, words, hidden, two, other])
    assert [type(block) for block in found] == [
        nodes.paragraph, nodes.paragraph, checks.checks, nodes.container,
    ]  # fmt: skip
    assert found[2]["count"] == 3
    assert found[2].children == [one, hidden, two]
    assert checks.in_one_fold([before, two]) == [before, two]  # a lone claim stays visible
    seen = cell("a", "b", tag="")
    assert checks.in_one_fold([before, seen]) == [before, seen]  # and so do those of visible code


def test_law_a_claim_that_something_is_true_is_a_sentence():
    claim = '<p><a class="at-claim" id="c"></a>✓ equal: <strong>{}</strong> (claimed: exactly {})</p>'
    for value, said in (
        ("True", "equal</p>"),
        ("[True, True]", "equal</p>"),
        ("6", "equal: <strong>6</strong> (exactly)</p>"),
        ("[True, False]", "equal: <strong>[True, False]</strong> (exactly)</p>"),
    ):
        context = {"body": claim.format(value, value)}
        framing.mend_folds(Mock(spec=Sphinx), "x", "page.html", context, None)
        assert context["body"].endswith(f"</span> {said}")


def test_law_the_reading_time_counts_what_is_not_folded():
    shown = nodes.paragraph("", "word " * 300)
    page = nodes.section("", shown, checks.checks("", shown.deepcopy(), count=2))
    page += nodes.container("", shown.deepcopy(), classes=["dropdown"])
    page += nodes.math_block("", r"a \quad b \quad c")
    assert reading.words_shown(page) == 301
    page += shown.deepcopy()
    context = {"body": "<em>Reading: 20 minutes. Running: 5 minutes.</em>"}
    reading.write_time(Mock(spec=Sphinx), "x", "page.html", context, page)
    assert context["body"] == "<em>Reading: 3 minutes. Running: 5 minutes.</em>"


def test_law_a_page_is_about_the_pairs_of_words_that_it_repeats():
    assert search.repeated_pairs(["Label smoothing,", "label", "smoothing the label smoothing"]) == {
        "label smoothing": 2
    }


def test_law_the_citation_has_the_version_the_date_and_a_bibtex_entry():
    facts = {
        "title": "A <Book>",
        "version": "1.2",
        "date-released": "2031-05-07",
        "authors": [{"name": "us"}],
    }
    words = citation.footer(facts)
    assert words.startswith("Version 1.2, 2031-05-07.")
    assert "title = {A &lt;Book&gt;}" in words
    assert "author = {{us}}" in words
    assert "year = {2031}" in words
