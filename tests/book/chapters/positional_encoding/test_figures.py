"""The drawings of the chapter on positional encoding show the given numbers."""

import torch

from annotated_transformer.book.chapters.positional_encoding import figures as figures
from annotated_transformer.book.drawing.figures import svg
from tests.drawings import curves, texts


def shade(ax, row, column):
    """Return the highest shade that covers the center of a cell."""
    areas = {float(area.get_gid().split("|")[1]): area.get_path() for area in ax.patches}
    return max(share for share, path in areas.items() if path.contains_point((column + 0.5, row + 0.5)))


def test_law_two_orders_show_each_sentence_and_its_numbers():
    same, other = torch.tensor([0.25, -1.5]), torch.tensor([0.5, 2.0])
    fig = figures.draw_two_orders(
        {"Without": {"a b": same, "b a": same}, "With": {"a b": same, "b a": other}}, word="b"
    )
    words = texts(fig)
    assert words.count("a b") == words.count("b a") == words.count("output at b") == 2
    assert [words.count(number) for number in ("0.25", "−1.5", "0.5", "2")] == [3, 3, 1, 1]


def test_law_a_heat_map_shades_each_value_and_follows_the_theme():
    table = torch.tensor([[-1.0, 0.0, 1.0], [1.0, -0.5, 0.5]])
    fig = figures.draw_table(table)
    shades = torch.tensor([[shade(fig.axes[1], row, column) for column in range(3)] for row in range(2)])
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
    (ax,) = figures.draw_windows(runs, [0, 8], trained=7, places=[(1.0, 0.4), (1.0, 0.9)]).axes
    assert curves(ax) == [[1.0, 0.5], [1.0, 0.25], [1.0, 1.0]]
    assert texts(ax.figure) == ["trained", "one", "two"]


def test_law_words_are_above_and_positions_below():
    rising = [1 + place / 10 for place in range(8)]
    fig = figures.draw_room({"en-de": rising, "positions": rising[::-1]})
    above, below = fig.axes
    assert curves(above) == [rising]
    assert curves(below) == [rising[::-1]]


def test_law_a_sum_is_the_word_plus_its_position():
    encodings = {0: torch.tensor([0.0, 1.0]), 4: torch.tensor([-0.75, 0.5])}
    words = texts(figures.draw_sums("mary", torch.tensor([0.5, 2.0]), encodings))
    assert words[:12] == "mary at position 0|0.5|2|word|+|0|1|position|=|0.5|3|input".split("|")
    assert words[12:] == "mary at position 4|0.5|2|word|+|−0.75|0.5|position|=|−0.25|2.5|input".split("|")


def test_law_scores_are_dark_where_they_are_high_each_map_on_its_own_scale():
    low = torch.tensor([[0.0, 4.0], [2.0, 4.0]])
    fig = figures.draw_scores({"low": low, "high": 10 * low.T})
    texts(fig)
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["low", "high"]
    for ax, scores in zip(fig.axes, (low, low.T), strict=True):
        shades = torch.tensor([[shade(ax, row, column) for column in range(2)] for row in range(2)])
        assert torch.equal(shades, scores / 4)


def test_law_each_sequence_is_a_bar_at_its_positions():
    fig = figures.draw_ranges({"a": [0, 0], "b": [5, 9]}, [0, 8], length=4, last=12)
    assert texts(fig) == ["a", "b", "tested"]
    bars = [(bar.get_x(), bar.get_width()) for bar in fig.axes[0].patches]
    assert bars == [(start, 4) for start in (0, 0, 5, 9, 0, 8)]
