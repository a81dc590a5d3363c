"""The drawings of the chapter on self-attention show the given numbers."""

import pytest
import torch
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

from annotated_transformer.book.chapters.self_attention import figures as figures
from annotated_transformer.plotting.palette import FIRST, OUTPUT, SECOND, VALUE
from tests.drawings import texts

WORDS = ["fox", "chased", "it", "tasty"]


def test_law_a_route_leads_through_two_layers_of_attention_to_the_querying_word():
    first, second = torch.full((2, 4, 4), 0.05)
    first[2, 3], first[1, 0], second[2, 0], second[1, 3] = 0.5, 0.9, 0.8, 0.7
    first[0, 1] = 0.25
    (ax,) = figures.draw_routes([WORDS], [(first, second)], asking=2, answers=["fox"]).axes
    heights = {text.get_text(): text.get_position()[1] for text in ax.texts}
    lines = [line for line in ax.lines if line.get_color() == VALUE]
    drawn = {
        (line.get_xdata()[0], *(round(y, 6) for y in line.get_ydata())): line.get_linewidth()
        for line in lines
    }
    left, middle = sorted({x for x, *_ in drawn})
    place = {word: round(heights[word], 6) for word in WORDS}
    assert drawn == {
        (middle, place["fox"], place["it"]): pytest.approx(7.2),
        (left, place["tasty"], place["it"]): pytest.approx(4.5),
        (left, place["chased"], place["fox"]): pytest.approx(2.25),  # "it" reads fox, which reads this
    }  # but not what "chased" reads: no route leads from there to "it"
    assert "= fox" in texts(ax.figure)


def test_law_the_three_roles_show_each_number_and_frame_the_row_and_the_column():
    square = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    tall = [[[n + 10 * k, n + 10 * k + 1] for n in (0, 2, 4)] for k in (1, 2, 3, 4)]
    names = ("Q", "K", "V", "output")
    matrices = {"x": square, **dict(zip(names, tall, strict=True)), "weights": square}
    fig = figures.draw_roles(matrices, words=["animal", "street", "it"], lit=1)
    found = texts(fig)
    assert {str(n) for n in range(1, 10)} | {str(n) for k in tall for row in k for n in row} <= set(found)
    assert {"$W^Q$", "$W^K$", "$W^V$", "query of street: its row (solid)"} <= set(found)
    frames = [p for p in fig.axes[0].patches if not p.get_fill() and p.get_linewidth() == 3]
    x, y = [t for t in fig.axes[0].texts if t.get_text() == "5"][1].get_position()  # in the weights
    assert len(frames) == 2
    assert all(
        frame.get_window_extent().contains(*fig.axes[0].transData.transform((x, y))) for frame in frames
    )


def test_law_the_cycle_figure_shows_the_inequality_that_each_word_needs():
    fig = figures.draw_circle(["rock", "scissors", "paper"], ["a", "b", "c"])
    assert {"rock\na > c", "scissors\nb > a", "paper\nc > b", "a", "b", "c"} == set(texts(fig))


def test_law_ratios_have_a_mark_for_each_head_in_the_column_of_their_layer():
    ratios = torch.tensor([[1.0, 1.0], [0.8, 1.25]])
    (ax,) = figures.draw_ratios(ratios).axes
    marks = [line for line in ax.lines if line.get_linestyle() == "None"]
    assert [list(line.get_ydata()) for line in marks] == [[1.0, 1.0], [0.8, 1.25]]
    assert [sum(line.get_xdata()) / 2 for line in marks] == pytest.approx([1, 2])


def test_law_a_map_of_a_sentence_has_the_same_words_on_both_sides():
    (ax,) = figures.draw_own_map(torch.eye(4), words=WORDS).axes
    assert [label.get_text() for label in ax.get_xticklabels()] == WORDS
    assert [label.get_text() for label in ax.get_yticklabels()] == WORDS


