"""The drawings of the chapter on decoding."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.plotting.palette import (
    FIRST,
    INK,
    KEY,
    MUTED,
    NEUTRAL,
    QUERY,
    SECOND,
    VALUE,
)

Table = Mapping[str, Mapping[str, float]]  # the next words of each text so far, with their probabilities
Step = tuple[Mapping[str, float], Sequence[str]]  # all continuations with their probabilities, and those kept

ROW, COLUMN, HALF = 1.4, 2.25, 0.95  # of the tree: distances, and half the width of a word


def draw_tree(table: Table, steps: Sequence[Step], *, end: str) -> Figure:
    """Draw all texts of a table as a tree, and what a search kept and dropped in its first steps.

    Texts that the search has not computed are pale. What it dropped is crossed out, and the best text that it
    has finished is framed.
    """
    nodes = _nodes(table, "", end)
    leaves = [text for text in nodes if text.endswith(end)]
    fig, ax = new_canvas(COLUMN * max(len(leaf.split()) for leaf in leaves) + 0.6, ROW * len(leaves) + 0.1)
    computed = {text: share for continued, _ in steps for text, share in continued.items()}
    kept = {text for _, chosen in steps for text in chosen}
    best = max((text for text in kept if text.endswith(end)), key=computed.__getitem__, default=None)
    places = {"": (0.1, _height("", leaves))}
    for text in nodes:
        words = text.split()
        x, y = COLUMN * len(words) - 0.6, _height(text, leaves)
        places[text] = x, y
        left, start = places[" ".join(words[:-1])]
        left += HALF if words[:-1] else 0.0
        look = {"color": NEUTRAL, "ls": ":", "lw": 1.2}
        if text in computed:
            look = {"color": QUERY, "ls": "--", "lw": 1.5}
        if text in kept:
            look = {"color": FIRST, "ls": "-", "lw": 2.5}
        ax.plot([left, x - HALF], [start, y], marker="", **look)  # type: ignore[arg-type]
        ink, weight = INK if text in computed else MUTED, "bold" if text in kept else "normal"
        word = "end" if words[-1] == end else words[-1]
        ax.text(x, y + 0.3, word, ha="center", va="center", color=ink, weight=weight)
        if text in computed:
            share = f"{computed[text]:.3f}".rstrip("0")
            share = share if text in kept else f"✕ {share}"
            ax.text(x, y - 0.3, share, ha="center", va="center", color=ink, weight=weight)
        if text == best:
            frame = (x - HALF, y - 0.62), 2 * HALF, 1.24
            ax.add_patch(Rectangle(*frame, fill=False, edgecolor=VALUE, lw=2.5))
    return fig


def _nodes(table: Table, text: str, end: str) -> list[str]:
    """Return all continuations of a text, each after the one that it continues."""
    if text.endswith(end):
        return []
    continued = [f"{text} {word}".strip() for word in table.get(text, {end: 1.0})]
    return [node for child in continued for node in (child, *_nodes(table, child, end))]


def _height(text: str, leaves: Sequence[str]) -> float:
    below = [row for row, leaf in enumerate(leaves) if f"{leaf} ".startswith(f"{text} ".lstrip())]
    return ROW * (len(leaves) - 1 - sum(below) / len(below)) + 0.7


def draw_outputs(
    panels: Mapping[str, Sequence[tuple[float, float]]], *, beams: Sequence[int], words: tuple[str, str]
) -> Figure:
    """Draw, for each beam size, the shares of two kinds of outputs as a bar, one panel for each setting."""
    fig, _ = new_figure(len(panels), 1, height=1.75 * len(panels))
    for ax, (title, pairs) in zip(fig.axes, panels.items(), strict=True):
        for place, pair in enumerate(pairs):
            first, second = (round(100 * share) for share in pair)
            looks = ((first, 0, VALUE, ""), (second, first, QUERY, "///"))
            for share, start, color, hatch in looks:
                face = to_rgba(color, 0.55)
                ax.bar(place, share, bottom=start, color=face, edgecolor=INK, hatch=hatch, width=0.7)
        ax.set_title(title, loc="left")
        ax.set(ylim=(0, 100), yticks=[0, 50, 100], ylabel="percent")
        ax.set_xticks(range(len(beams)), [str(beam) for beam in beams])
    ax.set_xlabel("beam size")
    keys = [
        Rectangle((0, 0), 1, 1, facecolor=to_rgba(color, 0.55), edgecolor=INK, hatch=hatch)
        for color, hatch in ((VALUE, ""), (QUERY, "///"))
    ]
    fig.legend(keys, words, loc="outside upper left", ncols=2)
    return fig


def draw_processed(panels: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw one distribution after each of several changes, above an outline of the first one."""
    fig, axes = new_figure((len(panels) + 1) // 2, 2, height=2.2 * ((len(panels) + 1) // 2))
    unchanged = next(iter(panels.values()))
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for number, (ax, (title, shares)) in enumerate(zip(axes.flat, panels.items(), strict=False)):
        for place, word in enumerate(unchanged):
            before, share = round(unchanged[word], 3), round(shares[word], 3)
            ax.barh(place, before, facecolor="none", edgecolor=MUTED, ls="--", height=0.75)
            if share:
                ax.barh(place, share, color=to_rgba(FIRST, 0.6), edgecolor=INK, height=0.45)
            ax.text(max(before, share) + 0.03, place, f"{share:.2f}", ha="left", va="center")
        ax.set_title(title, loc="left")
        ax.set(xlim=(0, 1), ylim=(len(unchanged) - 0.5, -0.5), xticks=[])
        ax.set_yticks(range(len(unchanged)), list(unchanged) if number % 2 == 0 else [""] * len(unchanged))
        ax.tick_params(axis="y", length=0)
        ax.spines["bottom"].set_visible(False)
    return fig


def draw_cache(words: Sequence[str]) -> Figure:
    """Draw which positions each step computes without a cache, and with one."""
    count = len(words)
    fig, ax = new_canvas(2 * count + 4.4, count + 4.0)
    for left, title, cached in (
        (1.3, "without a cache", False),
        (count + 3.2, "with a cache", True),
    ):
        ax.text(left, count + 3.6, title, ha="left", va="center", weight="bold")
        filled = 0
        for step in range(count):
            y = float(count - step)
            ax.text(left - 0.25, y + 0.5, str(step + 1), ha="right", va="center", color=MUTED)
            for position in range(step + 1):
                computed = not cached or position == step
                filled += computed
                _draw_state(ax, left + position, y, computed)
        for position, word in enumerate(words):
            ax.text(left + position + 0.5, count + 1.2, word, ha="center", va="bottom", rotation=90)
        ax.text(left, 0.45, f"{filled} computed", ha="left", va="center")
    return fig


def _draw_state(ax: Axes, x: float, y: float, computed: bool) -> None:
    """Draw a position that a step computes, or whose keys and values it reads from the cache."""
    color, hatch, alpha = (SECOND, "", 0.85) if computed else (KEY, "..", 0.15)
    face = to_rgba(color, alpha)
    ax.add_patch(Rectangle((x, y), 1, 1, facecolor=face, edgecolor=INK, hatch=hatch, lw=1))
