"""The drawings of the chapter on tokens and batches."""

from collections.abc import Mapping, Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from annotated_transformer.book.drawing.boxes import Box, draw_arrow, draw_box, draw_line
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import draw_matrix
from annotated_transformer.book.drawing.words import write, write_beside
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import FIRST, INK, MASKED, MUTED, NEUTRAL, SECOND

LETTER, GAP, MARGIN = 1.0, 0.45, 0.3  # a letter, the gap between words, and the edge
Merge = tuple[str, str]


def draw_cuts(rows: Mapping[str, Sequence[str]], *, gutter: float = 2.6) -> Figure:
    """Draw one text in a row for each way to cut it, letters below letters, a box around each piece.

    A dot stands for the space at the start of a piece, and a piece that is a whole word is colored. The
    names of the rows stand in a gutter at the left.
    """
    widest = max(_end(pieces) for pieces in rows.values())
    fig, ax = new_canvas(gutter + widest + MARGIN, 1.6 * len(rows) + MARGIN, width=WIDE)
    for number, (name, pieces) in enumerate(rows.items()):
        y = 1.6 * (len(rows) - number - 1) + MARGIN
        write(ax, gutter - 0.4, y + 0.6, name, "right", color=MUTED)
        x = gutter
        for place, piece in enumerate(pieces):
            x += GAP * (place > 0 and piece[0] == " ")
            after = pieces[place + 1] if place + 1 < len(pieces) else " "
            color = FIRST if piece[0] == " " and len(piece) > 1 and not after[0].isalpha() else NEUTRAL
            draw_box(ax, x + 0.06, y, LETTER * len(piece) - 0.12, 1.2, "", color=color)
            for at, letter in enumerate(piece.replace(" ", "·")):
                write(ax, x + LETTER * (at + 0.5), y + 0.6, letter)
            x += LETTER * len(piece)
    return fig


def _end(pieces: Sequence[str]) -> float:
    return LETTER * sum(map(len, pieces)) + GAP * sum(piece[0] == " " for piece in pieces[1:])


