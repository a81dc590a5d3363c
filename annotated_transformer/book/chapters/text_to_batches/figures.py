"""The drawings of the chapter on tokens and batches."""

from collections.abc import Container, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from annotated_transformer.book.drawing.boxes import draw_box
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.plotting.palette import FIRST, MASKED, NEUTRAL, SECOND

LETTER, GAP, MARGIN = 0.36, 0.14, 0.3
LINE = 14.0  # units in which a line of pieces has to fit


def draw_pieces(sentences: Sequence[Sequence[str]], whole: Container[str] = ()) -> Figure:
    """Draw sentences as boxes, one for each piece, and color those that are one of the words of `whole`.

    A dot stands for the space at the start of a piece.
    """
    lines: list[list[str]] = []
    for pieces in sentences:
        lines.append([])
        for piece in pieces:
            if sum(map(_width, [*lines[-1], piece])) > LINE - 2 * MARGIN:
                lines.append([])
            lines[-1].append(piece)
    rows = max(len(lines), 6)  # the frames of a slider have one size
    fig, ax = new_canvas(LINE, 1.05 * rows + 0.2)
    for number, line in enumerate(lines):
        x = MARGIN
        for piece in line:
            color = FIRST if piece[0] == " " and piece[1:] in whole else NEUTRAL
            y = 1.05 * (rows - number - 1) + 0.2
            draw_box(ax, x, y, _width(piece) - GAP, 0.8, piece.replace(" ", "·"), color=color)
            x += _width(piece)
    return fig


def _width(piece: str) -> float:
    return LETTER * len(piece) + 0.3 + GAP


def draw_tokens_per_word(
    pieces: Mapping[int, float], *, letters: tuple[int, float], words: tuple[int, float]
) -> Figure:
    """Draw tokens per word over the size of the vocabulary, for byte-pair encoding, characters and words."""
    fig, ax = new_figure(height=3.2)
    ax.plot(list(pieces), list(pieces.values()), label="byte pairs")
    ax.plot(*letters, color=SECOND, marker="s", ls="", markersize=9)
    ax.plot(*words, color=FIRST, marker="^", ls="", markersize=10)
    ax.annotate("characters", letters, (-4, 10), textcoords="offset points", va="bottom")
    ax.annotate("words", words, (-8, -3), textcoords="offset points", ha="right", va="top")
    middle = list(pieces)[len(pieces) // 2]
    place = (middle, pieces[middle])
    ax.annotate("byte pairs", place, (10, 8), textcoords="offset points", va="bottom")
    ax.set(xlabel="entries of the vocabulary", ylabel="tokens per word", ylim=(0, 1.2 * letters[1]))
    return fig


def draw_padding(panels: Mapping[str, Sequence[Sequence[int]]]) -> Figure:
    """Draw batches of sentences as stripes, hatched where there is padding; a panel has a list of batches."""
    fig, _ = new_figure(1, len(panels), height=5.2)
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
