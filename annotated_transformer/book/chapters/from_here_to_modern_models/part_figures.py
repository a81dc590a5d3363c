"""The drawings of single parts in chapter 22: norms, rotations, heads, masks, experts."""

import math
from collections.abc import Mapping, Sequence

from jaxtyping import Float, Int
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Circle, Rectangle
from torch import Tensor

from annotated_transformer.book.drawing.boxes import Number, Point, draw_area, draw_line, draw_tip
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import write_number
from annotated_transformer.book.drawing.words import write
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import (
    FIRST,
    INK,
    KEY,
    KEY_TEXT,
    MASKED,
    MUTED,
    NEUTRAL,
    QUERY,
    QUERY_TEXT,
    SECOND,
    VALUE,
)

Vector = Sequence[Number]
SEEN = {"facecolor": to_rgba(FIRST, 0.5), "edgecolor": to_rgba(FIRST, 0.7)}
DETOUR = {"facecolor": to_rgba(FIRST, 0.15), "edgecolor": to_rgba(FIRST, 0.7)}
HIDDEN = {"facecolor": "none", "edgecolor": MASKED, "hatch": "////"}


def draw_turned(query: Vector, key: Vector, step: Number, places: Sequence[tuple[int, int]]) -> Figure:
    """Draw a query and a key of two features, turned by `step` degrees per position, in a panel per pair.

    Each panel says what their product is, so that panels with the same distance can be compared.
    """
    fig, axes = new_figure(1, len(places), width=WIDE, height=2.6)
    reach = max(math.hypot(*query), math.hypot(*key)) * 1.25
    for ax, (at, other) in zip(axes, places, strict=True):
        ends = []
        for name, vector, place, color, ink in (
            ("q", query, at, QUERY, QUERY_TEXT),
            ("k", key, other, KEY, KEY_TEXT),
        ):
            x, y = turned(vector, step * place)
            ends.append((x, y))
            draw_tip(ax, (0, 0), turned(vector, 0), to_rgba(color, 0.25), 2)
            draw_tip(ax, (0, 0), (x, y), color, 2)
            write(ax, 1.14 * x, 1.14 * y, f"${name}_{{{place}}}$", color=ink)
        angles = sorted(math.degrees(math.atan2(y, x)) for x, y in ends)
        wide = angles[1] - angles[0] > 180
        first, last = (angles[1], angles[0] + 360) if wide else angles
        ax.add_patch(Arc((0, 0), 1, 1, theta1=first, theta2=last, color=MUTED, lw=1.5))
        (a, b), (c, d) = ends
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), xticks=[], yticks=[], aspect="equal")
        ax.spines[:].set_visible(False)
        ax.plot([0], [0], marker="o", color=INK, markersize=3)
        product = write_number(round(a * c + b * d, 2))
        ax.set_xlabel(f"{other - at} apart: $q^\\top k$ = {product}")
    return fig


def turned(vector: Vector, degrees: Number) -> Point:
    """Return a vector of two features after a turn to the left."""
    x, y = vector
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return x * cosine - y * sine, x * sine + y * cosine


