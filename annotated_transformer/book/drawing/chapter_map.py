"""The map at the head of each chapter: the whole model as far as the reader knows it, and “you are here”."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle

from annotated_transformer.book.drawing.boxes import Box, Point, draw_arrow, draw_line
from annotated_transformer.book.drawing.figures import new_canvas
from annotated_transformer.book.drawing.words import draw_vector, write
from annotated_transformer.plotting.palette import DECODER, ENCODER, FIRST, INK, MASKED, NEUTRAL, PAPER

SOURCE, TARGET, NEXT = ("the", "dog", "sleeps"), ("der", "Hund"), "schläft"
SHADES = (0.15, 0.85, 0.5)  # of the features of a vector, for example
ATTENTIONS = ("encoder attention", "decoder attention", "cross-attention")
# The chapter by which the reader knows a part.
SINCE = {
    **dict.fromkeys(ATTENTIONS, 2), "mask": 6, "embedding": 7, "output": 7, "positions": 8,
    "norm": 9, "feed-forward": 10, "loss": 16, "loop": 18,
}  # fmt: skip
PARTS = (*SINCE, "encoder", "decoder", "memory", "words", "next")
NAMES = {
    "memory": "what passes from encoder to decoder", "mask": "the causal mask", "norm": "Add & Norm",
    "output": "the linear layer and the softmax", "loop": "the written word goes back in",
    "words": "the words", "next": "the next word",
}  # fmt: skip
LEFT, RIGHT, WIDTH, AXIS = 0.1, 7.3, 6.3, 2.8  # the two panels, and the stream in each
LOW, PITCH, HEIGHT = 2.75, 1.3, 0.8  # of a panel, between its sub-layers, of each


class Map:
    """The drawing as a reader of `chapter` sees it, which is about the parts in `here`."""

    def __init__(self, chapter: int, here: Sequence[str]) -> None:
        self.chapter = chapter
        self.here = here
        self.fig, self.ax = new_canvas(14.0, 10.45)

    def knows(self, part: str) -> bool:
        """Return whether a chapter up to this one is about the part."""
        return self.chapter >= SINCE[part]

    def box(self, box: Box, label: str, part: str) -> None:
        """Draw a part, in ink where the reader is."""
        lit = part in self.here
        face, edge = (INK, INK) if lit else (PAPER, NEUTRAL)
        self.ax.add_patch(Rectangle(box[:2], *box[2:], facecolor=face, edgecolor=edge, lw=1.5, zorder=3))
        color, weight = (PAPER, "bold") if lit else (INK, "normal")
        write(self.ax, *box.center, label, color=color, weight=weight, zorder=4)


def describe_chapter_map(chapter: int, here: Sequence[str]) -> str:
    """Return what the map of a chapter about the parts in `here` shows, for those who do not see it."""
    seen = [part for part, since in SINCE.items() if since <= chapter and part not in here]
    words = [", ".join(NAMES.get(part, part) for part in parts) for parts in (here, seen)]
    known = f" Known by now: {words[1]}." if seen else ""
    return (
        f"Map of the model: an encoder reads “{' '.join(SOURCE)}” and passes one vector for each word to a "
        f"decoder, which has written “{' '.join(TARGET)}” and goes on with “{NEXT}”. "
        f"This chapter: {words[0]}.{known}"
    )


def draw_chapter_map(chapter: int, here: Sequence[str]) -> Figure:
    """Draw the model as two stacks and what leads from one to the other, as far as up to `chapter`.

    The parts in `here`, which the chapter is about, stand out.

    Raises:
        ValueError: The map has no such part.
    """
    if unknown := [part for part in here if part not in PARTS]:
        raise ValueError(f"the map has no {', '.join(unknown)}; its parts are {', '.join(PARTS)}")
    seen = Map(chapter, here)
    rows = (("encoder attention", "feed-forward"), ("decoder attention", "cross-attention", "feed-forward"))
    tops = [
        _draw_stack(seen, x, name, color, parts)
        for x, name, color, parts in zip(
            (LEFT, RIGHT), ("encoder", "decoder"), (ENCODER, DECODER), rows, strict=True
        )
    ]
    _draw_words(seen)
    _draw_memory(seen, tops[0])
    _draw_output(seen, tops[1])
    return seen.fig


def _draw_stack(seen: Map, x: float, name: str, color: str, parts: tuple[str, ...]) -> float:
    """Draw a stack with the sub-layers that the reader knows, and return where its panel ends."""
    ax, middle, high = seen.ax, x + AXIS, LOW + 0.35 + PITCH * len(parts) + 0.6
    lit, named = name in seen.here, "norm" in seen.here
    tall = 0.6 if named else HEIGHT
    edge = (INK, 3.0) if lit else (color, 1.5)
    panel = (x, LOW), WIDTH, high - LOW
    ax.add_patch(Rectangle(*panel, facecolor=PAPER, edgecolor=edge[0], lw=edge[1], zorder=1))
    ax.add_patch(Rectangle(*panel, facecolor=to_rgba(color, 0.14), lw=0, zorder=1))
    write(ax, x + 0.25, high - 0.45, name.capitalize(), "left", weight="bold")
    draw_arrow(ax, (middle, 0.95), (middle, LOW))
    if seen.knows("feed-forward"):
        write(ax, x + WIDTH - 0.25, high - 0.45, r"$N\,\times$", "right")
    for place, part in enumerate(parts):
        if seen.knows(part):
            box = Box(x + 0.35, LOW + 0.35 + PITCH * place, 2 * AXIS - 0.7, tall)
            seen.box(box, _label(seen, part), part)
            if seen.knows("mask") and part == "decoder attention":
                _draw_staircase(ax, (box.right[0] + 0.1, box.y))
            if seen.knows("norm"):
                bar = Box(box.x, box.top[1], box.width, PITCH - 0.14 - tall if named else 0.17)
                face = INK if named else to_rgba(NEUTRAL, 0.6)
                ax.add_patch(Rectangle(bar[:2], *bar[2:], facecolor=face, edgecolor=NEUTRAL, lw=1, zorder=3))
                if named:
                    write(ax, *bar.center, "Add & Norm", color=PAPER, weight="bold", zorder=4)
    return high


def _label(seen: Map, part: str) -> str:
    """Return the name of a part: attention has kinds from chapter 4 on."""
    if part not in ATTENTIONS:
        return part
    if seen.chapter < 4:
        return "attention"
    return part if part == "cross-attention" else "self-attention"


def _draw_staircase(ax: Axes, corner: Point) -> None:
    """Draw the sign of a causal mask: three queries and three keys, filled where the mask hides."""
    size = HEIGHT / 3
    for row in range(3):
        for column in range(3):
            spot = corner[0] + size * column, corner[1] + size * (2 - row)
            face = INK if column > row else PAPER
            ax.add_patch(Rectangle(spot, size, size, facecolor=face, edgecolor=MASKED, lw=0.8, zorder=3))


def _draw_words(seen: Map) -> None:
    """Draw the words at the bottom, and how they become vectors."""
    ax = seen.ax
    for x, words in ((LEFT, SOURCE), (RIGHT, TARGET)):
        letters = sum(map(len, words)) + 3 * len(words)  # with three for the margins of each
        unit, left, middle = (2 * AXIS - 0.2 * (len(words) - 1)) / letters, x, x + AXIS
        for word in words:
            width = unit * (len(word) + 3)
            seen.box(Box(left, 0.1, width, 0.8), word, "words")
            left += width + 0.2
        if seen.knows("embedding"):
            seen.box(Box(x + 0.35, 1.2, 2 * AXIS - 0.7, 0.7), "embedding", "embedding")
        if seen.knows("positions"):
            lit = "positions" in seen.here
            spot = middle, 2.33
            ax.add_patch(Circle(spot, 0.27, facecolor=INK if lit else PAPER, edgecolor=INK, lw=1.5, zorder=3))
            write(ax, *spot, "+", color=PAPER if lit else INK, zorder=4)
            weight = "bold" if lit else "normal"
            write(ax, middle + 0.45, 2.33, "positions", "left", weight=weight)


def _draw_memory(seen: Map, top: float) -> None:
    """Draw the encoder's output, one vector for each source word, and its way into the decoder."""
    ax, middle, y = seen.ax, LEFT + AXIS, top + 0.75
    draw_arrow(ax, (middle, top), (middle, y))
    for place, word in enumerate(SOURCE):
        color = FIRST if word == "dog" else NEUTRAL
        draw_vector(ax, middle - 0.95 + 0.75 * place, y, SHADES, color=color, size=(0.4, 0.32))
    lit = "memory" in seen.here
    end = RIGHT + 0.35 if seen.knows("cross-attention") else RIGHT
    across, level = 6.85, LOW + 0.35 + PITCH + HEIGHT / 2
    start = middle + 1.15, y + 0.48
    draw_line(ax, start, (across, start[1]), (across, level))
    draw_arrow(ax, (across, level), (end, level))
    if lit:
        ax.lines[-1].set_linewidth(4)
        write(ax, middle + 1.3, start[1] + 0.25, "all that passes", "left", "bottom", weight="bold")


def _draw_output(seen: Map, top: float) -> None:
    """Draw the next word, and what leads to it, to the loss, and back."""
    ax, middle = seen.ax, RIGHT + AXIS
    y = top + 0.35
    if seen.knows("output"):
        seen.box(Box(RIGHT + 0.35, y, 2 * AXIS - 0.7, 0.7), "linear, softmax", "output")
    word = Box(middle - 1.4, top + 1.5, 2.8, 0.8)
    draw_arrow(ax, (middle, top), word.bottom)
    seen.box(word, NEXT, "next")
    if seen.knows("loop"):
        lit = "loop" in seen.here
        side = RIGHT + WIDTH + 0.25
        draw_line(ax, word.right, (side, word.right[1]), (side, 0.5))
        ax.lines[-1].set(linewidth=4 if lit else 1.5, zorder=0)
        draw_arrow(ax, (side, 0.5), (RIGHT + 2 * AXIS, 0.5))
    if seen.knows("loss"):
        loss = Box(LEFT + 0.35, word.y, 2.2, 0.8)
        seen.box(loss, "loss", "loss")
        draw_arrow(ax, word.left, loss.right)