def draw_tokens_per_word(
    pieces: Mapping[int, float], *, letters: tuple[int, float], words: tuple[int, float]
) -> Figure:
    """Draw tokens per word over the size of the vocabulary, for byte-pair encoding, characters and words."""
    fig, ax = new_figure(width=WIDE, height=3.4)
    ax.plot(list(pieces), list(pieces.values()), color=FIRST, label="byte pairs")
    ax.plot(*letters, color=SECOND, marker="s", ls="", markersize=9)
    ax.plot(*words, color=SECOND, marker="^", ls="", markersize=10)
    write_beside(ax, letters, (-4, 10), "characters", height="bottom")
    write_beside(ax, words, (-8, -3), "words", "right", "top")
    middle = list(pieces)[len(pieces) // 2]
    write_beside(ax, (middle, pieces[middle]), (10, 8), "byte pairs", height="bottom")
    ax.set(xlabel="entries of the vocabulary", ylabel="tokens per word", ylim=(0, 1.2 * letters[1]))
    return fig


def draw_merges(words: Sequence[str], merges: Sequence[Merge], *, count: int) -> Figure:
    """Draw words as trees after `count` merges: letters below, each merge at the height of its place."""
    used = sorted({number for word in words for number, *_ in grow(word, merges)})
    span = max(map(len, words)) + 1.4  # letters, the dot, and a gap
    fig, ax = new_canvas(2.0 + span * len(words), 1.3 * len(used) + 1.8, width=WIDE)
    heights = {number: 1.3 * rank + 2.0 for rank, number in enumerate(used)}
    for number, y in heights.items():
        write(ax, 1.3, y, f"{number}", "right", color=MUTED)
        draw_line(ax, (1.5, y), (1.7 + span * len(words), y), color=MUTED)
        ax.lines[-1].set(lw=0.5, alpha=0.4, zorder=0)
    for place, word in enumerate(words):
        start = 1.9 + span * place
        boxes = [draw_box(ax, start + at + 0.08, 0.2, 0.84, 0.8, letter)
                 for at, letter in enumerate(["·", *word])]  # fmt: skip
        for number, at, piece in grow(word, merges[:count]):
            left, right = boxes[at : at + 2]
            middle, width = (left.center[0] + right.center[0]) / 2, 0.44 * len(piece) + 0.5
            y = heights[number] - 0.4
            for child in (left, right):
                draw_line(ax, child.top, (middle, y))
            joined = draw_box(ax, middle - width / 2, y, width, 0.8, piece, color=FIRST)
            boxes[at : at + 2] = [joined]
    return fig


def grow(word: str, merges: Sequence[Merge]) -> list[tuple[int, int, str]]:
    """Return the merges that apply to a word: the number from 1, the place among its parts, and the piece."""
    parts, found = ["·", *word], []
    for number, merge in enumerate(merges, 1):
        at = 0
        while at < len(parts) - 1:
            if (parts[at], parts[at + 1]) == merge:
                parts[at : at + 2] = ["".join(merge)]
                found.append((number, at, parts[at]))
            at += 1
    return found


def draw_pipeline(text: str, pieces: Sequence[str], ids: Sequence[int]) -> Figure:
    """Draw a text, its pieces, and their ids below one another."""
    width = [
        0.32 * max(len(piece), len(str(number))) + 0.5 for piece, number in zip(pieces, ids, strict=True)
    ]
    left = 2.4
    fig, ax = new_canvas(left + sum(width) + 0.2 * len(width) + 0.2, 4.7, width=WIDE)
    for y, name in ((4.0, "text"), (2.25, "pieces"), (0.55, "ids")):
        write(ax, left - 0.4, y, name, "right", color=MUTED)
    whole = draw_box(ax, left, 3.55, sum(width) + 0.2 * (len(width) - 1), 0.9, text)
    x = left
    for wide, piece, number in zip(width, pieces, ids, strict=True):
        middle = draw_box(ax, x, 1.8, wide, 0.9, piece.replace(" ", "·"), color=FIRST)
        below = draw_box(ax, x, 0.1, wide, 0.9, f"{number}")
        draw_arrow(ax, (middle.center[0], whole.y), middle.top)
        draw_arrow(ax, middle, below)
        x += wide + 0.2
    return fig


def draw_batch(sides: Mapping[str, Sequence[Sequence[str]]], *, pad: str) -> Figure:
    """Draw the tensors of a batch as grids of tokens, one below the other, hatched where there is padding."""
    longest = max(len(token) for rows in sides.values() for row in rows for token in row)
    size, left = (0.36 * longest + 0.5, 0.95), 0.5 * max(map(len, sides)) + 0.4
    columns = max(len(row) for rows in sides.values() for row in rows)
    steps = [len(rows) * size[1] + 0.6 for rows in sides.values()]
    fig, ax = new_canvas(left + columns * size[0] + 0.2, sum(steps) + 0.1, width=WIDE)
    y = sum(steps)
    for (name, rows), step in zip(sides.items(), steps, strict=True):
        y -= step
        real = torch.tensor([[token != pad for token in row] for row in rows])
        words = [["" if token == pad else token for token in row] for row in rows]
        box = draw_matrix(ax, left, y + 0.3, words, color=NEUTRAL, mask=real, size=size)
        write(ax, left - 0.4, box.center[1], name, "right", color=MUTED)
    return fig


def family_of(pairs: Sequence[Merge], start: int) -> list[bool]:
    """Return for each pair whether a chain of common sentences joins it to the pair numbered `start`."""
    known = [{side} for side in pairs[start]]
    for _ in pairs:
        for pair in pairs:
            if pair[0] in known[0] or pair[1] in known[1]:
                known[0].add(pair[0])
                known[1].add(pair[1])
    return [pair[0] in known[0] for pair in pairs]


def draw_families(pairs: Sequence[Merge], panels: Mapping[str, Sequence[bool]]) -> Figure:
    """Draw sentences of two languages, joined to pairs, and mark in each panel the pairs for testing."""
    sides = [list(dict.fromkeys(pair[side] for pair in pairs)) for side in (0, 1)]
    rows = max(map(len, sides))
    fig, ax = new_canvas(22.0, 1.4 * rows + 2.5, width=WIDE)
    for place, (title, test) in enumerate(panels.items()):
        left = 0.2 + 11.2 * place
        write(ax, left + 5.2, 1.4 * rows + 1.9, title, weight="bold")
        boxes: list[dict[str, Box]] = []
        for side, x in zip(sides, (left, left + 6.6), strict=True):
            own = [[t for pair, t in zip(pairs, test, strict=True) if text in pair] for text in side]
            colors = [SECOND if all(flags) else NEUTRAL for flags in own]
            boxes.append({
                text: draw_box(ax, x, 1.4 * (rows - at) - 0.3, 3.8, 1.0, text, color=color)
                for at, (text, color) in enumerate(zip(side, colors, strict=True))
            })  # fmt: skip
        for pair, held_out in zip(pairs, test, strict=True):
            draw_line(ax, boxes[0][pair[0]].right, boxes[1][pair[1]].left, color=SECOND if held_out else INK)
            ax.lines[-1].set(ls="--" if held_out else "-", lw=2.5 if held_out else 1.5)
    write(ax, 11.0, 0.15, "dashed: a pair for testing", height="bottom", color=MUTED)
    return fig


def draw_padding(panels: Mapping[str, Sequence[Sequence[int]]]) -> Figure:
    """Draw batches of sentences as stripes, hatched where there is padding; a panel has a list of batches."""
    fig, _ = new_figure(1, len(panels), width=WIDE, height=4.2)
    for ax, (title, batches) in zip(fig.axes, panels.items(), strict=True):
        _draw_batches(ax, batches)
        ax.set_title(title)
        ax.set_axis_off()
    widest = max(max(batch) for batches in panels.values() for batch in batches)
    tallest = max(_height(batches) for batches in panels.values())
    for ax in fig.axes:
        ax.set(xlim=(-0.3, widest + 0.3), ylim=(-tallest, 0.5))
    return fig


def _height(batches: Sequence[Sequence[int]]) -> int:
    return sum(len(batch) + 2 for batch in batches)


def _draw_batches(ax: Axes, batches: Sequence[Sequence[int]]) -> None:
    y = 0.0
    for batch in batches:
        longest = max(batch)
        for length in batch:
            y -= 1
            ax.add_patch(Rectangle((0, y), length, 0.8, facecolor=FIRST, edgecolor="none"))
            rest, look = longest - length, {"facecolor": "none", "edgecolor": MASKED, "hatch": "////"}
            if rest > 0:
                ax.add_patch(Rectangle((length, y), rest, 0.8, linewidth=0.4, **look))  # type: ignore[arg-type]
        y -= 2
