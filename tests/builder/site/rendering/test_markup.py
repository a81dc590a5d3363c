"""The HTML that pages have in place of Sphinx's own."""

import pytest
from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx import addnodes

from builder.site.rendering import markup


class Sphinxs:
    """A translator that writes the little that these tests need, as Sphinx's does."""

    protect_literal_text = 1

    def __init__(self) -> None:
        self.body: list[str] = []

    attval = staticmethod(lambda value: value.replace('"', "&quot;"))

    def visit_row(self, node):
        self.body.append('<tr class="row">\n')

    def visit_Text(self, node):
        self.body += [word if word == " " else f"{markup.WORD}{word}</span>" for word in node.split("|")]

    def visit_citation(self, node):
        self.body += [markup.CITATIONS, "<div>"]

    def visit_label(self, node):
        self.body.append("a label")

    def visit_desc_parameterlist(self, node):
        self.body += ["(", "<dl>\n"]

    def depart_desc_parameterlist(self, node):
        self.body += ["</dl>\n\n", ")"]


def test_law_attributes_are_added_to_the_tag_that_was_just_written():
    page = Sphinxs()
    markup.visit_with_attributes(page, nodes.row())
    markup.visit_with_attributes(page, nodes.row("", html={"role": "row", "data-label": '"a": '}))
    plain, named = page.body
    assert plain == '<tr class="row">\n'
    assert named == '<tr class="row" role="row" data-label="&quot;a&quot;: ">\n'


@pytest.mark.parametrize(
    ("word", "in_table", "written"),
    [
        ("F.scaled_dot(mask=None)", True, "F.<wbr>scaled_<wbr>dot(<wbr>mask=<wbr>None)"),
        ("F.scaled_dot(mask=None)", False, "F.scaled_dot(mask=None)"),
        ("a_b.c", True, "a_b.c"),
    ],
)
def test_law_long_code_breaks_in_a_table_and_only_there(word, in_table, written):
    code = nodes.Text(word)
    literal = nodes.literal("", "", code)
    (nodes.table if in_table else nodes.section)("", literal)
    markup.visit_text(page := Sphinxs(), code)
    assert page.body == [f"{markup.WORD}{written}</span>"]


def test_law_an_option_is_not_broken_and_spaces_and_sentences_stay():
    markup.visit_text(page := Sphinxs(), nodes.Text("-m| |a-b"))
    assert page.body == ['<span class="pre at-kept">-m</span>', " ", f"{markup.WORD}a-b</span>"]
    page.protect_literal_text = 0
    markup.visit_text(page, nodes.Text("-m"))
    assert page.body[-1] == f"{markup.WORD}-m</span>"


NAMES = {"source": "code", "output": "output", "outputs": "output", "content": "code and output"}


@pytest.mark.parametrize(("hidden", "name"), NAMES.items())
def test_law_a_fold_is_named_by_what_it_holds(hidden, name):
    fold = HideCodeCellNode("", prompt_show=f"Show code cell {hidden}", classes=["above-input"])
    markup.visit_hidden(page := Sphinxs(), fold)
    markup.depart_hidden(page, fold)
    start, end = '<details class="admonition hide above-input">\n', "</details>\n"
    assert "".join(page.body) == f"{start}<summary>{name}</summary>\n{end}"


def test_law_a_bibliography_has_no_labels_and_is_no_list():
    label, other = nodes.label("", "V17"), nodes.label("", "1")
    entry, page = nodes.citation("", label), Sphinxs()
    nodes.footnote("", other)
    markup.visit_citation(page, entry)
    with pytest.raises(nodes.SkipNode):
        markup.visit_label(page, label)
    markup.visit_label(page, other)
    assert page.body == ['<div class="citation-list">\n', "<div>", "a label"]


def test_law_parameters_in_a_signature_are_not_marked_up_as_a_list():
    page, parameters = Sphinxs(), addnodes.desc_parameterlist()
    page.body = ["<dl>\n"]  # around it
    markup.visit_parameters(page, parameters)
    page.body += ["<dd>", "a,", "</dd>\n"]
    markup.depart_parameters(page, parameters)
    assert "".join(page.body) == '<dl>\n(<span class="at-parameters"><span>a,</span>\n</span>\n)'