def draw_norms(panels: Mapping[str, Vector]) -> Figure:
    """Draw the features of a token before and after norms, a panel each, on one scale."""
    fig, axes = new_figure(1, len(panels), width=WIDE, height=2.3)
    for place, (ax, (name, values)) in enumerate(zip(axes, panels.items(), strict=True)):
        color, hatch = ((NEUTRAL, ""), (SECOND, "///"), (FIRST, ""))[min(place, 2)]
        high = max(map(abs, values))
        for spot, value in enumerate(values):
            shown = round(value, 2)
            ax.bar(spot, shown, color=to_rgba(color, 0.5), edgecolor=color, hatch=hatch, width=0.8)
            edge = "bottom" if shown >= 0 else "top"
            text = f"{shown:g}".replace("-", "−")
            write(ax, spot, shown + math.copysign(0.05 * high, shown), text, height=edge)
        ax.axhline(0, color=INK, lw=1, ls="-", marker="")
        ax.set(ylim=(-1.45 * high, 1.45 * high), xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        ax.set_title(name, loc="center")
    return fig


def draw_heads(num_heads: int, groupings: Mapping[str, int]) -> Figure:
    """Draw query heads above the heads of keys and values that they share, a panel per grouping."""
    fig, ax = new_canvas(64, 15.5, width=WIDE)
    width = 62 / len(groupings)
    step = (width - 3) / num_heads
    for place, (name, shared) in enumerate(groupings.items()):
        left = 1 + place * width
        spots = [left + step * (head + 0.5) for head in range(num_heads)]
        group = num_heads // shared
        for owner in range(shared):
            mine = spots[owner * group : (owner + 1) * group]
            x = sum(mine) / len(mine)
            for spot in mine:
                draw_line(ax, (spot, 9.6), (x, 6.2), color=NEUTRAL)
            for offset, color, hatch in ((-0.85, KEY, ""), (0.85, VALUE, "///")):
                draw_area(ax, (x + offset - 0.7, 3.2), 1.4, 3.0, color, 0.45, hatch=hatch, zorder=2)
        for spot in spots:
            ax.add_patch(Circle((spot, 10.4), 0.85, facecolor=to_rgba(QUERY, 0.5), edgecolor=QUERY, zorder=2))
        middle = left + (width - 3) / 2
        write(ax, middle, 13.6, name, weight="bold")
        write(ax, middle, 1.4, f"cache: {2 * shared} vectors", color=MUTED)
    return fig


def draw_masks(masks: Mapping[str, Float[Tensor, "queries keys"]]) -> Figure:
    """Draw masks side by side, one panel each: 1 where a query sees a key, 2 where it does by a detour.

    What a query doesn't see is 0, and hatched.
    """
    fig, ax = new_canvas(64, 21, width=WIDE)
    pitch = 62.5 / len(masks)
    side = pitch - 2.5
    looks = (HIDDEN, SEEN, DETOUR)
    for place, (name, mask) in enumerate(masks.items()):
        size, left = side / len(mask), 2.8 + place * pitch
        for row, line in enumerate(mask.tolist()):
            for column, seen in enumerate(line):
                spot = left + column * size, 3.4 + (len(mask) - 1 - row) * size
                ax.add_patch(Rectangle(spot, size, size, lw=0.7, **looks[int(seen)]))
        write(ax, left + side / 2, 5.3 + side, name, weight="bold")
        write(ax, left + side / 2, 1.8, "keys", color=KEY_TEXT)
    write(ax, 1.4, 3.4 + side / 2, "queries", color=QUERY_TEXT, rotation=90)
    return fig


def draw_routes(panels: Mapping[str, Int[Tensor, "tokens top_k"]], num_experts: int, shown: int) -> Figure:
    """Draw which experts the first tokens go to, a row each, and how often all tokens choose each expert.

    A line marks equal shares.
    """
    fig, ax = new_canvas(64, 36, width=WIDE)
    width, height, scale = 3.3, 1.6, 15.0
    for place, (name, chosen) in enumerate(panels.items()):
        left = 3.6 + place * 33
        write(ax, left + 4 * width, 34.6, name, weight="bold")
        for row in range(shown):
            for expert in range(num_experts):
                spot = left + expert * width, 32.6 - (row + 1) * height
                face = to_rgba(FIRST, 0.55) if expert in chosen[row] else "none"
                ax.add_patch(Rectangle(spot, width, height, facecolor=face, edgecolor=NEUTRAL, lw=0.7))
        counts = chosen.flatten().bincount(minlength=num_experts)
        for expert, share in enumerate((counts / chosen.numel()).tolist()):
            corner = left + (expert + 0.15) * width, 4.4
            draw_area(ax, corner, 0.7 * width, scale * round(share, 2), FIRST, 0.55)
            write(ax, left + (expert + 0.5) * width, 3.1, str(expert + 1))
        level = 4.4 + scale / num_experts
        draw_line(ax, (left, level), (left + num_experts * width, level), color=SECOND)
        write(ax, left + 4 * width, 1.1, "experts", color=MUTED)
    write(ax, 2.0, 32.6 - shown * height / 2, "symbols", color=MUTED, rotation=90)
    write(ax, 2.0, 8.2, "choices", color=MUTED, rotation=90)
    return fig
