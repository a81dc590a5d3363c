"""The drawings of the chapter on decoding."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.palette import FIRST, INK, LOOKS, MUTED, NEUTRAL, OUTPUT, QUERY, SECOND, VALUE

Table = Mapping[str, Mapping[str, float]]  # the next words of each text so far, with their probabilities
Step = tuple[Mapping[str, float], Sequence[str]]  # all continuations with their probabilities, and those kept


def draw_tree(table: Table, steps: Sequence[Step], *, end: str) -> Figure:
    """Draw all texts of a table as a tree, and what a search kept and dropped in its first steps.

    Texts that the search has not computed are pale. What it dropped is crossed out, and the best text that it
    has finished is framed.
    """
    leaves = _leaves(table, "", end)
    depth = max(len(leaf.split()) for leaf in leaves)
    fig, ax = new_canvas(2.2 * depth + 1.1, 1.35 * len(leaves) + 0.3)
    kept = {text for _, chosen in steps for text in chosen}
    computed = {text: share for continued, _ in steps for text, share in continued.items()}
    finished = {text: computed[text] for text in kept if text.endswith(end)}
    best = max(finished, key=finished.__getitem__, default=None)
    middle = (len(leaves) - 1) / 2
    places = {"": (0.2, 1.35 * (len(leaves) - 1 - middle) + 0.7)}
    for text in _nodes(table, "", end):
        below = [row for row, leaf in enumerate(leaves) if leaf == text or leaf.startswith(f"{text} ")]
        height = 1.35 * (len(leaves) - 1 - sum(below) / len(below)) + 0.7
        words = text.split()
        places[text] = 2.2 * len(words) - 1.0, height
        start = places[" ".join(words[:-1])]
        used, dropped = text in kept, text in computed and text not in kept
        color = FIRST if used else QUERY if dropped else NEUTRAL
        style, width = ("-", 2.5) if used else ("--", 1.5) if dropped else (":", 1.0)
        left = start[0] + (0.95 if words[:-1] else 0.0)
        ax.plot([left, places[text][0] - 0.95], [start[1], height], color=color, ls=style, lw=width, marker="")
        ink = INK if used or dropped else MUTED
        alpha = 1.0 if used or dropped else 0.55
        weight = "bold" if used else "normal"
        word = "end" if words[-1] == end else words[-1]
        ax.text(places[text][0], height + 0.3, word, ha="center", va="center", color=ink, weight=weight, alpha=alpha)
        if text in computed:
            share = f"{'✕ ' if dropped else ''}{computed[text]:.3f}".rstrip("0")
            ax.text(places[text][0], height - 0.3, share, ha="center", va="center", color=ink, weight=weight)
        if text == best:
            frame = Rectangle((places[text][0] - 0.95, height - 0.62), 1.9, 1.24, fill=False, edgecolor=VALUE, lw=2.5)
            ax.add_patch(frame)
    return fig


def _nodes(table: Table, text: str, end: str) -> list[str]:
    """Return all texts of a table, each after the text that it continues."""
    if text.endswith(end):
        return []
    continued = [f"{text} {word}".strip() for word in table.get(text, {end: 1.0})]
    return [node for child in continued for node in (child, *_nodes(table, child, end))]


def _leaves(table: Table, text: str, end: str) -> list[str]:
    return [node for node in _nodes(table, text, end) if node.endswith(end)]