@pytest.mark.parametrize("heads", [1, 3])
def test_law_shares_of_any_number_of_heads_are_drawn(heads):
    shares = torch.arange(8.0 * heads).view(heads, 2, 4) / 100
    (ax,) = figures.draw_word_shares(shares).axes
    rows = [f"head {head}, {word}" for head in range(1, heads + 1) for word in ("hungry", "tasty")]
    assert [label.get_text() for label in ax.get_yticklabels()] == rows
    assert [label.get_text() for label in ax.get_xticklabels()] == ["subj.", "obj.", "adj.", "rest"]
    assert {"0.01", "0.03", "0.06", f"{shares.max():.2f}"} <= set(texts(ax.figure))


def test_law_each_map_stands_below_its_name():
    fig = figures.draw_maps({"one": torch.eye(2), "two": torch.eye(2).flip(0)}, words=["a", "b"])
    assert [ax.get_title() for ax in fig.axes] == ["one", "two"]
    assert texts(fig) == ["1.00", "0.00", "0.00", "1.00", "0.00", "1.00", "1.00", "0.00"]


@pytest.mark.parametrize(("sentences", "words", "width"), [(2, 5, 3), (1, 1, 1)])
def test_law_a_batch_is_drawn_with_a_sheet_of_the_right_shape_for_each_sentence(sentences, words, width):
    fig = figures.draw_batch(sentences, words, width)
    assert {"weights", "output", "$X$", r"$X^\top$"} <= set(texts(fig))
    edges = [p for p in fig.axes[0].patches if isinstance(p, Rectangle) and p.get_linewidth() == 2]
    side = edges[0].get_height() / words
    sizes = [(round(e.get_height() / side), round(e.get_width() / side)) for e in edges]
    shapes = [(words, width), (width, words), (words, words), (words, width), (words, width)]
    assert sizes == [shape for shape in shapes for _ in range(sentences)]


def test_law_the_two_orders_need_opposite_signs_for_each_adjective():
    fig = figures.draw_needs(["cat chased dog", "dog chased cat"], ["hungry", "tasty"])
    boxes = ["it = cat\nsum > 0", "it = dog\nsum < 0", "it = dog\nsum < 0", "it = cat\nsum > 0"]
    found = texts(fig)
    assert [text for text in found if text.startswith("it = ")] == boxes
    assert found.index(">") < found.index("<")


def test_law_vectors_keep_their_shades_under_their_words():
    x, y = torch.tensor([[0.0, 1.0], [0.5, 0.25]]), torch.tensor([[1.0], [0.0]])
    fig = figures.draw_shuffle([["a", "b"], ["b", "a"]], [x, x.flip(0)], [y, y.flip(0)])
    output = [p for p in fig.axes[0].patches if p.get_facecolor()[:3] == to_rgb(OUTPUT)]
    assert [round(p.get_alpha() or p.get_facecolor()[3], 2) for p in output] == [0.9, 0.1, 0.1, 0.9]
    names = [t for t in fig.axes[0].texts if t.get_text() in "ab"]
    below = [t.get_text() for t in names if t.get_position()[1] < 1]
    assert below == ["a", "b", "b", "a"]
    assert texts(fig).count("self-attention") == 2


@pytest.mark.parametrize(("width", "lengths"), [(512, [128, 768, 1536]), (8, [3]), (64, [1, 1000])])
def test_law_areas_are_proportional_to_the_multiplications(width, lengths):
    fig = figures.draw_cost(width, lengths)
    texts(fig)  # legible and not cut off
    areas = [p.get_width() * p.get_height() for p in fig.axes[0].patches]
    counts = [count for n in lengths for count in (3 * n * width**2, 2 * n * n * width)]
    assert areas == pytest.approx([count * areas[0] / counts[0] for count in counts])
    colors = [to_rgb(p.get_facecolor()) for p in fig.axes[0].patches]
    assert colors == [to_rgb(FIRST), to_rgb(SECOND)] * len(lengths)


def test_law_pronouns_stand_in_the_row_of_their_noun():
    fig = figures.draw_pronouns(
        [["er", "sie"], ["es", "es"]], nouns=["dog", "cat"], adjectives=["old", "wide"]
    )
    place = {t.get_text(): t.get_position() for t in fig.axes[0].texts}
    assert place["er"][1] == place["dog"][1] == place["sie"][1] > place["es"][1]
    assert place["er"][0] == place["old"][0] < place["sie"][0] == place["wide"][0]
    assert "… because it was too …" in texts(fig)
