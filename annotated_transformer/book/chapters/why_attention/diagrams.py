"""The drawings of chains, paths and steps, of the chapter on why attention is needed."""

import itertools
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle

from annotated_transformer.book.drawing.boxes import Box, Point, draw_arrow, draw_box, draw_line, draw_weight
from annotated_transformer.book.drawing.figures import new_canvas
from annotated_transformer.book.drawing.words import draw_tokens, draw_vector, write
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import (
    FIRST,
    INK,
    MUTED,
    NEUTRAL,
    OUTPUT,
    PAPER,
    SECOND,
    VALUE,
)

COLUMNS = 19.5  # of a wide canvas: its units are as large as those of 14 in a column


def draw_two_ways(words: Sequence[str], weights: Sequence[float], *, output: str) -> Figure:
    """Draw a sentence that reaches its translation through the last state, and through a weighted average."""
    fig, ax = new_canvas(14.0, 12.9)
    above = _draw_chain(ax, 7.8, words, "Through one vector", 4.6)
    goal = draw_box(ax, 9.6, 10.9, 3.9, 1.0, "translation", color=OUTPUT)
    draw_arrow(ax, above[-1].top, (above[-1].top[0], goal.y))
    below = _draw_chain(ax, 0.5, words, "Through a weighted average", 5.8)
    goal = draw_box(ax, 5.05, 4.4, 3.9, 1.0, output, color=OUTPUT)
    for state, weight in zip(below, weights, strict=True):
        draw_weight(ax, state.top, goal.bottom, weight)
        write(ax, state.center[0], state.center[1], f"{weight:.1f}", weight="bold")
    return fig


def _draw_chain(ax: Axes, y: float, words: Sequence[str], title: str, above: float) -> list[Box]:
    """Draw words at height `y` and a state over each, made from the one before; the title is `above`."""
    step = 13.6 / len(words)
    states: list[Box] = []
    write(ax, 0.1, y + above, title, "left", weight="bold")
    for number, word in enumerate(words):
        middle = 0.2 + step * (number + 0.5)
        write(ax, middle, y, word)
        box = draw_box(ax, middle - 0.6, y + 1.2, 1.2, 0.9, "", color=VALUE)
        draw_arrow(ax, (middle, y + 0.4), box.bottom)
        if states:
            draw_arrow(ax, states[-1].right, box.left)
        states.append(box)
    return states


