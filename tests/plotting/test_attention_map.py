"""Attention maps use one scale, correct labels, legible numbers, and interactive rows."""

import html
import re

import pytest
import torch

from annotated_transformer.book.cells.slider import slider_output
from annotated_transformer.book.drawing.figures import figure_output, new_figure, svg
from annotated_transformer.plotting import palette
from annotated_transformer.plotting.attention_map import draw_attention, heat
from tests.colors import CSS, STATIC, contrast, luminance, mixed, variables
from tests.explorer_pages import eventually

ALT = "A map of attention weights with a few rows and a few columns."


def map_of(weights, **options):
    fig, ax = new_figure(height=4.2)
    rows, columns = weights.shape
    draw_attention(ax, weights, [f"q{i}" for i in range(rows)], [f"k{i}" for i in range(columns)], **options)
    return fig, ax


def test_law_a_weight_is_rounded_once_and_announced_as_printed():
    for weight, printed in ((0.1548, ["0.15", "0.85"]), (0.1554, ["0.16", "0.84"])):
        fig, ax = map_of(torch.tensor([[weight, 1 - weight]]))  # rounding to 0.155 first gives 0.15 and 0.84
        assert [text.get_text() for text in ax.texts] == printed
        assert [cell["weight"] for cell in cells_of(svg(fig))] == printed


def test_law_the_words_stand_at_their_rows_and_columns():
    _, ax = map_of(torch.full((2, 3), 1 / 3))
    across = {label.get_text(): label.get_position()[0] for label in ax.get_xticklabels()}
    down = {label.get_text(): label.get_position()[1] for label in ax.get_yticklabels()}
    assert across == {"k0": 0.5, "k1": 1.5, "k2": 2.5}
    assert down == {"q0": 0.5, "q1": 1.5}


def test_law_the_scale_is_fixed_and_its_gray_falls_as_the_weight_grows():
    _, ax = map_of(torch.tensor([[0.0, 0.2], [0.2, 0.2]]))
    _, other = map_of(torch.tensor([[0.0, 0.2], [0.8, 1.0]]))
    assert ax.patches[1].get_facecolor() == other.patches[1].get_facecolor()
    grays = [sum(patch.get_facecolor()[:3]) for patch in other.patches]
    assert grays == sorted(grays, reverse=True)
    assert len(set(grays)) == 4
    assert (heat(0.0), heat(1.0)) == (palette.PAPER.lower(), palette.HEAT.lower())


def cells_of(drawing):
    """Return the data attributes of each interactive cell, in drawing order."""
    groups = re.findall(r'<g class="at-cell" ([^>]*)>', drawing)
    return [dict(re.findall(r'data-(\w+)="([^"]*)"', group)) for group in groups]


def test_law_each_cell_carries_its_row_column_weight_and_words():
    fig, _ = map_of(torch.tensor([[0.125, 0.875, 0.0], [0.25, 0.25, 0.5]]))
    found = cells_of(svg(fig))
    assert [(cell["row"], cell["column"]) for cell in found] == [(r, c) for r in "01" for c in "012"]
    assert [cell["query"] for cell in found] == ["q0"] * 3 + ["q1"] * 3
    assert [cell["key"] for cell in found] == ["k0", "k1", "k2"] * 2
    assert [cell["weight"] for cell in found][2:] == ["0.00", "0.25", "0.25", "0.50"]


@pytest.mark.parametrize("word", ["<s>", "a & b", "it's", 'said "no"', "a|b–é"])
def test_law_a_cell_keeps_its_data_whatever_characters_its_words_contain(word):
    fig, ax = new_figure(height=4.2)
    draw_attention(ax, torch.full((2, 2), 0.5), ["q", word], [word, "k"])
    drawing = svg(fig)
    assert len(cells_of(drawing)) == 4
    assert 'id="at-cell' not in drawing.replace("'", '"')
    assert {html.unescape(cell["key"]) for cell in cells_of(drawing)} == {"k", word}


def ink_of(weight):
    """Return the text color in which a map prints a weight."""
    _, ax = map_of(torch.full((1, 1), weight))
    return ax.texts[0].get_color()


def test_law_numbers_have_enough_contrast_with_their_cells_in_both_themes():
    inks = {palette.HEAT_INK_LOW: "--at-heat-ink-low", palette.HEAT_INK_HIGH: "--at-heat-ink-high"}
    used = {weight: inks[ink_of(weight)] for weight in (0.0, 0.3, 0.58, 0.585, 0.59, 0.595, 0.6, 0.65, 1.0)}
    assert set(used.values()) == set(inks.values())
    for theme in ("light", "dark"):
        seen = variables(theme)
        for weight, ink in used.items():
            share = round(100 * float(f"{weight:.2f}")) / 100  # as the style sheet mixes it
            cell = mixed(seen["--at-paper"], seen["--at-heat"], share)
            assert contrast(seen[ink], cell) >= 4.5, (theme, weight)


def test_law_the_explorer_changes_the_ink_at_the_same_weight():
    script = (STATIC.parents[1] / "explorer" / "ui" / "heat.js").read_text("utf-8")
    assert f'share > {palette.HEAT_SWITCH} ? "at-x-high" : "at-x-low"' in script


