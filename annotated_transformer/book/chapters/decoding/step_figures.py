"""The drawings of single steps in the chapter on decoding: what they draw and compute."""

from collections.abc import Mapping, Sequence

from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from annotated_transformer.book.drawing.boxes import draw_area
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import name_rows, write
from annotated_transformer.plotting.palette import FIRST, INK, KEY, MASKED, MUTED


def draw_processed(unchanged: Mapping[str, float], panels: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw what each of four changes makes of a distribution, over its outline."""
    fig, axes = new_figure(2, 2, height=4.4)
    for number, (ax, (title, shares)) in enumerate(zip(axes.flat, panels.items(), strict=True)):
        for place, word in enumerate(unchanged):
            before, share = round(unchanged[word], 3), round(shares[word], 3)
            edge, hatch = (MUTED, "") if share else (MASKED, "/////")
            ax.barh(place, before, facecolor="none", edgecolor=edge, hatch=hatch, ls="--", height=0.8)
            if share:
                ax.barh(place, share, color=to_rgba(FIRST, 0.6), edgecolor=INK, height=0.5)
            number_text = f"{share:.2f}" if share else "removed"
            write(ax, max(before, share) + 0.02, place, number_text, "left")
        ax.set_title(title, loc="left", weight="bold")
        ax.set(xlim=(0, 0.9), ylim=(len(unchanged) - 0.5, -0.5), xticks=[])
        name_rows(ax, unchanged, shown=number % 2 == 0)
        ax.spines["bottom"].set_visible(False)
    return fig


def draw_cache(words: Sequence[str]) -> Figure:
    """Draw which positions each step computes without a cache, and with one, where it reads the others."""
    count = len(words)
    fig, ax = new_canvas(2 * count + 7.0, count + 4.0)
    for left, title, cached in ((2.7, "without a cache", False), (count + 5.9, "with a cache", True)):
        filled = 0
        for step in range(count):
            y = float(count - step) + 0.2
            write(ax, left - 0.2, y + 0.5, f"step {step + 1}", "right", color=MUTED)
            for position in range(step + 1):
                computed = not cached or position == step
                filled += computed
                color, hatch, share = (FIRST, "", 0.6) if computed else (KEY, "\\\\", 0.15)
                corner = left + position, y
                draw_area(ax, corner, 1, 1, color, share, edgecolor=INK, hatch=hatch, lw=1)
        for position, word in enumerate(words):
            write(ax, left + position + 0.08, count + 1.4 - position, word, "left", "bottom")
        write(ax, left, count + 2.5, title, "left", "bottom", weight="bold")
        write(ax, left, 0.6, f"{filled} computed", "left")
    return fig
