"""The drawings of single steps in the chapter on decoding: what they draw, repeat, and compute."""

from collections.abc import Mapping, Sequence

from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from annotated_transformer.book.drawing.boxes import draw_area, draw_arrow, draw_box
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import name_rows, write
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import FIRST, INK, KEY, MASKED, MUTED, SECOND


def draw_processed(panels: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw one distribution after each of several changes, above an outline of the first one."""
    count = (len(panels) + 2) // 3
    fig, axes = new_figure(count, 3, width=WIDE, height=2.0 * count)
    unchanged = next(iter(panels.values()))
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for number, (ax, (title, shares)) in enumerate(zip(axes.flat, panels.items(), strict=False)):
        for place, word in enumerate(unchanged):
            before, share = round(unchanged[word], 3), round(shares[word], 3)
            edge, hatch = (MUTED, "") if share else (MASKED, "/////")
            ax.barh(place, before, facecolor="none", edgecolor=edge, hatch=hatch, ls="--", height=0.75)
            if share:
                ax.barh(place, share, color=to_rgba(FIRST, 0.6), edgecolor=INK, height=0.45)
            number_text = f"{share:.2f}" if share else "removed"
            write(ax, max(before, share) + 0.03, place, number_text, "left")
        ax.set_title(title, loc="left")
        ax.set(xlim=(0, 1.25), ylim=(len(unchanged) - 0.5, -0.5), xticks=[])
        name_rows(ax, unchanged, shown=number % 3 == 0)
        ax.spines["bottom"].set_visible(False)
    return fig


def draw_cache(words: Sequence[str]) -> Figure:
    """Draw which positions each step computes without a cache, and with one, where it reads the others."""
    count = len(words)
    fig, ax = new_canvas(2 * count + 4.4, count + 4.0)
    for left, title, cached in ((1.3, "without a cache", False), (count + 3.2, "with a cache", True)):
        write(ax, left, count + 3.6, title, "left", weight="bold")
        filled = 0
        for step in range(count):
            y = float(count - step)
            write(ax, left - 0.25, y + 0.5, str(step + 1), "right", color=MUTED)
            for position in range(step + 1):
                computed = not cached or position == step
                filled += computed
                color, hatch, share = (FIRST, "", 0.6) if computed else (KEY, "\\\\", 0.15)
                corner = left + position, y
                draw_area(ax, corner, 1, 1, color, share, edgecolor=INK, hatch=hatch, lw=1)
        for position, word in enumerate(words):
            write(ax, left + position + 0.5, count + 1.2, word, height="bottom", rotation=90)
        write(ax, left, 0.45, f"{filled} computed", "left")
    return fig


def draw_loop(word: str, other: str, again: float, *, steps: int) -> Figure:
    """Draw a word that is likeliest to follow itself, and how likely the text is after each of some steps."""
    fig, ax = new_canvas(46, 20)
    start = draw_box(ax, 3.5, 6, 8, 4, word)
    out = draw_box(ax, 3.5, 0.3, 8, 3.4, other)
    ax.annotate("", (10.5, 10), (4.5, 10), arrowprops={
        "arrowstyle": "-|>", "connectionstyle": "arc3,rad=-1.4", "color": FIRST, "lw": 3})  # fmt: skip
    write(ax, 7.5, 15.0, f"{again:g} (greedy)", height="bottom", weight="bold")
    draw_arrow(ax, start, out, f"{1 - again:g}")
    left, base, high = 18.0, 3.5, 19.0
    shares = [again**step for step in range(1, steps + 1)]
    wide = 26 / steps
    for place, share in enumerate(shares):
        x = left + wide * place
        draw_area(ax, (x, base), 0.75 * wide, high * round(share, 4), FIRST, 0.5)
        write(ax, x + 0.38 * wide, base - 0.5, str(place + 1), height="top")
    rival = again * (1 - again)
    ax.plot([left, left + 26], [base + high * round(rival, 4)] * 2, color=SECOND, ls="--", marker="")
    write(ax, left + 26, base + high * rival + 0.5, f"{word} {other}: {rival:.2f}", "right", "bottom")
    write(ax, left, base + high * shares[0] + 0.6, f"{shares[0]:g}", "left", "bottom")
    write(ax, left + 26, 18.3, f"probability of n times {word}", "right", color=MUTED)
    return fig


def draw_rows(lengths: Sequence[int]) -> Figure:
    """Draw the rows of a batch over the steps: computed until a row ends, and then taken out of the batch."""
    most = max(lengths)
    cell = 36.0 / most
    fig, ax = new_canvas(46, 1.8 * len(lengths) + 6)
    for row, length in enumerate(lengths):
        y = 1.8 * (len(lengths) - 1 - row) + 3.0
        write(ax, 6.5, y + 0.8, str(row + 1), "right", color=MUTED)
        for step in range(most):
            look = (FIRST, "", 0.5) if step < length else (MASKED, "////", 0.0)
            draw_area(ax, (8 + cell * step, y), cell, 1.6, look[0], look[2], hatch=look[1], lw=0.8)
    write(ax, 8, 1.8 * len(lengths) + 4.2, "step 1", "left", color=MUTED)
    write(ax, 44, 1.8 * len(lengths) + 4.2, f"step {most}", "right", color=MUTED)
    total = sum(lengths)
    write(ax, 8, 1.3, f"{total} computed, {len(lengths) * most - total} saved", "left")
    return fig