def test_law_high_weights_are_dark_in_light_mode_and_bright_in_dark_mode():
    day, night = variables("light"), variables("dark")
    assert luminance(day["--at-heat"]) < luminance(day["--at-paper"])
    assert luminance(night["--at-heat"]) > luminance(night["--at-paper"])
    assert day["--at-heat"] == palette.HEAT.lower()
    for ink in ("low", "high"):
        assert day[f"--at-heat-ink-{ink}"] == getattr(palette, f"HEAT_INK_{ink.upper()}").lower()
    # Without a theme, the system setting decides; the values are the same.
    (dark,) = re.findall(
        r"@media \(prefers-color-scheme: dark\) \{([^@]*?)\n\}", (STATIC / "figures.css").read_text("utf-8")
    )
    assert dict(re.findall(r"(--at-[\w-]+): (#\w{6});", dark)).items() <= night.items()


@pytest.mark.message
def test_message_weights_or_mask_that_do_not_match_the_words():
    _, ax = new_figure()
    with pytest.raises(ValueError, match=r"weights has shape \(2, 3\), but there are \(2, 2\) queries and k"):
        draw_attention(ax, torch.zeros(2, 3), ["a", "b"], ["a", "b"])
    mask = torch.ones(3, 2, dtype=torch.bool)
    with pytest.raises(ValueError, match=r"mask has shape \(3, 2\), but there are \(2, 2\) queries and keys"):
        draw_attention(ax, torch.zeros(2, 2), ["a", "b"], ["a", "b"], mask=mask)


@pytest.mark.message
@pytest.mark.parametrize(
    ("bad", "seen"), [(-1.5, "-1.5000 to 0.0000"), (2.0, "0.0000 to 2.0000"), (float("nan"), "nan to nan")]
)
def test_message_scores_instead_of_weights(bad, seen):
    _, ax = new_figure()
    with pytest.raises(ValueError, match=f"weights run from {seen}; draw them after the softmax"):
        draw_attention(ax, torch.tensor([[0.0, bad]]), ["a"], ["b", "c"])


# In a browser.


def show(fig):
    return figure_output(fig, number="3.1", title="A map", alt=ALT, caption="Look.")._repr_html_()


THIRDS = torch.tensor([[0.5, 0.3, 0.2], [1 / 3, 1 / 3, 1 / 3]])


def two_maps():
    fig, axes = new_figure(2, 1, height=5.6)
    for name, ax in zip("ab", axes, strict=True):
        draw_attention(ax, THIRDS, [f"{name}0", f"{name}1"], ["k0", "k1", "k2"])
    return show(fig)


def moving():
    """Return a slider of maps with two, three, and five words."""

    def draw(words):
        fig, ax = new_figure(height=4.2)
        names = [f"w{i}" for i in range(words)]
        draw_attention(ax, torch.full((words, words), 1 / words), names, names)
        return fig

    words = {"name": "words", "number": "3.2", "title": "Maps", "caption": "Look."}
    return slider_output(
        draw, [2, 3, 5], alt=lambda n: f"{n} words read {n} words, each of them the same.", **words
    )


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
    assert tab.get_by_role("img", name=ALT).count() == 1
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


@pytest.mark.page
def test_law_the_first_arrow_key_reads_the_first_row(tab):
    def next_element() -> str:
        tab.keyboard.press("Tab")
        return tab.evaluate("document.activeElement.tagName")

    with_book(tab, two_maps())
    eventually(next_element, "svg")  # reached with the keyboard alone
    tab.keyboard.press("ArrowDown")
    assert lit(tab) == row("a0")


@pytest.mark.page
def test_law_a_tap_highlights_a_row(browser):
    context = browser.new_context(has_touch=True, viewport={"width": 360, "height": 780})
    page = context.new_page()
    with_book(page, two_maps())
    cell(page, "a0", "k2").tap()
    eventually(lambda: lit(page), row("a0"))
    assert page.locator(".at-readout").text_content() == FIRST
    cell(page, "b0", "k2").tap()
    eventually(lambda: lit(page), row("b0"))
    context.close()


@pytest.mark.page
def test_law_a_map_stays_interactive_after_a_slider_redraws_it(tab):
    with_book(tab, moving()._repr_html_())
    before = tab.locator(".at-readout").text_content()
    tab.locator("input").press("End")
    cell(tab, "w4", "w0").hover()
    words = [f"w{i}" for i in range(5)]
    eventually(lambda: lit(tab), row("w4", words))
    told = ", ".join(f"{word}: 0.20" for word in words)
    assert tab.locator(".at-readout").text_content() == f"w4 reads {told}. Sum: 1.00."
    tab.mouse.move(0, 0)
    eventually(lambda: lit(tab), [])
    tab.locator("input").press("Home")
    assert tab.locator(".at-readout").text_content() == before  # not the previous frame's
    tab.locator("svg").focus()
    tab.keyboard.press("ArrowDown")
    assert lit(tab) == row("w0", words[:2])
    assert tab.locator(".at-readout").text_content() == "w0 reads w0: 0.50, w1: 0.50. Sum: 1.00."


@pytest.mark.page
def test_law_the_browser_mixes_the_colors_of_the_theme(tab):
    fig, ax = new_figure(height=3.0)
    draw_attention(ax, torch.tensor([[0.25, 0.75]]), ["q"], ["k0", "k1"])
    with_book(tab, show(fig))
    for theme in ("light", "dark"):
        tab.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        drawn = "[...document.querySelectorAll('.at-cell path')].map(p => getComputedStyle(p).fill)"
        seen = variables(theme)
        for color, weight in zip(tab.evaluate(drawn), (0.25, 0.75), strict=True):
            parts = [float(part) for part in re.findall(r"[\d.]+", color)]
            parts = [255 * part for part in parts] if "srgb" in color else parts
            wanted = mixed(seen["--at-paper"], seen["--at-heat"], weight)
            assert parts == pytest.approx([int(wanted[i : i + 2], 16) for i in (1, 3, 5)], abs=1.1)
