"""The drawings of scores: from closeness to an answer, three ways to score, and six on the same keys."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from annotated_transformer.book.drawing.boxes import Box, draw_arrow, draw_box
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import write_number
from annotated_transformer.book.drawing.words import draw_vector, name_rows, write, write_beside
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import KEY, MUTED, OUTPUT, PAPER, QUERY, VALUE

COLUMNS = 19.5  # of a wide canvas


def draw_soft_answer(
    query: float | int,
    closeness: Mapping[float | int, float],
    values: Sequence[float | int],
    answer: float | int,
) -> Figure:
    """Draw a soft lookup from left to right: keys, closeness, weights, weighted values, and their sum."""
    step = 1.3
    fig, ax = new_canvas(COLUMNS, step * len(values) + 1.4, width=WIDE)
    top, total = step * len(values), sum(closeness.values())
    heads = {"query": 1.1, "key": 4.3, "closeness": 7.5, "weight": 11.2, "× value": 14.6, "sum": 18.0}
    for head, x in heads.items():
        write(ax, x, top + 0.8, head, weight="bold")
    asks = draw_box(ax, 0.2, top / 2 - 0.3, 1.8, 1.0, write_number(query), color=QUERY)
    result = draw_box(ax, 17.0, top / 2 - 0.3, 2.3, 1.0, write_number(answer), color=OUTPUT)
    for row, ((key, close), value) in enumerate(zip(closeness.items(), values, strict=True)):
        y = top - step * (row + 1) + 0.3
        box = draw_box(ax, 3.4, y, 1.8, 0.9, write_number(key), color=KEY)
        draw_arrow(ax, asks.right, box.left)
        for x, share in ((6.0, close), (9.7, close / total)):
            ax.add_patch(Rectangle((x, y + 0.05), max(0.03, 1.7 * share), 0.8, facecolor=QUERY, alpha=0.6))
            write(ax, x + 1.7 * share + 0.15, y + 0.45, write_number(round(share, 2)), "left")
        box = draw_box(ax, 13.6, y, 2.0, 0.9, f"× {write_number(value)}", color=VALUE)
        draw_arrow(ax, box.right, result.left)
    return fig


def draw_three_scores() -> Figure:
    """Draw how a query and a key become a score: by a product, through a matrix, and through a tanh."""
    fig, ax = new_canvas(COLUMNS, 6.6, width=WIDE)
    for left, title in ((0.1, "Dot product"), (6.7, "Bilinear"), (13.3, "Additive")):
        write(ax, left, 6.1, title, "left", weight="bold")
    _draw_pair(ax, 0.6, 3)
    product = draw_box(ax, 1.9, 2.4, 1.9, 1.0, "$q$ · $k$")
    _draw_inputs(ax, 0.6, product, 3)
    _draw_pair(ax, 7.2, 2)
    matrix = draw_box(ax, 8.2, 2.4, 2.5, 1.0, r"$q\,M\,k^\top$")
    _draw_inputs(ax, 7.2, matrix, 2)
    _draw_pair(ax, 13.8, 2)
    network = draw_box(ax, 15.1, 2.4, 1.9, 1.0, "tanh")
    _draw_inputs(ax, 13.8, network, 2, "$U$", "$R$")
    for box, label in ((product, ""), (matrix, ""), (network, "$w$")):
        draw_arrow(ax, box.top, (box.top[0], 4.5), label)
        write(ax, box.top[0], 5.0, "score")
    return fig


def _draw_pair(ax: Axes, x: float, key_width: int) -> None:
    """Draw a query of three features and a key of `key_width`, with their letters."""
    for left, name, color, width in ((x, "$q$", QUERY, 3), (x + 2.7, "$k$", KEY, key_width)):
        draw_vector(ax, left, 0.9, [0.5] * width, color=color, size=(0.6, 0.6), upright=False)
        write(ax, left + 0.3 * width, 0.45, name)


def _draw_inputs(ax: Axes, x: float, box: Box, key_width: int, *names: str) -> None:
    """Draw arrows from a query and a key to the box that compares them."""
    for place, start in enumerate(((x + 0.9, 1.5), (x + 2.7 + 0.3 * key_width, 1.5))):
        draw_arrow(ax, start, (box.x + box.width * (0.3 + 0.4 * place), box.y))
        if names:
            side = (start[0] - 0.25, "right") if place == 0 else (start[0] + 0.25, "left")
            write(ax, side[0], 2.05, names[place], side[1], color=MUTED)


def draw_rivals(
    query: Sequence[float | int],
    keys: Sequence[Sequence[float | int]],
    weights: Mapping[str, Sequence[float]],
) -> Figure:
    """Draw a query and keys as arrows in the plane, and beside them the keys' weights by each score."""
    fig, (plane, ax) = new_figure(1, 2, width=WIDE, height=3.4)
    for number, key in enumerate(keys, 1):
        plane.annotate("", key, (0, 0), arrowprops={"arrowstyle": "-|>", "color": KEY, "lw": 2})
        if list(key) == list(query):
            name, offset, ha, va = f"key {number} = query", (2, -6), "left", "top"
        else:
            name, offset, ha, va = f"key {number}", (0, 5), "center", "bottom"
        write_beside(plane, key, offset, name, ha, va)
    plane.annotate("", query, (0, 0), arrowprops={"arrowstyle": "-|>", "color": QUERY, "lw": 2, "ls": "--"})
    reach = max(max(key) for key in [*keys, query])
    plane.set(xlim=(-0.2, 1.2 * reach), ylim=(-0.2, 0.95 * reach), aspect="equal", xticks=[], yticks=[])
    plane.set_axis_off()
    for row, shares in enumerate(weights.values()):
        left = 0.0
        for number, share in enumerate(shares, 1):
            hatch = ("", "////", "\\\\\\\\")[(number - 1) % 3]
            ax.barh(row, share, 0.7, left, facecolor="none", edgecolor=KEY, hatch=hatch)
            if share > 0.16:
                plate = {"boxstyle": "circle,pad=0.1", "facecolor": PAPER, "edgecolor": "none"}
                write(ax, left + share / 2, row, f"{number}", weight="bold", bbox=plate)
            left += share
    name_rows(ax, weights)
    ax.set(xlim=(0, 1), ylim=(len(weights) - 0.4, -0.6), xlabel="weights of the keys", xticks=[0, 1])
    ax.spines["left"].set_visible(False)
    return fig
