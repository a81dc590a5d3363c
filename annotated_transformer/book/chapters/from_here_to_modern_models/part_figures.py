"""The drawings of single parts in chapter 22: norms, rotations, heads, gates, masks, experts, patches."""

import math
from collections.abc import Mapping, Sequence

from jaxtyping import Bool, Float, Int
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Circle, Rectangle
from torch import Tensor

from annotated_transformer.book.drawing.boxes import Number, Point, draw_area, draw_arrow, draw_line, draw_tip
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import draw_matrix
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
        product = f"{a * c + b * d:.2f}".replace("-", "−")
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


def draw_widths(d_model: int, plain: int, gated: int) -> Figure:
    """Draw the matrices of a plain and of a gated network, as wide as they are, and count their weights."""
    fig, ax = new_canvas(64, 19, width=WIDE)
    scale = (64 - 13.4) / (2 * plain + 3 * gated)
    high = 9.0
    for x, names, d_ff, color in (
        (1.0, ("$W_1$", "$W_2$"), plain, SECOND),
        (2 * scale * plain + 8.4, ("$W_g$", "$W_1$", "$W_2$"), gated, FIRST),
    ):
        step = scale * d_ff + 1.2
        for place, name in enumerate(names):
            box = (x + place * step, 5.0), scale * d_ff, high
            draw_area(ax, *box, color, 0.3, lw=2)
            write(ax, box[0][0] + box[1] / 2, 9.5, name)
        end = x + len(names) * step - 1.2
        count = len(names) * d_model * d_ff
        write(ax, (x + end) / 2, 16.4, f"{len(names)} × {d_model} × {d_ff}", weight="bold")
        write(ax, (x + end) / 2, 2.8, f"{count:,} weights", color=MUTED)
    return fig


def draw_masks(masks: Mapping[str, Bool[Tensor, "queries keys"]]) -> Figure:
    """Draw masks side by side: filled where a query may look, hatched where it may not."""
    fig, ax = new_canvas(64, 24, width=WIDE)
    pitch = 64 / len(masks)
    for place, (name, mask) in enumerate(masks.items()):
        count = len(mask)
        size = 15.0 / count
        left = place * pitch + (pitch - 15) / 2
        for row, line in enumerate(mask.tolist()):
            for column, seen in enumerate(line):
                spot = left + column * size, 3.6 + (count - 1 - row) * size
                ax.add_patch(Rectangle(spot, size, size, lw=0.7, **(SEEN if seen else HIDDEN)))
        write(ax, left + 7.5, 21.6, name, weight="bold")
        write(ax, left + 7.5, 1.8, "keys", color=KEY_TEXT)
        write(ax, left - 1.0, 11.1, "queries", color=QUERY_TEXT, rotation=90)
    return fig


def draw_reach(reached: Int[Tensor, "depths tokens"], window: int) -> Figure:
    """Draw which inputs can change the last token's vector after each layer, one row per depth."""
    depths, tokens = reached.shape
    fig, ax = new_canvas(64, 3.6 * depths + 3.4, width=WIDE)
    size = 50.0 / tokens
    for depth, line in enumerate(reached.tolist()):
        y = 2.6 + 3.6 * (depths - 1 - depth)
        for token, lit in enumerate(line):
            spot, face = (11 + token * size, y), to_rgba(FIRST, 0.55) if lit else "none"
            ax.add_patch(Rectangle(spot, size, 2.8, facecolor=face, edgecolor=NEUTRAL, lw=0.7))
        write(ax, 10.4, y + 1.4, f"{depth + 1} layer" + "s" * (depth > 0), "right")
        write(ax, 61.6, y + 1.4, f"{sum(line)}", "left", weight="bold")
    write(ax, 11, 1.2, f"tokens; each attends to {window}, itself included", "left", color=MUTED)
    return fig


def draw_routes(
    words: Sequence[str], shares: Float[Tensor, "tokens experts"], chosen: Int[Tensor, "tokens top_k"]
) -> Figure:
    """Draw how a router divides each token among experts; a likelier choice has a stronger color."""
    fig, ax = new_canvas(14, 0.8 * len(words) + 2.2)
    count = shares.size(1)
    empty = [[""] * count for _ in words]
    size = 9.6 / count, 0.8
    names = [str(n + 1) for n in range(count)]
    draw_matrix(ax, 3.6, 0.9, empty, color=FIRST, rows=words, columns=names, size=size)
    for row, picks in enumerate(chosen.tolist()):
        for pick in picks:
            spot = 3.6 + pick * size[0], 0.9 + (len(words) - 1 - row) * 0.8
            strength = 0.2 + 0.8 * round(float(shares[row, pick]), 2)
            draw_area(ax, spot, *size, FIRST, strength, lw=1.5, zorder=3)
    write(ax, 3.6 + 4.8, 0.4, "experts: the empty ones are not computed", color=MUTED)
    return fig


def draw_patches(image: Float[Tensor, "height width"], patch: int) -> Figure:
    """Draw an image, the cuts, and the patches in a row, as the tokens that they become."""
    fig, ax = new_canvas(64, 21, width=WIDE)
    side = image.size(0)
    pixel = 14.0 / side
    per_row = side // patch

    def draw_part(rows: range, columns: range, x: float, y: float) -> None:
        for row in rows:
            for column in columns:
                spot = x + (column - columns.start) * pixel, y + (rows.stop - 1 - row) * pixel
                share = float(image[row, column].clamp(0, 1))
                draw_area(ax, spot, pixel, pixel, FIRST, 0.08 + 0.8 * share, edgecolor="none")

    draw_part(range(side), range(side), 1.5, 4.5)
    for cut in range(per_row + 1):
        at = cut * patch * pixel
        draw_line(ax, (1.5 + at, 4.5), (1.5 + at, 18.5))
        draw_line(ax, (1.5, 4.5 + at), (15.5, 4.5 + at))
    draw_arrow(ax, (17, 11.5), (21, 11.5))
    width = patch * pixel
    pitch = (62.5 - 22) / per_row**2
    shrink = min(1.0, (pitch - 0.6) / width)
    pixel *= shrink
    for number in range(per_row**2):
        top, left = divmod(number, per_row)
        rows, columns = range(top * patch, (top + 1) * patch), range(left * patch, (left + 1) * patch)
        x = 22.5 + number * pitch
        corner, edge = (x, 11.5 - patch * pixel / 2), patch * pixel
        draw_part(rows, columns, *corner)
        ax.add_patch(Rectangle(corner, edge, edge, fill=False, edgecolor=INK, lw=1))
        write(ax, x + patch * pixel / 2, 6.0, str(number), color=MUTED)
    write(ax, 8.5, 2.4, f"{side} × {side} pixels", color=MUTED)
    write(ax, 42.5, 2.4, f"{per_row**2} tokens of {patch * patch} numbers", color=MUTED)
    return fig