def draw_influence(rows: Mapping[float, Sequence[float]]) -> Figure:
    """Draw how much each state of a chain changes with the first input: a row of bars for each factor."""
    fig, ax = new_canvas(COLUMNS, 2.2 * len(rows) + 3.0, width=WIDE)
    count = max(map(len, rows.values()))
    step = 13.6 / count
    top = 2.2 * len(rows) + 0.5
    states = [draw_box(ax, 2.5 + step * k, top, 0.7 * step, 0.9, "", color=VALUE) for k in range(count)]
    for before, state in itertools.pairwise(states):
        draw_arrow(ax, before, state)
    draw_arrow(ax, (states[0].top[0], top + 1.9), states[0].top, "+ 1")
    write(ax, states[len(states) // 2].center[0], top + 1.4, "× $u$ at each step")
    for number, (factor, effects) in enumerate(rows.items()):
        floor = top - 2.1 - 2.2 * number
        draw_line(ax, (2.4, floor), (2.4 + step * count, floor), color=NEUTRAL)
        write(ax, 0.1, floor + 0.6, f"$u$ = {factor:g}", "left", weight="bold")
        for state, effect in zip(states, effects, strict=False):
            height = 1.7 * effect / max(effects)
            ax.add_patch(Rectangle((state.x, floor), state.width, height, facecolor=VALUE, alpha=0.8))
        end = 2.6 + step * count, floor + 0.4
        write(ax, *end, f"+ {_write_share(effects[-1])}", "left", weight="bold")
    return fig


def _write_share(number: float) -> str:
    """Write a number, and one between 0 and 1 as 1/n."""
    return f"1/{1 / number:,.0f}" if 0 < number < 0.95 else f"{number:,.0f}"


def draw_paths(words: Sequence[str]) -> Figure:
    """Draw how the first word reaches the last output: through each state, and by one weight."""
    fig, ax = new_canvas(COLUMNS, 7.9, width=WIDE)
    step = 18.9 / len(words)
    middles = [0.3 + step * (place + 0.5) for place in range(len(words))]
    upper = [draw_box(ax, x - 0.6, 5.4, 1.2, 0.9, "", color=VALUE) for x in middles]
    for number, (before, state) in enumerate(itertools.pairwise(upper), 2):
        draw_arrow(ax, before, state, rf"$D_{{{number}}}U$", color=FIRST)
    count = len(words) - 1
    write(ax, 0.1, 7.4, f"A chain of states: {count} factors", "left", weight="bold")
    for x, word, state in zip(middles, words, upper, strict=True):
        draw_arrow(ax, (x, 4.9), state.bottom)
        write(ax, x, 4.5, word)
        low = draw_box(ax, x - 0.6, 2.7, 1.2, 0.9, "", color=VALUE)
        draw_arrow(ax, (x, 4.1), low.top)
    goal = draw_box(ax, middles[-1] - 1.4, 0.2, 2.8, 1.0, "output", color=OUTPUT)
    for x in middles[1:]:
        draw_line(ax, (x, 2.7), goal.top, color=NEUTRAL)
    draw_arrow(ax, (middles[0], 2.7), goal.left, color=FIRST)
    write(ax, middles[0] + 0.35 * (goal.x - middles[0]), 1.85, "$w$", height="top", color=MUTED)
    write(ax, 0.1, 0.7, "All states kept: 1 factor", "left", weight="bold")
    return fig


def draw_layers() -> Figure:
    """Draw one step of a recurrent network, one of an LSTM, and attention to kept states, side by side."""
    fig, ax = new_canvas(COLUMNS, 7.4, width=WIDE)
    panels = {"RNN": "rewrites its state", "LSTM": "gates its memory", "Attention": "reads all words"}
    for x, (name, said) in zip((0.1, 6.7, 14.0), panels.items(), strict=True):
        write(ax, x, 6.9, name, "left", weight="bold")
        write(ax, x, 6.1, said, "left", color=MUTED)
    mixed = draw_box(ax, 1.9, 2.8, 1.9, 1.1, "tanh", color=NEUTRAL)
    draw_arrow(ax, (0.2, mixed.left[1]), mixed.left, "× $U$")
    draw_arrow(ax, mixed.right, (5.6, mixed.left[1]), "$h_t$")
    draw_arrow(ax, (mixed.center[0], 1.3), mixed.bottom)
    write(ax, mixed.center[0], 0.8, "$x_t$")
    draw_arrow(ax, (6.8, 3.0), (12.8, 3.0))
    draw_arrow(ax, (9.5, 1.3), (9.5, 2.6))
    draw_arrow(ax, (11.6, 3.0), (11.6, 5.3))
    write(ax, 11.3, 5.3, "$h_t$", "right")
    write(ax, 9.5, 0.8, "$x_t$, $h_{t-1}$")
    write(ax, 6.8, 3.8, "memory", "left", color=MUTED)
    for x, y, sign, gate in ((7.9, 3.0, "×", "keep"), (9.5, 1.9, "×", "write"), (11.6, 4.2, "×", "read")):
        _draw_sign(ax, x, y, sign)
        spot = (x, y - 0.9, gate) if gate == "keep" else (x + 0.5, y, gate, "left")
        write(ax, *spot, color=MUTED)
    _draw_sign(ax, 9.5, 3.0, "+")
    goal = draw_box(ax, 15.0, 4.2, 3.0, 1.0, "output", color=OUTPUT)
    for x, weight, name in ((14.5, 0.15, "$x_1$"), (16.5, 0.6, "$x_2$"), (18.5, 0.25, "$x_3$")):
        state = draw_box(ax, x - 0.5, 1.7, 1.0, 0.8, "", color=VALUE)
        draw_weight(ax, state.top, goal.bottom, weight)
        draw_arrow(ax, (x, 1.1), state.bottom)
        write(ax, x, 0.6, name)
    return fig


def _draw_sign(ax: Axes, x: float, y: float, sign: str) -> None:
    """Draw an operation in a circle: a gate multiplies, and what is written is added."""
    ax.add_patch(Circle((x, y), 0.36, facecolor=PAPER, edgecolor=INK, lw=1.5, zorder=3))
    write(ax, x, y, sign, zorder=4)


def draw_timeline(words: Sequence[str]) -> Figure:
    """Draw when each word's vector is computed: one after another, and all at once."""
    fig, ax = new_canvas(COLUMNS, 1.15 * len(words) + 2.5, width=WIDE)
    top = 1.15 * len(words) + 1.0
    write(ax, 0.1, top + 1.0, "A recurrent layer", "left", weight="bold")
    write(ax, 14.3, top + 1.0, "Attention", "left", weight="bold")
    step = 13.0 / len(words)
    before = None
    for place, word in enumerate(words):
        y = top - 1.15 * place - 0.6
        box = draw_box(ax, 0.2 + step * place, y, step - 0.1, 0.9, word, color=FIRST)
        if before is not None:
            draw_arrow(ax, (before.x + before.width, before.y), box.top)
        before = box
        draw_box(ax, 14.4, y, step - 0.1, 0.9, word, color=SECOND)
    for left, right, count in ((0.2, 13.4, len(words)), (14.4, 19.2, 1)):
        draw_arrow(ax, (left, 0.95), (right, 0.95), color=MUTED)
        said = f"time: {count} steps in a row" if count > 1 else "time: 1 step"
        write(ax, left, 0.4, said, "left", color=MUTED)
    return fig


def draw_copiers(words: Sequence[str]) -> Figure:
    """Draw a sentence that is copied through one vector, and by a weighted average of all its states."""
    fig, ax = new_canvas(COLUMNS, 7.6, width=WIDE)
    for left, title in ((0.1, "One vector"), (10.2, "All states")):
        write(ax, left, 7.1, title, "left", weight="bold")
        lower, upper = (_draw_words(ax, left + 0.1, y, words) for y in (0.2, 5.4))
        if left < 1:
            vector = draw_vector(ax, 2.8, 3.0, [0.5] * 6, color=VALUE, size=(0.55, 0.6), upright=False)
            ends = [(vector.bottom, vector.top)] * len(words)
        else:
            ends = [((box.center[0], 3.0), (box.center[0], 3.6)) for box in lower]
            for x, y in (start for start, _ in ends):
                draw_vector(ax, x - 0.55, y, [0.5] * 2, color=VALUE, size=(0.55, 0.6), upright=False)
        for box, (low, _) in zip(lower, ends, strict=True):
            draw_arrow(ax, box.top, low)
        for number, box in enumerate(upper):
            if left < 1:
                draw_arrow(ax, vector.top, box.bottom)
            else:
                _draw_average(ax, [high for _, high in ends], box.bottom, number)
    return fig


def _draw_words(ax: Axes, x: float, y: float, words: Sequence[str]) -> list[Box]:
    """Draw words in a row of 9 units."""
    width = 8.8 / len(words)
    return draw_tokens(ax, x, y, words, width=width - 0.15, gap=0.15)


def _draw_average(ax: Axes, states: Sequence[Point], goal: Point, number: int) -> None:
    """Draw lines from all states to an output; the widest is that of the state with its number."""
    for place, state in enumerate(states):
        draw_weight(ax, state, goal, 0.5 if place == number else 0.05)
