"""The drawings of the chapter on translation."""

from collections import Counter
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from annotated_transformer.book.drawing.boxes import draw_arrow, draw_box
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import label_ends, name_rows, write, write_beside
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import FIRST, INK, LOOKS, MUTED, NEUTRAL, SECOND

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
    fig, ax = new_canvas(14, 7.4, width=WIDE)
    step = min(1.3, 9.6 / max(len(words) - 1, 1))
    counted = matches(words, wanted)
    for n, row in enumerate(counted, 1):
        y = 1.1 + 0.95 * n
        for at, match in enumerate(row):
            x = 2.2 + step * (at + (n - 1) / 2)
            face, edge = (FIRST, FIRST) if match else ("none", SECOND)
            ax.plot(x, y, marker="o", markersize=12, color=edge, markerfacecolor=face, markeredgewidth=1.8,
                    ls="")  # fmt: skip
        write(ax, 12.4, y, f"{sum(row)} of {len(row)}", "left", color=INK)
        write(ax, 0.0, y, f"{n} word{'s' if n > 1 else ''}", "left", color=MUTED)
    for at, word in enumerate(words):
        color = INK if counted[0][at] else SECOND
        weight = "normal" if color == INK else "bold"
        y = 1.1 - 0.7 * (at % 2)  # in two lines, so that long words do not meet
        write(ax, 2.2 + step * at, y, word, color=color, weight=weight)
    write(ax, 0.0, 6.9, f"reference: {' '.join(wanted)}", "left", color=MUTED)
    write(ax, 0.0, 6.0, f"BLEU {bleu:.0f}", "left", weight="bold", fontsize=15)
    return fig


def draw_contrasts(own: Mapping[str, int], others: Mapping[str, Sequence[int]], *, of: int) -> Figure:
    """Draw for each kind how many contrasts are right with their own source, and with those of others.

    `others` has one count for each set of wrong sources: a mark at their mean, and a line over their range.
    An arrow leads from the mean to the own source. Without such sets, there is no mean and no arrow.
    """
    kinds = sorted(own, key=lambda kind: -sum(others[kind]))
    fig, ax = new_figure(width=WIDE, height=1.2 + 0.4 * len(kinds))
    for place, kind in enumerate(kinds):
        if counts := others[kind]:
            mean = round(sum(counts) / len(counts), 2)
            ax.plot([min(counts), max(counts)], [place, place], color=SECOND, lw=5, alpha=0.3, ls="-",
                marker="", solid_capstyle="butt")  # fmt: skip
            if abs(own[kind] - mean) > 0.4:
                draw_arrow(ax, (mean, float(place)), (float(own[kind]), float(place)), color=INK)
            ax.plot(mean, place, color=SECOND, marker="s", ls="", markersize=9)
            write(ax, of + 0.35, place, f"{own[kind] - mean:+.1f}".replace("-", "−"), "left")
        ax.plot(own[kind], place, color=FIRST, marker="o", ls="", markersize=10, clip_on=False)
    ax.plot([of / 2] * 2, [-0.6, len(kinds) - 0.4], color=NEUTRAL, lw=1, ls="--", marker="", zorder=0)
    write(ax, of / 2, len(kinds) - 0.3, "guessing", height="bottom", color=MUTED)
    last = len(kinds) - 1
    if counts := others[kinds[-1]]:
        write(ax, sum(counts) / len(counts), last + 0.25, "wrong source", height="bottom", color=INK)
    write(ax, own[kinds[-1]], last + 0.25, "own source", "right", "bottom", color=INK)
    ax.set(xlim=(-0.2, of + 1.3), ylim=(-0.6, len(kinds) + 0.3), xlabel=f"right, of {of}")
    ax.set_xticks(range(0, of + 1, 2))
    name_rows(ax, kinds)
    return fig


def draw_verdicts(bleus: Mapping[str, float], chrfs: Mapping[str, float], *, right: Sequence[str]) -> Figure:
    """Draw BLEU and chrF of each hypothesis on one scale, those that are not in `right` as crosses."""
    names = sorted(bleus, key=bleus.__getitem__)
    rows = [f"{'right' if name in right else 'wrong'}: {name}" for name in names]
    fig, axes = new_figure(1, 2, width=WIDE, height=0.6 + 0.36 * len(names))
    for ax, measure, values in zip(axes, ("BLEU", "chrF"), (bleus, chrfs), strict=True):
        for place, name in enumerate(names):
            color, mark = (FIRST, "o") if name in right else (SECOND, "X")
            ax.plot(values[name], place, color=color, marker=mark, markersize=11, ls="")
            write_beside(ax, (values[name], place), (9, 0), f"{values[name]:.0f}", height="center")
        ax.set(xlim=(0, 108), ylim=(-0.6, len(names) - 0.4), xticks=(0, 50, 100), title=measure)
        name_rows(ax, rows, shown=measure == "BLEU")
    return fig


