"""The drawings of the chapter on translation."""

from collections import Counter
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.plotting.palette import FIRST, INK, MUTED, NEUTRAL, SECOND

LONGEST = 4  # of the n-grams


def matches(hypothesis: Sequence[str], reference: Sequence[str]) -> list[list[bool]]:
    """Return for n = 1 to 4 whether each n-gram of the hypothesis is counted as a match, in order."""
    rows = []
    for n in range(1, LONGEST + 1):
        left = Counter(tuple(reference[at : at + n]) for at in range(len(reference) - n + 1))
        row = []
        for at in range(len(hypothesis) - n + 1):
            gram = tuple(hypothesis[at : at + n])
            row.append(left[gram] > 0)
            left[gram] -= 1
        rows.append(row)
    return rows


def draw_ngrams(hypothesis: str, reference: str, *, bleu: float) -> Figure:
    """Draw each n-gram of a hypothesis as a mark above its middle, filled if the reference has it.

    Both are tokens joined by spaces.
    """
    words, wanted = hypothesis.split(), reference.split()
    fig, ax = new_canvas(10.6, 8.6)
    step = min(0.93, 7.5 / max(len(words) - 1, 1))
    counted = matches(words, wanted)
    for n, row in enumerate(counted, 1):
        y = 1.5 + 0.95 * n
        for at, match in enumerate(row):
            x = 0.95 + step * (at + (n - 1) / 2)
            face = FIRST if match else "none"
            ax.plot(x, y, marker="o", markersize=11, color=FIRST if match else NEUTRAL, markerfacecolor=face,
                    markeredgewidth=1.5, ls="")  # fmt: skip
        name = f"{sum(row)} of {len(row)}"
        ax.text(9.1, y, name, ha="left", va="center", color=INK)
        ax.text(0.25, y, f"{n}", ha="center", va="center", color=MUTED)
    for at, word in enumerate(words):
        color = INK if counted[0][at] else SECOND
        weight = "normal" if color == INK else "bold"
        y = 1.5 - 0.7 * (at % 2)  # in two lines, so that long words do not meet
        ax.text(0.95 + step * at, y, word, ha="center", va="center", color=INK, weight=weight)
    ax.text(0.0, 8.2, "reference:", ha="left", va="center", color=MUTED)
    ax.text(0.0, 7.5, " ".join(wanted), ha="left", va="center", color=MUTED)
    ax.text(0.0, 6.5, f"BLEU {bleu:.0f}", ha="left", va="center", weight="bold", fontsize=15)
    return fig


def draw_contrasts(own: Mapping[str, int], others: Mapping[str, Sequence[int]], *, of: int) -> Figure:
    """Draw for each kind how many contrasts are right with their own source, and with those of others.

    `others` has one count for each set of wrong sources: a mark at their mean, and a line over their range.
    Without such sets, it has none.
    """
    fig, ax = new_figure(height=4.0)
    kinds = sorted(own, key=lambda kind: sum(others[kind]))
    for place, kind in enumerate(kinds):
        if counts := others[kind]:
            mean = round(sum(counts) / len(counts), 2)
            ax.plot([min(counts), max(counts)], [place, place], color=SECOND, lw=2, ls="-", marker="")
            ax.plot(mean, place, color=SECOND, marker="s", ls="", markersize=9, clip_on=False)
        ax.plot(own[kind], place, color=FIRST, marker="o", ls="", markersize=10, clip_on=False)
    ax.plot([of / 2] * 2, [-0.6, len(kinds) - 0.5], color=NEUTRAL, lw=1, ls="--", marker="")
    ax.text(of / 2, -0.95, "guessing", ha="center", va="center", color=MUTED)
    top = len(kinds) - 0.3
    ax.text(of + 0.1, top, "own source", ha="right", va="bottom", color=INK)
    ax.text(0.0, top, "another sentence's source", ha="left", va="bottom", color=INK)
    ax.plot(of + 0.3, top + 0.17, color=FIRST, marker="o", ls="", clip_on=False)
    ax.plot(-0.25, top + 0.17, color=SECOND, marker="s", ls="", clip_on=False)
    ax.set(xlim=(-0.45, of + 0.45), ylim=(-1.25, len(kinds) + 0.3), xlabel=f"right, of {of}")
    ax.set_yticks(range(len(kinds)), kinds)
    ax.tick_params(axis="y", length=0)
    return fig
