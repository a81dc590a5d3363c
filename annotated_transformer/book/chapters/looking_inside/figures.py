"""The drawings of the chapter on looking inside a trained model."""

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from textwrap import fill
from typing import Any

from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle
from torch import Tensor

from annotated_transformer.book.drawing.boxes import Box, draw_weight
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import LINE, Curves, Words, label_ends, write, write_beside
from annotated_transformer.plotting.attention_map import SHADE, draw_attention, heat
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import (
    FIRST,
    HEAT_INK_HIGH,
    HEAT_INK_LOW,
    HEAT_SWITCH,
    INK,
    LOOKS,
    MASKED,
    MUTED,
    NEUTRAL,
    PAPER,
    SECOND,
)

SHARPLY = 0.05  # heads whose entropies differ by less are equally sharp
LEAST = 0.03  # lighter cells of small maps are left out
SEEN = 0.05  # the least weight of a line to the first token
WRAPPED = 22  # letters of a translation in a line
KIND_NAMES = {"encoder": "encoder", "decoder": "decoder, self", "cross": "cross"}
Spots = list[tuple[float, float]]
# At which of its marks a kind's name stands, and how many points away.
NAMED_AT: Mapping[str, tuple[Callable[[Spots], tuple[float, float]], tuple[int, int]]] = {
    "encoder": (lambda spots: spots[-1], (4, 24)),
    "decoder": (lambda spots: spots[0], (34, 24)),
    "cross": (lambda spots: max(spots, key=lambda spot: spot[1]), (-32, 0)),
}


def draw_stripes(
    maps: Mapping[str, Float[Tensor, "queries keys"]], symbols: str, *, period: int, below: Words
) -> Figure:
    """Draw two maps of one sequence side by side, with the key after the earlier copy of each query outlined.

    `below` has a line of text for each map.
    """
    fig, _ = new_figure(1, len(maps), height=3.15)
    for ax, (title, weights), text in zip(fig.axes, maps.items(), below, strict=True):
        draw_attention(ax, weights, list(symbols), list(symbols))
        for query in range(period, len(symbols)):
            ax.add_patch(
                Rectangle((query - period + 1, query), 1, 1, fill=False, edgecolor=SECOND, linewidth=1.4)
            )
        ax.set(xlabel="", ylabel="")
        ax.set_title(title, pad=22)
        write_beside(ax, (0.5, 0), (0, -6), text, "center", "top", xycoords="axes fraction", color=MUTED)
    return fig


def draw_one_head(
    weights: Float[Tensor, "queries keys"], queries: Words, keys: Words, outcomes: Mapping[str, str]
) -> Figure:
    """Draw the map of one head, and beside it some texts, such as translations with and without the head."""
    fig, ax = new_figure(width=WIDE, height=3.3)
    draw_attention(ax, weights, queries, keys, print_values=False)
    ax.set(xlabel="", ylabel="", anchor="W")
    for place, (name, text) in enumerate(outcomes.items()):
        spot = {"xycoords": "axes fraction", "height": "top"}
        top = 0.9 - 0.5 * place
        write_beside(ax, (1, top), (24, 0), name, color=MUTED, **spot)
        write_beside(ax, (1, top), (24, -LINE - 4), fill(text, WRAPPED), weight="bold", **spot)
    return fig


def draw_wall(
    maps: Float[Tensor, "layers heads queries keys"],
    losses: Sequence[Sequence[float]],
    *,
    framed: tuple[int, int],
) -> Figure:
    """Draw the map of each head, a row for each layer, and below it the change in BLEU without the head.

    `framed` is a layer and a head of it, counted from 0.
    """
    layers, heads = len(maps), len(maps[0])
    fig, axes = new_figure(layers, heads, height=1.12 * layers)
    for layer, row in enumerate(axes):
        for head, ax in enumerate(row):
            lost = round(losses[layer][head], 1)
            for query, weights in enumerate(maps[layer, head].tolist()):
                for key, exact in enumerate(weights):
                    weight = round(exact, 2)
                    if weight < LEAST:
                        continue
                    cell = Rectangle((key, query), 1, 1, facecolor=heat(weight), lw=0)
                    cell.set_gid(f"{SHADE}|{weight}")
                    ax.add_patch(cell)
            ax.set(xlim=(0, maps.size(3)), ylim=(maps.size(2), 0), aspect="equal", xticks=[], yticks=[])
            ax.spines[:].set_visible(True)
            most = (layer, head) == framed
            ax.spines[:].set(color=SECOND if most else MASKED, linewidth=3 if most else 0.8)
            sign = "−" if lost > 0 else "+" if lost < 0 else "±"
            ax.set_xlabel(f"{sign}{abs(lost):.1f}", labelpad=2, weight="bold" if most else "normal")
            if head == 0:
                ax.set_ylabel(f"layer {layer + 1}")
    return fig


