"""The words of figures: in the source below it, in the notebook as text, on the page within it."""

from html import escape

import nbformat
import pytest

from annotated_transformer.book import show_figure, show_slider
from annotated_transformer.book.drawing import captions
from annotated_transformer.book.drawing.figures import new_canvas
from annotated_transformer.book.output import STRICT
from builder import figure_words as words
from builder.reader import SETUP, complete

new = nbformat.v4
TEXT = """```{words} 3.1. A <row> of {count}
Each row of the map sums to {total:.1f}, and {{no}} "row" to more
than that.

Count *them*: {count}, {frame}.
```
"""
SAID = "Each row of the map sums to 1.0, and {no} &quot;row&quot; to more than that."


def figure(*frames, label="", **values):
    """Return a cell that shows figure 3.1, a line with this label, as a slider if there are frames."""

    def draw(text=""):
        fig, ax = new_canvas(4.0, 1.0)
        ax.text(2, 0.5, text + label)
        ax.plot([0, 4], [0, 1])
        return fig

    if frames:
        shown = show_slider("3.1", draw, frames, name="at", start=frames[-1], **values)
    else:
        shown = show_figure("3.1", draw(), **values)
    metadata = shown._repr_mimebundle_()[1]
    data = {"text/html": shown._repr_html_(), "text/plain": repr(shown)}
    return new.new_code_cell("show()", outputs=[new.new_output("execute_result", data, metadata=metadata)])


def test_law_words_leave_the_source_with_the_values_of_their_figure():
    cell, text = figure("a", "b", total=1.0, count=4), new.new_markdown_cell(f"{TEXT}\nAfter.")
    ((shown, below, _, found),) = words.take_words([cell, text])
    assert (shown, below.source) == (cell, "After.")
    assert words.markdown(found) == (
        "**Figure 3.1. A \\<row> of 4.** Count \\*them\\*: 4, a.\n\n"
        "<details><summary>Description of the picture</summary>at a: {0}<br>at b: {0}</details>".format(
            SAID.replace("&quot;", '"')
        )
    )
    page = captions.put_words(cell.outputs[0].data["text/html"], found)
    for part in (
        "Figure 3.1</a> A &lt;row&gt; of 4</p>",
        f'alt="{SAID}"',
        '"alt": "Each row of the map sums to 1.0, and {no} \\"row\\" to more than that."',
        "<figcaption>Count *them*: 4, a.</figcaption>",
    ):
        assert part in page, part
    assert "described below" not in page


def test_law_in_a_readers_copy_a_figure_that_differs_from_the_book_says_so(monkeypatch):
    monkeypatch.delenv(STRICT, raising=False)
    monkeypatch.setattr(captions, "_book", {})
    same = {"total": 1.0, "count": 4}
    setup, book = new.new_code_cell("1", id=SETUP), figure("a", "b", **same)
    complete([setup, book, new.new_markdown_cell(TEXT)])
    exec(setup.source)

    def here(*frames, **values):
        return figure(*frames, **values).outputs[0].data["text/html"]

    assert here("a", "b", **same) == book.outputs[0].data["text/html"]
    own = here("a", "b", total=1.0, count=5)
    for part in ("</a> A &lt;row&gt; of 5</p>", f"*them*: 5, a. {escape(captions.HERE)}<", f'alt="{SAID}"'):
        assert part in own, part
    for differs in (here("a", "b", label="c", **same), here("a", "b", total="no", count=4)):
        assert escape(captions.DIFFERS) in differs
        assert "</a> A" not in differs


PLAIN = "```{words} 3.1. A map\nEach row of the map sums to one in all.\n\nCount them.\n```"
CASES = [
    ("", "a cell shows figure 3.1, and the words below it are those of figure none; write"),
    (PLAIN.replace("3.1", "3.2"), "figure 3.1, and the words below it are those of figure 3.2; write"),
    (f"Text.\n\n{PLAIN}", "a cell shows figure 3.1, and the words below it are those of figure none"),
    (f"{PLAIN}\n\n{PLAIN}", r"```{words} 3.1. A map: write ```{words} NUMBER. TITLE directly below"),
    (PLAIN.replace("one", "{total}"), "3.1: they have places for total, and the cell gives none"),
    (PLAIN.replace("one", "{total"), "the words of figure 3.1: expected '}' before end of string"),
    (PLAIN.replace("\n\nCount them.", ""), "3.1: there are 1 paragraphs; write two, the alt text and the"),
    (PLAIN.replace("A map", "A map."), "3.1: 'A map.' is not a title; say in a few words, without a period"),
    (PLAIN.replace(" to one in all", ""), "3.1: the alt text has 6 words; in 8 to 80, say what is seen and"),
    (PLAIN.replace("one", "one " * 80), "3.1: the alt text has 89 words; in 8 to 80, say what is seen and"),
]


@pytest.mark.message
@pytest.mark.parametrize(("text", "message"), CASES)
def test_message_figures_without_words_and_words_that_are_refused(text, message):
    with pytest.raises(ValueError, match=r".*") as refused:
        list(words.take_words([figure(), new.new_markdown_cell(text)]))
    assert message in str(refused.value)


@pytest.mark.message
def test_message_words_without_a_figure():
    with pytest.raises(ValueError, match=r"shows figure none, and the words below it are those of figure 3"):
        list(words.take_words([new.new_code_cell("1"), new.new_markdown_cell(PLAIN)]))
