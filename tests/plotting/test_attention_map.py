"""Attention maps have correct labels, rounded numbers, and interactive rows."""

import html
import re

import pytest
import torch

from annotated_transformer.book.drawing.figures import new_figure, show_figure, svg
from annotated_transformer.plotting.attention_map import draw_attention
from tests.colors import CSS, STATIC
from tests.explorer_pages import eventually


def cells_of(drawing):
    """Return the data attributes of each interactive cell, in drawing order."""
    groups = re.findall(r'<g class="at-cell" ([^>]*)>', drawing)
    return [dict(re.findall(r'data-(\w+)="([^"]*)"', group)) for group in groups]


def test_law_a_weight_is_rounded_once_and_announced_as_printed():
    for weight, printed in ((0.1548, ["0.15", "0.85"]), (0.1554, ["0.16", "0.84"])):
        fig, ax = new_figure(height=4.2)  # rounding to 0.155 first gives 0.15 and 0.84
        draw_attention(ax, torch.tensor([[weight, 1 - weight]]), ["q"], ["k0", "k1"])
        assert [text.get_text() for text in ax.texts] == printed
        assert [cell["weight"] for cell in cells_of(svg(fig))] == printed


@pytest.mark.parametrize("word", ["<s>", "a & b", "it's", 'said "no"', "a|b–é"])
def test_law_a_cell_carries_its_place_weight_and_words_whatever_their_characters(word):
    fig, ax = new_figure(height=4.2)
    draw_attention(ax, torch.tensor([[0.125, 0.875, 0.0], [0.25, 0.25, 0.5]]), ["q", word], [word, "k", "l"])
    cells = cells_of(svg(fig))
    assert [(cell["row"], cell["column"]) for cell in cells] == [(r, c) for r in "01" for c in "012"]
    assert [html.unescape(cell["query"]) for cell in cells] == ["q"] * 3 + [word] * 3
    assert [html.unescape(cell["key"]) for cell in cells] == [word, "k", "l"] * 2
    assert [cell["weight"] for cell in cells][2:] == ["0.00", "0.25", "0.25", "0.50"]
    assert 'id="at-cell' not in svg(fig).replace("'", '"')


@pytest.mark.message
@pytest.mark.parametrize(
    ("weights", "mask", "words"),
    [
        (torch.zeros(1, 3), None, r"weights has shape \(1, 3\), but there are \(1, 2\) queries and keys"),
        (torch.zeros(1, 2), torch.ones(3, 2) > 0, r"mask has shape \(3, 2\), but there are \(1, 2\) queries"),
        (torch.tensor([[0.0, -1.5]]), None, "weights run from -1.5000 to 0.0000; draw them after the softm"),
        (torch.tensor([[0.0, 2.0]]), None, "weights run from 0.0000 to 2.0000; draw them after the softmax"),
        (torch.tensor([[0.0, torch.nan]]), None, "weights run from nan to nan; draw them after the softmax"),
    ],
)
def test_message_what_is_no_map_of_these_words(weights, mask, words):
    with pytest.raises(ValueError, match=words):
        draw_attention(new_figure()[1], weights, ["a"], ["b", "c"], mask=mask)


# In a browser.


THIRDS = torch.tensor([[0.5, 0.3, 0.2], [1 / 3, 1 / 3, 1 / 3]])


def two_maps():
    fig, axes = new_figure(2, 1, height=5.6)
    for name, ax in zip("ab", axes, strict=True):
        draw_attention(ax, THIRDS, [f"{name}0", f"{name}1"], ["k0", "k1", "k2"])
    return show_figure("3.1", fig)._repr_html_()


def with_book(page, content):
    """Set the page's content as in the book: with its style sheets, and its script at the end."""
    script = (STATIC / "book.js").read_text("utf-8")
    page.set_content(
        f'<!DOCTYPE html><html data-theme="light"><head><style>{CSS}</style></head>'
        f"<body><article>{content}</article><script>{script}</script></body></html>"
    )


def lit(page):
    """Return the (query, key) labels of the highlighted cells, or an empty list if no row is singled out."""
    cells = page.evaluate(
        "[...document.querySelectorAll('.at-cell')]"
        ".map(cell => [cell.style.opacity, cell.dataset.query, cell.dataset.key])"
    )
    if not any(opacity for opacity, *_ in cells):
        return []
    return [(query, key) for opacity, query, key in cells if opacity in ("", "1")]


def row(query, words=("k0", "k1", "k2")):
    return [(query, key) for key in words]


def cell(page, query, key):
    return page.locator(f'.at-cell[data-query="{query}"][data-key="{key}"]')


FIRST = "a0 reads k0: 0.50, k1: 0.30, k2: 0.20. Sum: 1.00."


@pytest.mark.page
@pytest.mark.parametrize("place", ["book", "notebook"])
def test_law_mouse_and_arrow_keys_highlight_a_row_and_read_it_out(tab, insert, place):
    if place == "book":
        with_book(tab, two_maps())
    else:
        tab.evaluate(insert, two_maps())
    readout = tab.locator(".at-readout")
    assert tab.locator("figure > svg").count() == 1
    assert tab.locator("img").count() == 0
    assert tab.get_by_role("img", name="Figure 3.1, described below").count() == 1
    assert (lit(tab), readout.count()) == ([], 1)
    cell(tab, "a0", "k1").hover()
    eventually(lambda: lit(tab), row("a0"))
    assert readout.text_content() == FIRST
    cell(tab, "b1", "k2").hover()
    eventually(lambda: lit(tab), row("b1"))  # not the second row of the first map
    tab.locator("svg").focus()
    tab.keyboard.press("ArrowUp")
    assert lit(tab) == row("b0")
    tab.keyboard.press("ArrowUp")
    tab.keyboard.press("ArrowUp")
    assert lit(tab) == row("a0")
    assert readout.text_content() == FIRST
    tab.keyboard.press("ArrowUp")
    assert lit(tab) == row("a0")  # already at the first row
    for _ in range(9):
        tab.keyboard.press("ArrowDown")
    assert lit(tab) == row("b1")
    tab.evaluate("document.activeElement.blur()")
    assert lit(tab) == []
    cell(tab, "a1", "k1").hover()
    thirds = "a1 reads k0: 0.33, k1: 0.33, k2: 0.33. Sum: 1.00."
    eventually(readout.text_content, thirds)  # a row of rounded weights
    tab.mouse.move(0, 0)
    eventually(lambda: lit(tab), [])
