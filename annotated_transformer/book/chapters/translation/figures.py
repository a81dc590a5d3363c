"""The drawings of the chapter on translation."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from annotated_transformer.book.drawing.boxes import draw_arrow, draw_box, draw_line
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
        write(ax, 9.1, y, f"{sum(row)} of {len(row)}", "left", color=INK)
        write(ax, 0.25, y, f"{n}", color=MUTED)
    for at, word in enumerate(words):
        color = INK if counted[0][at] else SECOND
        weight = "normal" if color == INK else "bold"
        y = 1.5 - 0.7 * (at % 2)  # in two lines, so that long words do not meet
        write(ax, 0.95 + step * at, y, word, color=INK, weight=weight)
    write(ax, 0.0, 8.2, "reference:", "left", color=MUTED)
    write(ax, 0.0, 7.5, " ".join(wanted), "left", color=MUTED)
    write(ax, 0.0, 6.5, f"BLEU {bleu:.0f}", "left", weight="bold", fontsize=15)
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


def draw_verdicts(values: Mapping[str, tuple[str, float, float]]) -> Figure:
    """Draw BLEU and chrF of each hypothesis on one scale, wrong ones as crosses: name to verdict and both."""
    names = sorted(values, key=lambda name: values[name][1])
    rows = [f"{'right' if values[name][0] == 'is right' else 'wrong'}: {name}" for name in names]
    fig, axes = new_figure(1, 2, width=WIDE, height=0.6 + 0.36 * len(names))
    for panel, (ax, measure) in enumerate(zip(axes, ("BLEU", "chrF"), strict=True), 1):
        for place, name in enumerate(names):
            right = values[name][0] == "is right"
            color, mark = (FIRST, "o") if right else (SECOND, "X")
            ax.plot(values[name][panel], place, color=color, marker=mark, markersize=11, ls="")
            write_beside(
                ax, (values[name][panel], place), (9, 0), f"{values[name][panel]:.0f}", height="center"
            )
        ax.set(xlim=(0, 108), ylim=(-0.6, len(names) - 0.4), xticks=(0, 50, 100), title=measure)
        name_rows(ax, rows, shown=panel == 1)
    return fig


def draw_brevity(rates: Sequence[float]) -> Figure:
    """Draw the brevity penalty over the length of the hypotheses, as a share of that of the references."""
    fig, ax = new_figure(height=2.7)
    lengths = [share / 100 for share in range(20, 151)]
    ax.plot(lengths, [brevity(length) for length in lengths], color=FIRST, ls="-", marker="", lw=2.5)
    for rate in rates:
        ax.plot(rate, brevity(rate), color=FIRST, marker="o", ls="")
        write_beside(
            ax, (rate, brevity(rate)), (10, -5), f"{rate:.0%} as long: × {brevity(rate):.2f}", height="center"
        )
    write_beside(ax, (1.25, 1), (0, 5), "longer: no bonus", "center", "bottom")
    ax.set(ylim=(0, 1.2), xlim=(0.2, 1.5), xticks=(0.5, 1, 1.5), yticks=(0, 0.5, 1))
    ax.set(xlabel=r"length of the hypotheses, $c / \ell$", ylabel="factor BP")
    return fig


def brevity(length: float) -> float:
    """Return the brevity penalty of hypotheses `length` times as long as the references."""
    return min(1.0, math.exp(1 - 1 / length))


def wrong_token(tokens: int, place: int) -> float:
    """Return BLEU if the token at `place`, of different `tokens`, is the only wrong one."""
    words = [str(number) for number in range(tokens)]
    rows = matches([*words[:place], "wrong", *words[place + 1 :]], words)
    return 100 * math.prod(sum(row) / len(row) for row in rows) ** (1 / LONGEST)


def draw_places(sizes: Sequence[int]) -> Figure:
    """Draw BLEU of a hypothesis with one wrong token, over the place of that token, for lengths of text."""
    fig, ax = new_figure(height=3.1)
    for size, (color, style, mark) in zip(sizes, LOOKS, strict=False):
        places = range(1, size + 1)
        bleus = [wrong_token(size, place - 1) for place in places]
        ax.plot(places, bleus, color=color, ls=style, marker=mark, markersize=5)
        name = f"{size} tokens: {min(bleus):.0f} to {max(bleus):.0f}"
        write_beside(ax, (0.62 * size, min(bleus)), (0, -10), name, "center", "top")
    ax.set(xlabel="place of the wrong token", ylabel="BLEU", ylim=(0, 103), xlim=(0.5, max(sizes) + 0.5))
    ax.xaxis.get_major_locator().set_params(integer=True)
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


def draw_same_output(values: Mapping[str, float]) -> Figure:
    """Draw each BLEU of one output as a mark on a common scale."""
    names = sorted(values, key=values.__getitem__)
    fig, ax = new_figure(width=WIDE, height=0.8 + 0.36 * len(names))
    for place, name in enumerate(names):
        ax.plot([0, values[name]], [place, place], color=NEUTRAL, lw=1.5, ls="-", marker="")
        ax.plot(values[name], place, color=FIRST, marker="o", markersize=10, ls="")
        write_beside(ax, (values[name], place), (10, 0), f"{values[name]:.1f}", height="center")
    ax.set(xlim=(0, max(values.values()) * 1.14), ylim=(-0.6, len(names) - 0.4), xlabel="BLEU")
    name_rows(ax, names)
    return fig


def draw_lengths(rows: Sequence[Mapping[str, float | int]]) -> Figure:
    """Draw BLEU with its interval, and the share of exact translations, for each range of lengths."""
    fig, ax = new_figure(height=3.2)
    places = range(len(rows))
    bleus = [row["bleu"] for row in rows]
    exact = [100 * row["exact"] / row["texts"] for row in rows]
    ax.plot(places, bleus, color=FIRST, ls="-", marker="o", label="BLEU")
    for place, row in zip(places, rows, strict=True):
        ends = [row["bleu"] - row["ci"], row["bleu"] + row["ci"]]
        ax.plot([place, place], ends, color=FIRST, ls="-", marker="_", lw=1.5)
    ax.plot(places, exact, color=SECOND, ls="--", marker="s")
    write_beside(ax, (1, exact[1]), (8, 5), "% equal to the reference", height="bottom")
    names = [f"{row['from']} to {row['to']}" if row["to"] < 100 else f"{row['from']} or more" for row in rows]
    ticks = [f"{name}\n({row['texts']:,})" for name, row in zip(names, rows, strict=True)]
    ax.set_xticks(places, ticks)
    ax.set(ylim=(0, None), xlabel="words of the source (number of sentences)")
    label_ends(ax)
    return fig


def draw_sizes(values: Mapping[int, float]) -> Figure:
    """Draw BLEU over the number of training pairs, on a logarithmic scale."""
    fig, ax = new_figure(height=2.9)
    pairs = sorted(values)
    ax.plot(pairs, [values[count] for count in pairs], color=FIRST, ls="-", marker="o")
    for count in pairs:
        write_beside(ax, (count, values[count]), (-5, 5), f"{values[count]:.1f}", "right", "bottom")
    ax.set(xscale="log", xticks=pairs, xticklabels=[f"{count:,}" for count in pairs])
    ax.minorticks_off()
    ax.set(ylim=(0, 1.2 * max(values.values())), xlim=(pairs[0] / 2.3, pairs[-1] * 1.6))
    ax.set(xlabel="training pairs", ylabel="BLEU")
    return fig


def draw_synthetic(source: str, target: str, translated: str) -> Figure:
    """Draw the pairs that training sees: a real one, the same exchanged, and one with a synthetic source."""
    fig, ax = new_canvas(14, 6.1, width=WIDE)
    rows = (("real pair", source, target), ("exchanged", target, source), ("back-translation", "", target))
    for place, (name, left, right) in enumerate(rows):
        y = 4.6 - 1.35 * place
        write(ax, 3.2, y + 0.45, name, "right", color=MUTED)
        wanted = draw_box(ax, 9.4, y, 4.4, 0.9, right, color=FIRST)
        if left:
            draw_arrow(ax, draw_box(ax, 3.5, y, 4.4, 0.9, left, color=FIRST), wanted, "learn")
            continue
        made = draw_box(ax, 3.5, y, 4.4, 0.9, translated, color=SECOND)
        made_patch = ax.patches[-1]
        made_patch.set_linestyle("--")
        draw_arrow(ax, made, wanted, "learn")
        other = draw_box(ax, 6.1, 0.25, 5.0, 0.9, "the other model", color=NEUTRAL)
        draw_line(ax, wanted.bottom, (wanted.bottom[0], other.center[1]))
        draw_arrow(ax, (wanted.bottom[0], other.center[1]), other.right)
        draw_line(ax, other.left, (made.bottom[0], other.center[1]))
        draw_arrow(ax, (made.bottom[0], other.center[1]), made.bottom)
    write(ax, 5.7, 5.8, "read", color=MUTED)
    write(ax, 11.6, 5.8, "write", color=MUTED)
    return fig


def draw_prices(prices: Mapping[str, tuple[float, float, float]]) -> Figure:
    """Draw BLEU (dots) and chrF (squares) of each kind over the mean length of its sentences."""
    fig, ax = new_figure(width=WIDE, height=0.9 + 0.34 * len(prices))
    kinds = sorted(prices, key=lambda kind: prices[kind][0])
    for place, kind in enumerate(kinds):
        bleu, chrf, _ = prices[kind]
        ax.plot([bleu, chrf], [place, place], color=NEUTRAL, lw=1.5, ls="-", marker="")
        ax.plot(bleu, place, color=FIRST, marker="o", markersize=9, ls="")
        ax.plot(chrf, place, color=SECOND, marker="s", markersize=8, ls="")
        write_beside(ax, (bleu, place), (-8, 0), f"{bleu:.0f}", "right", "center")
        write_beside(ax, (chrf, place), (8, 0), f"{chrf:.0f}", height="center")
    top = prices[kinds[-1]]
    for value, name, ha in ((top[0], "BLEU", "right"), (top[1], "chrF", "left")):
        write_beside(ax, (value, len(kinds) - 1), (0, 9), name, ha, "bottom")
    ax.set(xlim=(0, 103), ylim=(-0.6, len(kinds) + 0.1), xlabel="points")
    name_rows(ax, [f"{kind} ({prices[kind][2]:.1f} words)" for kind in kinds])
    return fig


def draw_layers(predicts: Sequence[float], going_in: Sequence[float], diagonal: float) -> Figure:
    """Draw for each layer how many words cross-attention aligns as we do, read in either row."""
    fig, ax = new_figure(height=2.9)
    layers = range(1, len(predicts) + 1)
    ax.plot(layers, [100 * share for share in predicts], color=FIRST, ls="-", marker="o",
        label="row predicting")  # fmt: skip
    ax.plot(layers, [100 * share for share in going_in], color=SECOND, ls="--", marker="s",
        label="row going in")  # fmt: skip
    ax.axhline(100 * diagonal, color=NEUTRAL, lw=1.2, ls=":", marker="")
    write_beside(ax, (len(predicts), 100 * diagonal), (0, 3), "diagonal", "right", "bottom")
    ax.set(ylim=(0, 100), xticks=list(layers), xlabel="layer", ylabel="% of words aligned")
    label_ends(ax)
    return fig


def draw_stages(models: Mapping[str, Sequence[tuple[Sequence[float], str]]]) -> Figure:
    """Draw the learning rate at each update, stage after stage, with what each stage reached."""
    fig, axes = new_figure(len(models), 1, width=WIDE, height=0.7 + 1.35 * len(models))
    panels = list(axes) if len(models) > 1 else [axes]
    end = max(sum(len(rates) for rates, _ in stages) for stages in models.values())
    top = max(max(rates) for stages in models.values() for rates, _ in stages)
    for ax, (name, stages) in zip(panels, models.items(), strict=True):
        start = 0
        for number, ((rates, reached), color) in enumerate(zip(stages, (FIRST, SECOND), strict=True), 1):
            steps = [start + step for step in range(1, len(rates) + 1)]
            ax.plot(steps, rates, color=color, ls="-" if number == 1 else "--", marker="")
            write(ax, start + 0.98 * len(rates), top, f"stage {number}: {reached}", "right", "top")
            start += len(rates)
            ax.axvline(start, color=NEUTRAL, lw=1.2, ls=":", marker="")
        ax.set(xlim=(0, 1.01 * end), ylim=(0, 1.05 * top), yticks=(0, top), ylabel="learning rate")
        ax.set_title(name, loc="left")
        ax.xaxis.set_major_formatter(lambda step, _: f"{step:,.0f}")
    panels[-1].set_xlabel("updates")
    return fig