def draw_maps_and_losses(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw a mark for each head: the entropy of its map, and the BLEU that is lost without it.

    An arrow joins the two heads, among those with nearly the same entropy, whose losses differ most.
    """
    fig, ax = new_figure(height=3.7)
    for (kind, name), (color, _, mark) in zip(KIND_NAMES.items(), cycle(LOOKS), strict=False):
        own = sorted((round(row["entropy"], 2), round(row["lost"], 2)) for row in rows if row["kind"] == kind)
        if not own:
            continue
        across, up = zip(*own, strict=True)
        ax.plot(across, up, color=color, marker=mark, ls="", label=name, alpha=0.8, clip_on=False)
        place, offset = NAMED_AT[kind]
        write_beside(ax, place(own), offset, name, "center", "center")
    ax.axhline(0, color=NEUTRAL, lw=1, ls="-", marker="", zorder=0)
    ax.set(xlabel="entropy of the head's weights (nats)", ylabel="BLEU lost without the head", xlim=(0, None))
    needed, spare = alike(rows)
    ends = [(round(row["entropy"], 2), round(row["lost"], 2)) for row in (needed, spare)]
    arrow = FancyArrowPatch(
        *ends, arrowstyle="<->", mutation_scale=14, color=INK, lw=1.5, shrinkA=5, shrinkB=5
    )
    ax.add_patch(arrow)
    gap = f"equally sharp,\n{needed['lost'] - spare['lost']:.1f} BLEU apart"
    middle = sum(end[0] for end in ends) / 2, sum(end[1] for end in ends) / 2
    write_beside(ax, middle, (-12, 10), gap, "right", "center", weight="bold")
    return fig


def alike(rows: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the two heads whose losses differ most among those whose entropies differ by less than 0.05."""
    pairs = [
        (one, other) for one in rows for other in rows if abs(one["entropy"] - other["entropy"]) < SHARPLY
    ]
    return max(pairs, key=lambda pair: pair[0]["lost"] - pair[1]["lost"])


def draw_pruning(counts: Sequence[int], orders: Mapping[str, Sequence[Sequence[float]]]) -> Figure:
    """Draw BLEU against the number of heads switched off; of several runs, the middle one and the range.

    The names of the orders stand at their lines where half of the heads are off, with the BLEU there.
    """
    fig, ax = new_figure(width=WIDE, height=3.4)
    half = len(counts) // 2
    ax.axvline(counts[half], color=MUTED, lw=1, ls=":", marker="", zorder=0)
    places = ((14, 46), (60, 18), (-70, -42))  # of the names, in points from the lines
    for (name, runs), (color, style, mark), place in zip(
        orders.items(), cycle(LOOKS), cycle(places), strict=False
    ):
        columns = [sorted(values) for values in zip(*runs, strict=True)]
        middle = [round(values[len(values) // 2], 1) for values in columns]
        if len(runs) > 1:
            low, high = ([round(values[end], 1) for values in columns] for end in (0, -1))
            ax.fill_between(counts, low, high, color=color, alpha=0.12, lw=0)
        ax.plot(counts, middle, color=color, ls=style, marker=mark, label=name, clip_on=False, markersize=5)
        ax.annotate(
            f"{name}: {middle[half]:.0f} BLEU", (counts[half], middle[half]), place,
            textcoords="offset points", ha="left" if place[0] > 0 else "right", va="center",
            arrowprops={"arrowstyle": "-", "color": MUTED, "lw": 1, "shrinkA": 2, "shrinkB": 4},
        )  # fmt: skip
    ax.set(ylabel="BLEU", ylim=(0, None), xlim=(0, counts[-1]))
    look = {"xycoords": ("data", "axes fraction"), "color": MUTED}
    write_beside(ax, (counts[half], 1), (6, -2), "half of the heads off", "left", "top", **look)
    ax.set_xlabel(f"heads switched off, of {counts[-1]}")
    return fig


def draw_restored(panels: Mapping[str, Float[Tensor, "depths tokens"]], words: Sequence[Words]) -> Figure:
    """Draw the fraction that each patch restores, for each pair of sentences: the lowest depth at the bottom.

    An arrow leads from the token that restores most at the bottom to the one that does at the top.
    """
    rows = (len(panels) + 1) // 2
    fig, axes = new_figure(rows, 2, width=WIDE, height=2.9 * rows)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for ax, (title, shares), names in zip(axes.flat, panels.items(), words, strict=False):
        depths, tokens = shares.shape
        for depth, values in enumerate(shares.tolist()):
            for token, share in enumerate(values):
                shown = round(share, 1) + 0.0  # without a negative zero
                weight = min(1.0, max(0.0, shown))
                cell = Rectangle((token, depth), 1, 1, edgecolor=MASKED, lw=0.5, facecolor=heat(weight))
                cell.set_gid(f"{SHADE}|{weight}")
                ax.add_patch(cell)
                ink = HEAT_INK_HIGH if weight > HEAT_SWITCH else HEAT_INK_LOW
                if shown:
                    write(ax, token + 0.5, depth + 0.5, f"{shown:.1f}".replace("-", "−"), color=ink)
        start, end = int(shares[0].argmax()), int(shares[-1].argmax())
        ax.set(xlim=(0, tokens), ylim=(0, depths + 0.1))
        ax.set_title(title, loc="left", pad=26)
        stays = f"stays at “{names[end]}”" if start == end else f"from “{names[start]}” to “{names[end]}”"
        write_beside(ax, (0, 1), (0, 10), stays, "left", "center", xycoords="axes fraction", color=MUTED)
        if start != end:
            ends = (end + 0.5, 1.0), (start + (0.05 if end < start else 0.95), 0.4)
            bend = -0.4 if end < start else 0.4
            bent = {"arrowstyle": "-|>", "connectionstyle": f"arc3,rad={bend}", "color": SECOND, "lw": 2.5}
            ax.annotate("", *ends, arrowprops=bent)
        ax.set_xticks([token + 0.5 for token in range(tokens)], names)
        first = ax is axes.flat[0]
        ax.set_yticks([depth + 0.5 for depth in range(depths)], [str(depth) for depth in range(depths)])
        ax.tick_params(length=0, labelleft=first)
        ax.set_ylabel("depth" if first else "")
        ax.spines[:].set_visible(False)
    return fig


def draw_readers(readers: Mapping[str, Sequence[Float[Tensor, "queries keys"]]], words: Words) -> Figure:
    """Draw what reaches the first token through the layers of each reader: lines as wide as the weights.

    Of a layer, the rows of those tokens are drawn that the layer above reads; lighter weights are not.
    """
    pitch = max(2.2, 0.42 * max(map(len, words)) + 0.6)
    heights = [4.6 * len(maps) + 3.6 for maps in readers.values()]
    fig, ax = new_canvas(pitch * len(words) + 4.8, sum(heights), width=WIDE)

    def draw_token(place: int, y: float, *, lit: bool) -> None:
        box = Box(4.7 + pitch * place, y, pitch - 0.2, 1.5)
        ax.add_patch(Rectangle(box[:2], *box[2:], facecolor=PAPER, edgecolor=NEUTRAL, lw=1, zorder=3))
        weight = "bold" if lit else "normal"
        write(ax, *box.center, words[place], weight=weight, zorder=4)

    top = sum(heights)
    for (name, maps), height in zip(readers.items(), heights, strict=True):
        low = top - height + 0.6
        write(ax, 0.1, top - 0.8, name, "left", weight="bold")
        read = {0}
        for layer in reversed(range(len(maps))):
            y = low + 4.6 * layer + 0.7
            rows, seen = maps[layer].tolist(), set()
            for query in sorted(read):
                for key, weight in enumerate(rows[query]):
                    if weight >= SEEN:
                        ends = [4.6 + pitch * (place + 0.5) for place in (key, query)]
                        draw_weight(ax, (ends[0], y + 0.8), (ends[1], y + 3.9), weight, color=FIRST)
                        seen.add(key)
                draw_token(query, y + 3.9, lit=True)
            write(ax, 4.3, y + 2.3, f"layer {layer + 1}", "right", color=MUTED)
            read = seen
        for place in range(len(words)):
            draw_token(place, low, lit=place in read)
        top -= height
    return fig


def draw_lens(shares: Curves) -> Figure:
    """Draw at each depth how often the lens's likeliest token is the last input, or the final prediction."""
    fig, ax = new_figure(width=WIDE, height=2.8)
    for (name, values), color, style, mark in zip(
        shares.items(), (FIRST, SECOND), ("-", "--"), ("o", "s"), strict=True
    ):
        shown = [round(value, 2) for value in values]
        ax.plot(range(len(shown)), shown, color=color, ls=style, marker=mark, label=name, clip_on=False)
    ax.set(xlabel="decoder layers passed", ylabel="share of positions", ylim=(-0.03, 1.03))
    ax.set(xticks=range(len(shown)), yticks=[0, 0.5, 1], yticklabels=["0", "½", "1"])
    label_ends(ax)
    return fig
