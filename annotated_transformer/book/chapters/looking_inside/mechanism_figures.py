"""The drawings of what flows through a model: weighted values, words over depth, patches, and copies."""

from collections.abc import Sequence

from jaxtyping import Float
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from annotated_transformer.book.drawing.boxes import draw_arrow, draw_box
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.plotting.attention_map import SHADE, heat
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import (
    FIRST,
    HEAT_INK_HIGH,
    HEAT_INK_LOW,
    HEAT_SWITCH,
    INK,
    MASKED,
    MUTED,
    NEUTRAL,
    SECOND,
    VALUE,
)


def draw_areas(weights: Sequence[float], values: Sequence[float]) -> Figure:
    """Draw each token as a box as wide as its weight and as high as its value; the area is what it adds."""
    fig, ax = new_figure(height=2.8)
    start = 0.0
    for weight, value in zip(weights, values, strict=True):
        box = Rectangle((start, 0), weight, value, facecolor=to_rgba(VALUE, 0.4), edgecolor=VALUE, lw=2.5)
        ax.add_patch(box)
        above = value >= 0
        y, va = (value + 0.15, "bottom") if above else (value - 0.15, "top")
        product = f"{weight:g} × {value:g}\n= {weight * value:g}".replace("-", "−")
        ax.text(start + weight / 2, y, product, ha="center", va=va)
        start += weight
    ax.axhline(0, color=INK, lw=1, ls="-", marker="")
    ax.set(xlim=(0, 1), ylim=(min(values) - 1.8, max(values) + 1.8), ylabel="value", xlabel="weight")
    return fig


def draw_word_in_layers(maps: Float[Tensor, "layers heads keys"], keys: Sequence[str], word: str) -> Figure:
    """Draw where one word looks in each layer, the lowest at the bottom: a bar for each head."""
    layers, heads, tokens = maps.shape
    wide = 57.0 / tokens
    fig, ax = new_canvas(64, 6.0 * layers + 5.5, width=WIDE)
    for layer in range(layers):
        y = 6.0 * layer + 4.0
        ax.text(0.3, y + 1.5, f"layer {layer + 1}", ha="left", va="center", color=MUTED)
        ax.plot([7, 64], [y, y], color=NEUTRAL, lw=1, ls="-", marker="")
        for head in range(heads):
            for key in range(tokens):
                bar = 0.82 * wide / heads
                high = 5.0 * round(float(maps[layer, head, key]), 2)
                x = 7 + wide * key + 0.09 * wide + bar * head
                ax.add_patch(Rectangle((x, y), 0.8 * bar, high, facecolor=FIRST, edgecolor="none"))
    for key, name in enumerate(keys):
        own = "bold" if name == word else "normal"
        ax.text(7 + wide * (key + 0.5), 2.0, name, ha="center", va="center", weight=own)
    return fig


def draw_lens_words(
    inputs: Sequence[str], words: Sequence[Sequence[str]], shares: Sequence[Sequence[float]]
) -> Figure:
    """Draw the likeliest word at each position and depth, the lowest at the bottom, darker if likelier."""
    wide = 55.5 / len(inputs)
    fig, ax = new_canvas(64, 3.4 * len(words) + 6.5, width=WIDE)
    for depth, (row, given) in enumerate(zip(words, shares, strict=True)):
        y = 3.4 * depth + 3.2
        ax.text(0.3, y + 1.7, f"depth {depth}", ha="left", va="center", color=MUTED)
        for place, (word, exact) in enumerate(zip(row, given, strict=True)):
            share = round(exact, 2)
            cell = Rectangle(
                (8 + wide * place, y), wide, 3.4, facecolor=heat(share), edgecolor=MASKED, lw=0.5
            )
            cell.set_gid(f"{SHADE}|{share}")
            ax.add_patch(cell)
            ink = HEAT_INK_HIGH if share > HEAT_SWITCH else HEAT_INK_LOW
            spot = 8 + wide * (place + 0.5), y + 1.7
            ax.text(*spot, word[:7], ha="center", va="center", color=ink)
    for place, word in enumerate(inputs):
        ax.text(8 + wide * (place + 0.5), 1.5, word[:7], ha="center", va="center", weight="bold")
    ax.text(0.3, 1.5, "input", ha="left", va="center", weight="bold")
    ax.text(
        8, 3.4 * len(words) + 4.8, "the model's next word is the top row", ha="left", va="center", color=MUTED
    )
    return fig


def draw_streams(
    clean: Sequence[str], corrupted: Sequence[str], *, depths: int, depth: int, token: int
) -> Figure:
    """Draw the vectors of two runs, one column for each token, and one vector that is put into the other."""
    wide = 29.0 / len(clean)
    fig, ax = new_canvas(64, 3.0 * depths + 6.5, width=WIDE)
    for left, names, color, hatch in ((0.5, clean, FIRST, ""), (34.5, corrupted, SECOND, "///")):
        for place, name in enumerate(names):
            x = left + wide * place
            differs = clean[place] != corrupted[place]
            weight = "bold" if differs else "normal"
            ax.text(x + wide / 2, 1.2, name, ha="center", va="center", weight=weight)
            for level in range(depths):
                put = left > 30 and (level, place) == (depth, token)
                look = (FIRST, "") if put else (color, hatch)
                corner = x + 0.12 * wide, 3.0 * level + 2.8
                face = to_rgba(look[0], 0.45)
                cell = Rectangle(corner, 0.76 * wide, 2.0, facecolor=face, edgecolor=look[0], hatch=look[1])
                ax.add_patch(cell)
    y = 3.0 * depth + 3.8
    start, end = (0.5 + wide * (token + 0.5), y + 1.0), (34.5 + wide * (token + 0.5), y + 1.0)
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "connectionstyle": "arc3,rad=-0.25",
                "color": INK, "lw": 2.5, "shrinkA": 0, "shrinkB": 0})  # fmt: skip
    top = 3.0 * depths + 3.6
    ax.text(0.8, top + 1.6, "run 1", ha="left", va="center", weight="bold", color=INK)
    ax.text(34.8, top + 1.6, "run 2, with one vector of run 1", ha="left", va="center", weight="bold")
    return fig


def draw_induction(symbols: Sequence[str], copy: int) -> Figure:
    """Draw how two layers continue a repetition: the last symbol has an earlier copy at place `copy`."""
    wide = 46.0 / (len(symbols) + 1)
    fig, ax = new_canvas(46, 21)
    rows = [
        [draw_box(ax, 1 + wide * place, y, 0.8 * wide, 3.2, name) for place, name in enumerate(symbols)]
        for y in (1.0, 9.0)
    ]
    low, high = rows
    draw_arrow(ax, low[copy].top, high[copy + 1].bottom, color=FIRST)
    last = draw_box(ax, high[-1].x, 17.0, 0.8 * wide, 3.2, symbols[copy + 1], color=SECOND)
    draw_arrow(ax, high[copy + 1].top, last.left, color=SECOND)
    ax.text(high[copy + 1].x + wide, 6.6, f"layer 1: after {symbols[copy]}", ha="left", va="center")
    ax.text(1, 18.6, f"layer 2: what came after {symbols[copy]}?", ha="left", va="center")
    return fig