def draw_splits(splits: Mapping[str, Sequence[str]]) -> Figure:
    """Draw one text as tokens in boxes, in a row for each tokenizer, with their number."""
    letter, gap = 0.235, 0.13
    fig, ax = new_canvas(14, 1.15 * len(splits) + 0.1, width=WIDE)
    for place, (name, tokens) in enumerate(reversed(list(splits.items()))):
        y, x = 0.2 + 1.15 * place, 2.8
        write(ax, 2.6, y + 0.4, name, "right", color=MUTED)
        for token in tokens:
            width = letter * len(token) + 0.35
            draw_box(ax, x, y, width, 0.8, token, color=NEUTRAL)
            x += width + gap
        write(ax, x + 0.1, y + 0.4, f"{len(tokens)} tokens", "left")
    return fig


def draw_same_output(tested: Mapping[str, float], here: Mapping[str, float]) -> Figure:
    """Draw each BLEU of one model's output: on the test set as dots, on our sentences as squares."""
    names = sorted(tested, key=tested.__getitem__)
    fig, ax = new_figure(width=WIDE, height=1.2 + 0.42 * len(names))
    for place, name in enumerate(names):
        for values, color, mark in ((tested, FIRST, "o"), (here, SECOND, "s")):
            ax.plot(values[name], place, color=color, marker=mark, markersize=10, ls="")
            write_beside(ax, (values[name], place), (10, 0), f"{values[name]:.1f}", height="center")
    top = len(names) - 1
    for values, title, side in ((tested, "test set", "right"), (here, "our 64 sentences", "center")):
        write(ax, values[names[top]] + 2, top + 0.45, title, side, "bottom", color=INK)
    ax.set(xlim=(0, 108), ylim=(-0.6, len(names) + 0.2), xlabel="BLEU")
    name_rows(ax, names)
    return fig


def draw_sizes(lines: Mapping[str, Mapping[int, float]]) -> Figure:
    """Draw BLEU over the number of training pairs, on a logarithmic scale: a line for each kind of data."""
    fig, ax = new_figure(width=WIDE, height=3.4)
    for (name, values), (color, style, mark) in zip(lines.items(), LOOKS, strict=False):
        pairs = sorted(values)
        ax.plot(pairs, [values[count] for count in pairs], color=color, ls=style, marker=mark)
        for count in pairs:
            write_beside(ax, (count, values[count]), (-6, 4), f"{values[count]:.0f}", "right", "bottom")
        write_beside(ax, (pairs[-1], values[pairs[-1]]), (0, 20), name, "center", "bottom", color=color)
    most = max(max(values.values()) for values in lines.values())
    ax.set(xscale="log", ylim=(0, 1.35 * most), xlabel="training pairs", ylabel="BLEU")
    ax.set(xlim=(0.6 * min(map(min, lines.values())), 4 * max(map(max, lines.values()))))
    ax.minorticks_off()
    ax.xaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    return fig


def draw_layers(predicts: Sequence[float], going_in: Sequence[float], diagonal: float) -> Figure:
    """Draw for each layer how many words cross-attention aligns as we do, read in either row."""
    fig, ax = new_figure(width=WIDE, height=3.2)
    layers = range(1, len(predicts) + 1)
    ax.plot(layers, [100 * share for share in predicts], color=FIRST, ls="-", marker="o",
        label="the row that predicts it")  # fmt: skip
    ax.plot(layers, [100 * share for share in going_in], color=SECOND, ls="--", marker="s",
        label="one row too late")  # fmt: skip
    ax.axhline(100 * diagonal, color=NEUTRAL, lw=1.2, ls=":", marker="")
    write_beside(ax, (len(predicts), 100 * diagonal), (0, 3), "diagonal", "right", "bottom")
    ax.set(ylim=(0, 100), xticks=list(layers), xlabel="layer", ylabel="% of words aligned")
    label_ends(ax)
    return fig
