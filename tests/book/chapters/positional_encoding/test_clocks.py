"""The clocks and waves of the chapter on positional encoding show the given numbers."""

import math

import pytest
import torch
from matplotlib.patches import Arc, Circle

from annotated_transformer.book.chapters.positional_encoding import clocks
from annotated_transformer.model.positional_encoding import sinusoids
from annotated_transformer.plotting.palette import FIRST, NEUTRAL, SECOND
from tests.drawings import curves, texts


def hands(ax, color):
    """Return the tip of each hand of this color, relative to the center of its clock."""
    lines = [line for line in ax.lines if line.get_color() == color and len(line.get_xdata()) == 2]
    return [
        (line.get_xdata()[1] - line.get_xdata()[0], line.get_ydata()[1] - line.get_ydata()[0])
        for line in lines
    ]


def test_law_a_clock_points_at_its_sine_and_cosine():
    table = sinusoids(8, 4)[[0, 2, 7]]
    (ax,) = clocks.draw_clocks(table, [0, 2, 7], [6.28, 628.3]).axes
    found = torch.tensor(hands(ax, FIRST)).double()
    wanted = torch.cat([table[:, 0:2], table[:, 2:4]])
    torch.testing.assert_close(found / found.norm(dim=1, keepdim=True), wanted, rtol=0, atol=1e-6)
    assert sum(isinstance(patch, Circle) for patch in ax.patches) == 6
    assert {"0", "2", "7", "1 turn in\n6 words", "1 turn in\n628 words"} <= set(texts(ax.figure))


def test_law_a_wave_has_its_pair_and_its_wavelength():
    pair = sinusoids(30, 8)[:, 2:4]
    (ax,) = clocks.draw_wave(pair, wavelength=62.83).axes
    for line, column in zip(ax.lines, (0, 1), strict=True):
        assert torch.equal(torch.as_tensor(line.get_ydata()), pair[:, column])
    assert ax.get_title(loc="left") == "1 turn in 62.8 words"


@pytest.mark.parametrize("offset", [0, 3])
def test_law_a_rotation_ends_at_the_shifted_position(offset):
    table = sinusoids(20, 8).unflatten(1, (4, 2))
    angles = [offset / 10**pair for pair in range(2)]
    products = sinusoids(9, 8) @ sinusoids(9, 8)[0]
    fig = clocks.draw_turn({2: table[2, :2], 5: table[5, :2]}, angles, products, offset=offset)
    ax, curve = fig.axes
    tips = torch.tensor(hands(ax, FIRST)).double() / 0.9
    wanted = torch.cat([table[2 + offset, :2], table[5 + offset, :2]])
    torch.testing.assert_close(tips, wanted, rtol=0, atol=1e-6)
    before = torch.tensor(hands(ax, NEUTRAL)).double() / 0.9
    torch.testing.assert_close(before, torch.cat([table[2, :2], table[5, :2]]), rtol=0, atol=1e-6)
    sweeps = [patch.theta2 - patch.theta1 for patch in ax.patches if isinstance(patch, Arc)]
    assert sweeps == pytest.approx([math.degrees(a) for a in angles] * 2 if offset else [])
    assert f"2 to {2 + offset}" in texts(fig)
    assert list(curve.lines[1].get_xdata()) == [offset]
    assert curve.lines[1].get_ydata()[0] == products[offset]


def test_law_the_unrolled_clock_has_its_tips_on_both_curves():
    pair = sinusoids(7, 4)[:, :2]
    fig = clocks.draw_unrolled(pair, shown=2)
    words = texts(fig)
    assert {"0.91", "−0.42"} <= {word.replace("-", "−") for word in words}
    (ax,) = fig.axes
    marks = [(line.get_marker(), line.get_color(), line) for line in ax.lines]
    heights = [line.get_ydata()[0] for mark, color, line in marks if mark == "o" and color == FIRST]
    widths = [line.get_xdata()[0] for mark, color, line in marks if mark == "s" and color == SECOND]
    cosine, sine = (line for line in ax.lines if len(line.get_xdata()) > 2)
    assert cosine.get_ydata()[::12] == pytest.approx(heights)
    assert sine.get_xdata()[::12] == pytest.approx(widths)
    for found, wanted in ((heights, pair[:, 1]), (widths, pair[:, 0])):
        scaled = (torch.tensor(found) - found[0]) / 1.9
        torch.testing.assert_close(scaled, wanted - wanted[0], rtol=0, atol=1e-6, check_dtype=False)


def test_law_counters_show_each_bit_and_each_wave():
    bits = torch.tensor([[0, 0], [1, 0], [0, 1]])
    waves = torch.tensor([[0.0], [0.5], [-1.0]])
    fig = clocks.draw_counters(bits, waves)
    assert texts(fig)[4:] == ["bit 0", "0", "1", "0", "bit 1", "0", "0", "1", "pair 0"]
    heights = torch.tensor(curves(fig.axes[0])[-1])
    torch.testing.assert_close((heights - heights[0]) / 0.45, waves[:, 0], check_dtype=False)
