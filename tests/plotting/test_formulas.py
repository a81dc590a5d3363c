"""The formulas in a figure's labels are text that flows, and other dollar signs stay."""

import re

import pytest
import torch

from annotated_transformer.plotting import draw_attention, new_plot, to_svg

TEXT = re.compile(r'<text x="[\d.]+" style="text-anchor: \w+">(.*?)</text>')
PIECE = re.compile(r'<tspan ((?:d[xy]="[^"]+" )*)style="[^"]*">([^<]*)</tspan>')


def drawn(label: str, **options: object) -> str:
    """Return an image whose only letters are those of the label."""
    fig, ax = new_plot()
    ax.set_axis_off()
    ax.text(0.5, 0.5, label, **options)
    return to_svg(fig)


def pieces(image: str) -> list[tuple[str, str]]:
    """Return the letters of each piece of a formula, and where it stands: "up", "down", or "on" the line."""
    (inside,) = TEXT.findall(image)
    places, height = [], None
    for moves, letters in PIECE.findall(inside):
        down = float(dict(re.findall(r'(d[xy])="([^"]+)"', moves)).get("dy", 0))
        height = 0.0 if height is None else height + down
        place = "on" if abs(height) < 0.1 else "up" if height < 0 else "down"
        places.append((letters.replace("\xa0", " "), place))
    return places


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("divided by $d_k$", [("divided by ", "on"), ("d", "on"), ("k", "down")]),
        ("$K$ and $V$: kept", [("K", "on"), (" and ", "on"), ("V", "on"), (": kept", "on")]),
        ("$10^{17}$, 29%", [("10", "on"), ("17", "up"), (", 29%", "on")]),
        ("$d_{long}^{-1}$ ours", [("d", "on"), ("−1", "up"), ("long", "down"), (" ours", "on")]),
        ("$d_{m}^{-1/2}$ ours", [("d", "on"), ("m", "down"), ("−1/2", "up"), (" ours", "on")]),
    ],
)
def test_law_words_stay_together_and_pieces_follow_each_other(label, expected):
    assert pieces(drawn(label)) == expected


@pytest.mark.parametrize("words", ["$5–$10", "$$", r"\$5", "5$ or 6$", "US$"])
def test_law_dollar_signs_without_a_formula_are_drawn_as_they_are(words):
    fig, ax = new_plot()
    draw_attention(ax, torch.ones(1, 1), [words], ["$E$"])
    for image in (drawn(words), to_svg(fig)):
        assert f">{words}</text>" in image
        assert 'class="mathjax_ignore"' in image
    assert ">$E$</text>" in to_svg(fig)
    assert "mathjax" not in drawn("$d_k$")
