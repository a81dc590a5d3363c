"""The drawings of the chapter on positional encoding show the given numbers."""

import math

import pytest
import torch
from matplotlib.patches import Arc, Circle

from annotated_transformer.book.chapters.positional_encoding import figures as figures
from annotated_transformer.book.drawing.figures import svg
from annotated_transformer.model.positional_encoding import sinusoids
from annotated_transformer.plotting.palette import FIRST, NEUTRAL
from tests.drawings import curves, texts


def hands(ax, color):
    """Return the tip of each hand of this color, relative to the center of its clock."""
    lines = [line for line in ax.lines if line.get_color() == color and len(line.get_xdata()) == 2]
    return [
        (line.get_xdata()[1] - line.get_xdata()[0], line.get_ydata()[1] - line.get_ydata()[0])
        for line in lines
    ]


def test_law_two_orders_show_each_sentence_and_its_numbers():
    same, other = torch.tensor([0.25, -1.5]), torch.tensor([0.5, 2.0])
    fig = figures.draw_two_orders(
        {"Without": {"a b": same, "b a": same}, "With": {"a b": same, "b a": other}}, word="b"
    )
    words = texts(fig)
    assert words.count("a b") == words.count("b a") == words.count("output at b") == 2
    assert [words.count(number) for number in ("0.25", "−1.5", "0.5", "2")] == [3, 3, 1, 1]


def test_law_a_clock_points_at_its_sine_and_cosine():
    table = sinusoids(8, 4)[[0, 2, 7]]
    fig = figures.draw_clocks(table, [0, 2, 7], [6.28, 628.3])
    (ax,) = fig.axes
    found = torch.tensor(hands(ax, FIRST)).double()
    wanted = torch.cat([table[:, 0:2], table[:, 2:4]])
    torch.testing.assert_close(found / found.norm(dim=1, keepdim=True), wanted, rtol=0, atol=1e-6)
    assert sum(isinstance(patch, Circle) for patch in ax.patches) == 6
    assert {"0", "2", "7", "1 turn in\n6 words", "1 turn in\n628 words"} <= set(texts(fig))


def test_law_a_wave_has_its_pair_and_its_wavelength():
    pair = sinusoids(30, 8)[:, 2:4]
    fig = figures.draw_wave(pair, wavelength=62.83)
    (ax,) = fig.axes
    for line, column in zip(ax.lines, (0, 1), strict=True):
        assert torch.equal(torch.as_tensor(line.get_ydata()), pair[:, column])
    assert ax.get_title(loc="left") == "1 turn in 62.8 words"


@pytest.mark.parametrize("offset", [0, 3])
def test_law_a_rotation_ends_at_the_shifted_position(offset):
    table = sinusoids(20, 8).unflatten(1, (4, 2))
    angles = [offset / 10**pair for pair in range(2)]
    products = sinusoids(9, 8) @ sinusoids(9, 8)[0]
    fig = figures.draw_turn({2: table[2, :2], 5: table[5, :2]}, angles, products, offset=offset)
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


def test_law_a_heat_map_shades_each_value_and_follows_the_theme():
    table = torch.tensor([[-1.0, 0.0, 1.0], [1.0, -0.5, 0.5]])
    fig = figures.draw_table(table)
    areas = {float(area.get_gid().split("|")[1]): area.get_path() for area in fig.axes[1].patches}

    def shade(row, column):
        """Return the highest shade that covers the center of a cell."""
        return max(share for share, path in areas.items() if path.contains_point((column + 0.5, row + 0.5)))

    shades = torch.tensor([[shade(row, column) for column in range(3)] for row in range(2)])
    assert torch.equal(shades, (table + 1) / 2)
    drawing = svg(fig)
    for share in (0, 25, 50, 75, 100):
        assert f"{share}%, var(--at-paper" in drawing
    assert "at-shade" not in drawing


def test_law_each_model_has_its_map_under_its_name():
    even, mirrored = torch.full((3, 3), 1 / 3), torch.eye(3).fliplr()
    fig = figures.draw_mirrors({"none": even, "some": mirrored})
    assert [ax.get_title() for ax in fig.axes] == ["none", "some"]
    for ax, weights in zip(fig.axes, (even, mirrored), strict=True):
        drawn = [float(patch.get_gid().split("|")[3]) for patch in ax.patches]
        assert drawn == [round(weight, 2) for weight in weights.flatten().tolist()]


def test_law_each_run_is_drawn_over_the_windows():
    runs = {"one": [[1.0, 0.5], [1.0, 0.25]], "two": [[1.0, 1.0]]}
    fig = figures.draw_windows(runs, [0, 8], trained=7, places=[(1.0, 0.4), (1.0, 0.9)])
    (ax,) = fig.axes
    assert curves(ax) == [[1.0, 0.5], [1.0, 0.25], [1.0, 1.0]]
    assert texts(fig) == ["trained", "one", "two"]


def test_law_words_are_above_and_positions_below():
    rising = [1 + place / 10 for place in range(8)]
    fig = figures.draw_room({"en-de": rising, "positions": rising[::-1]})
    above, below = fig.axes
    assert curves(above) == [rising]
    assert curves(below) == [rising[::-1]]
