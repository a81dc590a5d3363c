"""A cell's output is either Markdown or HTML, and always has its text."""

from annotated_transformer.book.cells.output import CellOutput, say


def test_law_a_sentence_has_the_same_markdown_and_plain_text():
    output = say("The mean is 0.50.")
    assert output._repr_markdown_() == repr(output) == "The mean is 0.50."
    assert output._repr_html_() is None


def test_law_output_with_html_has_no_markdown():
    output = CellOutput("words", "<p>words</p>")
    assert output._repr_html_() == "<p>words</p>"
    assert output._repr_markdown_() is None
    assert repr(output) == "words"
