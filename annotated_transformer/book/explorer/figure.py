"""A part of the explorer as a figure of a chapter: a drawing that its page can make interactive."""

import json
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle
from matplotlib.path import Path
from torch import Tensor

from annotated_transformer.book.drawing.figures import image, new_canvas, numbered, placeholder_alt, svg
from annotated_transformer.book.explorer.first_frame import (
    DIRECTION,
    LANGUAGES,
    SENTENCE,
    likeliest_tokens,
    plain,
)
from annotated_transformer.book.explorer.int8 import explorer_translator
from annotated_transformer.book.output import CellOutput
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.inspection.heads import Kind, attention_maps
from annotated_transformer.plotting.palette import (
    INK,
    KEY,
    KEY_TEXT,
    MUTED,
    NEUTRAL,
    OUTPUT,
    PAPER,
    QUERY,
    QUERY_TEXT,
)
from annotated_transformer.text.batching import Batch

VIEWS: dict[str, Kind] = {"encoder": "encoder", "cross-attention": "cross", "decoder": "decoder"}
DRAWN = 3  # curves per query: fixed, because which weights exceed a limit may depend on the processor
ROW = 0.82


class Reading(NamedTuple):
    """The attention to draw: keys, queries, weights (a row per query), the highlighted query, languages."""

    keys: list[str]
    queries: list[str]
    weights: Float[Tensor, "queries keys"]
    lit: int
    names: tuple[str, str]


def show_explorer(
    number: str,
    *,
    view: str = "cross-attention",
    sentence: str = SENTENCE,
    direction: str = DIRECTION,
    step: int = 0,
    layer: int | None = None,
    head: int | None = None,
) -> CellOutput:
    """Show what a shipped model reads while it translates `sentence`; in the book, a button runs the model.

    `view` is "encoder", "cross-attention" or "decoder". `step` is the index of the highlighted token: of the
    source in the view "encoder", of the translation in the others. `layer` and `head` count from
    0, too; unless given, the weights are those of the last layer, averaged over its heads. The figure's words
    have places for the `sentence`, the highlighted `word`, and the word that it reads `most`.

    Raises:
        ValueError: There is no such view, token, layer or head.
    """
    if view not in VIEWS:
        raise ValueError(f"view={view!r} is not a view of the explorer; choose from {', '.join(VIEWS)}")
    translator = explorer_translator(direction)
    config = translator.model.config
    layer = config.num_layers - 1 if layer is None else layer
    if layer not in range(config.num_layers) or head not in (None, *range(config.num_heads)):
        raise ValueError(
            f"layer={layer}, head={head} is not a place in {config.num_layers} layers of {config.num_heads} "
            "heads; count both from 0"
        )
    ids, shares, likeliest = likeliest_tokens(translator, sentence)
    reading = _read(translator, view, sentence, ids, direction, step, layer, head)
    fig = draw_attention_curves(reading, below=1 + len(likeliest[0]) if view == "decoder" else 0)
    if view == "decoder":
        words = [plain(token, step) for token in translator.tokenizer.tokens(likeliest[step])]
        _draw_likeliest(fig.axes[0], words, shares[step])
    place = "word" if view == "encoder" else "step"
    options = {
        "view": VIEWS[view],
        "direction": direction,
        "text": sentence,
        place: step,
        "layer": layer,
        "head": head,
    }
    said = {"sentence": sentence, "word": reading.queries[step], "most": _most(reading)}
    return numbered(
        number,
        image(svg(fig), placeholder_alt(number)),
        [("", said)],
        kind=" at-x-figure",
        mark=f' data-explorer="{escape(json.dumps(options))}"',
    )


def _read(
    translator: Translator,
    view: str,
    sentence: str,
    ids: list[int],
    direction: str,
    step: int,
    layer: int,
    head: int | None,
) -> Reading:
    """Return what a head, or the mean of a layer's heads, reads in this view."""
    tokenizer, config = translator.tokenizer, translator.model.config
    src = translator.encode([sentence]).ids[0]
    batch = Batch([0], torch.tensor([src]), torch.tensor([[config.bos_id, *ids]]))
    with torch.no_grad():
        heads = attention_maps(translator.model, batch)[VIEWS[view]][0, layer]
    source, target = (
        [plain(token, place) for place, token in enumerate(tokenizer.tokens(tokens))] for tokens in (src, ids)
    )
    from_, to = (LANGUAGES[code] for code in direction.split("-"))
    keys, queries, names = {
        "encoder": (source, source, (from_, from_)),
        "cross-attention": (source, target, (from_, to)),
        "decoder": (["start", *target[:-1]], target, (to, to)),
    }[view]
    if not 0 <= step < len(queries):
        raise ValueError(f"step={step} is not a token of {queries}; choose one from 0 to {len(queries) - 1}")
    return Reading(keys, queries, heads.mean(dim=0) if head is None else heads[head], step, names)


