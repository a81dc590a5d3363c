"""The drawings of the chapter on looking inside a trained model."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float, Int
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from annotated_transformer.book.drawing.boxes import Box, draw_weight_arrow
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import Words, write, write_beside
from annotated_transformer.plotting.attention_map import SHADE, draw_attention, heat
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import (
    FIRST,
    HEAT_INK_HIGH,
    HEAT_INK_LOW,
    HEAT_SWITCH,
    MASKED,
    MUTED,
    NEUTRAL,
    PAPER,
    SECOND,
)

SYMBOLS = "ABCDEFGHIJKLMNOP"
LEAST = 0.03  # lighter cells of small maps are left out
SEEN = 0.05  # the least weight of a line to the first token
KIND_NAMES = {"encoder": "encoder", "decoder": "decoder, self", "cross": "cross"}


def draw_stripes(
    maps: Mapping[str, Float[Tensor, "queries keys"]],
    ids: Int[Tensor, " queries"],
    *,
    period: int,
    below: Words,
) -> Figure:
    """Draw two maps of one sequence side by side, with the key after the earlier copy of each query outlined.

    `below` has a line of text for each map.
    """
    fig, _ = new_figure(1, len(maps), width=WIDE, height=3.9)
    symbols = [SYMBOLS[i] for i in ids]
    for ax, (title, weights), text in zip(fig.axes, maps.items(), below, strict=True):
        draw_attention(ax, weights, symbols, symbols, print_values=False)
        for query in range(period, len(symbols)):
            ax.add_patch(
                Rectangle((query - period + 1, query), 1, 1, fill=False, edgecolor=SECOND, linewidth=2)
            )
        ax.set(xlabel="", ylabel="")
        ax.set_title(title, pad=22)
        write_beside(ax, (0.5, 0), (0, -6), text, "center", "top", xycoords="axes fraction", weight="bold")
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
    fig, axes = new_figure(layers, heads, width=WIDE, height=1.4 * layers)
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
    """Draw what reaches the first token through the layers of each reader: arrows as wide as the weights.

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
                        draw_weight_arrow(ax, (ends[0], y + 0.8), (ends[1], y + 3.9), weight, color=FIRST)
                        seen.add(key)
                draw_token(query, y + 3.9, lit=True)
            write(ax, 4.3, y + 2.3, f"layer {layer + 1}", "right", color=MUTED)
            read = seen
        for place in range(len(words)):
            draw_token(place, low, lit=place in read)
        top -= height
    return fig
