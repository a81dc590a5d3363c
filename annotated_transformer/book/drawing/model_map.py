"""The book's map of the whole model: encoder and decoder, their three attentions, and the mask of each."""

from collections.abc import Mapping
from typing import NamedTuple

from jaxtyping import Bool
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from annotated_transformer.book.drawing.boxes import Box, draw_arrow, draw_box
from annotated_transformer.book.drawing.figures import new_canvas
from annotated_transformer.book.drawing.matrices import draw_matrix
from annotated_transformer.book.drawing.words import Words, write
from annotated_transformer.plotting.palette import DECODER, ENCODER, INK, KEY, MUTED, NEUTRAL, OUTPUT, PAPER

CELL = 0.6
FLAT = 1.7  # the height of a box without a mask
Mask = Bool[Tensor, "_ _"]  # of another size in each box
Names = Mapping[str, str]


class Place(NamedTuple):
    """Where an attention stands on the map, and which sentences its queries and keys come from."""

    box: Box
    color: str
    queries: str
    keys: str


PLACES = {
    "encoder self-attention": Place(Box(0.45, 1.95, 6.1, 6.8), ENCODER, "source", "source"),
    "decoder self-attention": Place(Box(7.45, 1.95, 6.1, 6.2), DECODER, "target", "target"),
    "cross-attention": Place(Box(7.45, 9.5, 6.1, 6.2), DECODER, "target", "source"),
}


def draw_model_map(
    source: Words, target: Words, *, masks: Mapping[str, Mask] | None = None, notes: Names | None = None
) -> Figure:
    """Draw encoder and decoder with their three attentions, and return the figure.

    `masks` maps "encoder self-attention", "decoder self-attention" and "cross-attention", or some of them, to
    a mask over the tokens of `source` and `target`, drawn inside the box. Without any mask, the boxes are
    flat, and the tokens stand below with their names. `notes` puts a few words below a mask.

    Raises:
        ValueError: A name is none of the three.
    """
    masks, notes = masks or {}, notes or {}
    unknown = sorted({*masks, *notes} - set(PLACES))
    if unknown:
        raise ValueError(f"the map has no {unknown[0]!r}; it has {', '.join(PLACES)}")
    places = PLACES if masks else _flat(PLACES)
    cross_box = places["cross-attention"].box
    beside = cross_box.center[1] - 0.5  # of the memory
    tops = {"Encoder": beside + 1.9, "Decoder": cross_box.top[1] + 1.0}
    below = 0.0 if masks else 0.6  # for the names of the tokens
    fig, ax = new_canvas(14.0, tops["Decoder"] + 1.6 + below)
    ax.set_ylim(-below, tops["Decoder"] + 1.6)
    for x, color, title in ((0.15, ENCODER, "Encoder"), (7.15, DECODER, "Decoder")):
        top = tops[title]
        ax.add_patch(Rectangle((x, 1.45), 6.7, top - 1.45, facecolor=color, alpha=0.12, lw=0))
        write(ax, x + 0.3, top - 0.5, title, "left", weight="bold")
    tokens = {"source": source, "target": target}
    boxes = {
        name: _draw_attention_box(ax, name, place, tokens, masks.get(name), notes.get(name, ""))
        for name, place in places.items()
    }
    encoder, decoder, cross = boxes.values()
    read = ("source", "target so far") if masks else (" ".join(source), " ".join(target))
    source_box = draw_box(ax, 1.0, 0.15, 5.0, 0.9, read[0], color=NEUTRAL)
    target_box = draw_box(ax, 8.0, 0.15, 5.0, 0.9, read[1], color=NEUTRAL)
    memory = draw_box(ax, 0.45, beside, 2.5, 1.0, "memory", color=ENCODER)
    prediction = draw_box(ax, 8.4, tops["Decoder"] + 0.5, 4.2, 0.95, "next word", color=OUTPUT)
    for token_box, reader, label in ((source_box, encoder, "source"), (target_box, decoder, "target so far")):
        draw_arrow(ax, token_box.top, (token_box.top[0], reader.y))
        if not masks:
            write(ax, token_box.center[0], -0.25, label, color=MUTED)
    draw_arrow(ax, (memory.center[0], encoder.y + encoder.height), memory.bottom)
    draw_arrow(ax, decoder, cross, "queries")
    draw_arrow(ax, memory.right, cross.left, "keys, values")
    draw_arrow(ax, cross, prediction)
    return fig


def _flat(places: Mapping[str, Place]) -> dict[str, Place]:
    """Return the places without room for masks, at the same distances."""
    lower = {name: place._replace(box=place.box._replace(height=FLAT)) for name, place in places.items()}
    decoder, cross = places["decoder self-attention"].box, places["cross-attention"]
    y = cross.box.y - decoder.height + FLAT
    lower["cross-attention"] = cross._replace(box=cross.box._replace(y=y, height=FLAT))
    return lower


def _draw_attention_box(
    ax: Axes, name: str, place: Place, tokens: Mapping[str, Words], mask: Mask | None, note: str
) -> Box:
    """Draw one attention with its mask inside, and return its box."""
    box = place.box
    draw_box(ax, *box, "", color=place.color)
    title = name.split()[-1]  # the panel's title is the rest
    spot = (box.center[0], box.y + box.height - 0.5) if mask is not None else box.center
    write(ax, *spot, title, color=INK)
    if mask is not None:
        queries, keys = tokens[place.queries], tokens[place.keys]
        blank = [[""] * len(keys) for _ in queries]
        corner = box.x + 2.4, box.y + 1.0
        size = len(keys) * CELL, len(queries) * CELL
        ax.add_patch(Rectangle(corner, *size, facecolor=PAPER, lw=0))
        cells = (CELL, CELL)
        draw_matrix(ax, *corner, blank, color=KEY, rows=queries, columns=keys, mask=mask, size=cells)
        write(ax, box.center[0], box.y + 0.5, note, color=INK)
    return box