def draw_attention_curves(reading: Reading, *, below: int = 0) -> Figure:
    """Draw keys and queries in two columns, joined by curves as wide as the weights.

    `below` rows stay free under them.
    """
    rows = max(len(reading.keys), len(reading.queries))
    fig, ax = new_canvas(14.0, ROW * (rows + 1.4 + below))
    top = ROW * (rows + 0.9 + below)
    left, right = 4.9, 9.1

    def line(row: int) -> float:
        return top - ROW * (row + 1)

    for x, side, name, role, color in (
        (left, "right", reading.names[0], "keys", KEY_TEXT),
        (right, "left", reading.names[1], "queries", QUERY_TEXT),
    ):
        ax.text(x, top, f"{name} {role}", ha=side, va="center", color=color)
    for query, row in enumerate(reading.weights):
        for key in row.argsort(descending=True)[:DRAWN].tolist():
            ends = (left + 0.2, line(key)), (right - 0.2, line(query))
            _draw_curve(ax, *ends, float(row[key]), lit=query == reading.lit)
    lit = reading.weights[reading.lit]
    for key, word in enumerate(reading.keys):
        share = float(lit[key])
        bar = Rectangle((left + 0.1, line(key) - 0.3), -4.6 * share, 0.6, facecolor=KEY, alpha=0.35, lw=0)
        ax.add_patch(bar)
        ax.text(left, line(key), word, ha="right", va="center", color=INK)
    for query, word in enumerate(reading.queries):
        now = query == reading.lit
        color = PAPER if now else MUTED if below and query > reading.lit else INK
        weight = "bold" if now else "normal"
        ax.text(right, line(query), word, ha="left", va="center", color=color, weight=weight)
        if now:
            _draw_plate(ax, word, right, line(query))
    return fig


def _draw_plate(ax: Axes, word: str, x: float, y: float) -> None:
    """Draw a plate in the color of queries behind the highlighted word."""
    plate = FancyBboxPatch(
        (x - 0.1, y - 0.28),
        0.34 * len(word) + 0.3,
        0.56,
        boxstyle="round,pad=0.05",
        facecolor=QUERY_TEXT,
        lw=0,
        zorder=2,
    )
    ax.add_patch(plate)


def _draw_curve(
    ax: Axes, start: tuple[float, float], end: tuple[float, float], weight: float, *, lit: bool
) -> None:
    middle = (start[0] + end[0]) / 2
    path = Path(
        [start, (middle, start[1]), (middle, end[1]), end],
        [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4],
    )
    look = {"edgecolor": QUERY, "alpha": 0.9, "zorder": 1.5} if lit else {"edgecolor": NEUTRAL, "alpha": 0.35}
    ax.add_patch(PathPatch(path, facecolor="none", lw=0.4 + 6 * round(weight, 2), capstyle="butt", **look))


def _draw_likeliest(ax: Axes, words: Sequence[str], shares: Sequence[float]) -> None:
    """Draw the likeliest next tokens as bars, below the columns."""
    ax.text(4.9, ROW * (len(words) + 0.6), "likeliest next", ha="right", va="center", color=MUTED)
    for row, (word, share) in enumerate(zip(words, shares, strict=True)):
        y = ROW * (len(words) - row - 0.4)
        ax.text(4.9, y, word, ha="right", va="center", color=INK)
        ax.add_patch(Rectangle((5.1, y - 0.22), 6.0, 0.44, facecolor=NEUTRAL, alpha=0.2, lw=0))
        ax.add_patch(Rectangle((5.1, y - 0.22), 6.0 * round(share, 2), 0.44, facecolor=OUTPUT, lw=0))
        ax.text(13.6, y, f"{100 * share:.0f}%", ha="right", va="center", color=INK)


def _most(reading: Reading) -> str:
    return reading.keys[int(reading.weights[reading.lit].argmax())]
