"""Figures in the house style: drawn by matplotlib, shown as SVG.

The title, the alt text and the caption of a figure stand in the chapter's source, below the cell that shows
it; the builder puts them into the notebook and the page (`builder/figure_words.py`). The cell displays the
picture with its number, and keeps the values for the places in these words.

While the book is built and tested (CLAIMS_MUST_HOLD is set), a figure that is not legible on a phone is
refused. In a reader's copy, other words or sizes may need more room: the figure is shown, as large as it is.
"""

import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any
from urllib.parse import quote, unquote

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from annotated_transformer.book.drawing.captions import EMPTY, digest, follow, lettering
from annotated_transformer.book.output import CellOutput, must_hold
from annotated_transformer.plotting import figures as plotting
from annotated_transformer.plotting.figures import HOUSE_STYLE, SHRUNK, WIDE, WIDTH, svg_text
from annotated_transformer.plotting.palette import HEAT, PAPER, THEMED

PHONE = 344 / 96  # inches of a phone's screen that a figure can use
SMALLEST_FONT = 9.0
ROUNDING = 0.02  # inches

CELLS = re.compile(
    r'<g id="at-cell\|(\d+)\|(\d+)\|([\d.]+)\|([\d.]+)\|([^|"]*)\|([^|"]*)"'
    r'(>\s*<path [^>]*style=")fill: (#\w{6})'
)
# These need no escape in a picture's address, in an attribute in double quotes, or in JSON.
AS_IT_IS = " ':/;=,()+?!@$*"
SHADES = re.compile(r'<g id="at-shade\|([\d.]+)"(>\s*<path [^>]*style=")fill: (#\w{6})')


def new_figure(
    rows: int = 1, columns: int = 1, *, width: float = WIDTH, height: float = 3.0
) -> tuple[Figure, Any]:
    """Start a plot in the house style: `fig, ax = new_figure()`, or an array of axes for several panels."""
    matplotlib.rcParams.update(HOUSE_STYLE)  # for the texts and lines that the caller adds, too
    return plotting.new_plot(rows, columns, width=width, height=height)


def new_canvas(columns: float | int, rows: float | int, *, width: float = WIDTH) -> tuple[Figure, Axes]:
    """Start a drawing on an empty area of `columns` × `rows` units, the origin at the bottom left."""
    matplotlib.rcParams.update(HOUSE_STYLE)
    fig = Figure(figsize=(width, width * rows / columns))
    ax = fig.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set(xlim=(0, columns), ylim=(0, rows))
    ax.set_axis_off()
    return fig, ax


def show_figure(number: str, fig: Figure, **values: object) -> CellOutput:
    """Show `fig` as figure `number`; its words have places for the `values`.

    Raises:
        ValueError: While the book is built, the figure is not legible on a phone.
    """
    drawing = svg(fig)
    picture = staged(drawing, placeholder_alt(number))
    return numbered(number, picture, [("", values)], mark=map_mark(drawing), script=map_script(drawing))


def numbered(
    number: str,
    picture: str,
    frames: Sequence[tuple[str, Mapping[str, object]]],
    *,
    start: int = 0,
    kind: str = "",
    mark: str = "",
    script: str = "",
    kept: Mapping[str, object] | None = None,
) -> CellOutput:
    """Return a picture below its number, with room for its words.

    `frames` has a label and the values for each picture of a slider, and one pair for other figures.
    What is `kept` goes into the output's metadata.
    """
    worded = [
        {"label": label, "values": {name: _as_json(value) for name, value in values.items()}}
        for label, values in frames
    ]
    figure = {"number": number, "start": start, "frames": worded}
    link = f'<a class="at-figure-number" href="#{anchor(number)}">Figure {number}</a>'
    html = (
        f'<figure class="at-figure{kind}" id="{anchor(number)}"{mark}><p class="at-figure-title">{link}</p>'
        f"{picture}{EMPTY}{script}</figure>"
    )
    return CellOutput(f"Figure {number}", follow(html, figure), {"figure": figure, **(kept or {})})


def _as_json(value: Any) -> str | int | float:
    """Return a value as a notebook keeps it: a number, or else its text."""
    value = value.item() if hasattr(value, "item") else value
    keeps = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))  # JSON has no NaN
    return value if keeps else str(value)


def placeholder_alt(number: str) -> str:
    """Return the alt text of a picture whose words stand below it."""
    return f"Figure {number}, described below"


def anchor(number: str) -> str:
    """Return the id of a figure: figure-3-1."""
    return "figure-" + number.replace(".", "-")


def map_mark(drawing: str) -> str:
    """Return the attribute by which the script finds the figures that hold an attention map."""
    return ' data-map=""' if 'class="at-cell"' in drawing else ""


def map_script(drawing: str) -> str:
    """Return the script that makes attention maps interactive, if the drawing contains one."""
    if not map_mark(drawing):
        return ""
    return f"<script>\n{files(__package__).joinpath('attention_map.js').read_text('utf-8')}</script>"


def check_legible(fig: Figure) -> None:
    """Refuse letters too small for a phone, and anything that the edge of the figure cuts off."""
    width, height = fig.get_size_inches()
    shrink = SHRUNK if width == WIDE else min(1.0, PHONE / width)
    fig.draw_without_rendering()  # gives the axes their tick labels
    for text in fig.findobj(Text):
        size, words = float(text.get_fontsize()), text.get_text().strip()
        if text.get_visible() and words and size * shrink < SMALLEST_FONT:
            raise ValueError(
                f"{words!r} has font size {size:g}, on a phone {size * shrink:.1f} because the figure is "
                f"{width:g} in wide; use font size {SMALLEST_FONT / shrink:.1f} or a narrower figure"
            )
    side, excess = _excess(fig)
    if excess > ROUNDING:
        raise ValueError(
            f"the drawing reaches {excess:.2f} in beyond the {side} edge of its {width:g} × {height:g} in; "
            "make the figure larger or the drawing smaller"
        )


def _excess(fig: Figure) -> tuple[str, float]:
    """Return the side at which a drawing reaches farthest beyond the edge, and by how many inches."""
    (width, height), box = fig.get_size_inches(), fig.get_tightbbox()
    edges = {"left": -box.x0, "right": box.x1 - width, "bottom": -box.y0, "top": box.y1 - height}
    return max(edges.items(), key=lambda edge: edge[1])


def _whole(fig: Figure) -> Bbox | None:
    """Return the area that holds the figure and all that reaches beyond its edges; None if nothing does."""
    fig.draw_without_rendering()
    if _excess(fig)[1] <= ROUNDING:
        return None
    return Bbox.union([Bbox.from_bounds(0.0, 0.0, *fig.get_size_inches()), fig.get_tightbbox()])


def svg(fig: Figure) -> str:
    """Return `fig` as SVG: the same bytes every time, colored by the page's theme where there is one."""
    area = None
    if must_hold():  # only one of these: each draws the figure, which moves panels a little
        check_legible(fig)
    else:
        area = _whole(fig)
    return svg_text(fig, _themed, paper=f"var(--at-paper, {PAPER.lower()})", area=area)


def _themed(text: str) -> str:
    """Turn the marks of cells and areas into data for the script, and colors into the theme's."""
    text = CELLS.sub(_cell, text)
    text = SHADES.sub(_shade, text)
    for color, variable in THEMED.items():
        text = text.replace(color.lower(), f"var({variable}, {color.lower()})")
    return text


def _cell(found: re.Match[str]) -> str:
    """Turn the mark of a map's cell into data for the script, and its color into the theme's."""
    row, column, weight, total, query, key, before, color = found.groups()
    data = {"row": row, "column": column, "weight": weight, "sum": total, "query": query, "key": key}
    attributes = " ".join(f'data-{name}="{escape(unquote(value))}"' for name, value in data.items())
    return f'<g class="at-cell" {attributes}{before}fill: {color}; fill: {_mix(weight)}'


def _shade(found: re.Match[str]) -> str:
    """Color an area by the theme, on the scale of the attention maps."""
    share, before, color = found.groups()
    return f"<g{before}fill: {color}; fill: {_mix(share)}"


def _mix(share: str) -> str:
    """Return the CSS color of a share, from paper (0) to the theme's heat (1)."""
    percent = f"{100 * float(share):.0f}%"
    paper = PAPER.lower()  # which becomes a variable, as everywhere in the drawing
    return f"color-mix(in srgb, var(--at-heat, {HEAT.lower()}) {percent}, {paper})"


def data_uri(drawing: str) -> str:
    """Return an SVG as an address that holds the whole picture, as text, because base64 compresses badly."""
    return "data:image/svg+xml," + quote(drawing, safe=AS_IT_IS)


def image(drawing: str, alt: str) -> str:
    """Return an SVG as an image, which the book's script replaces by the drawing itself, to color it.

    `data-words` is a digest of the words and of how much is drawn, `data-drawn` one of every byte: a stored
    picture that is out of date does not match them.
    """
    look = drawing[: drawing.index('" ')].removeprefix('<svg style="')
    return (
        f'<img class="at-svg" style="{look}" alt="{escape(alt)}" data-words="{words_digest(drawing)}" '
        f'data-drawn="{digest(drawing)}" src="{data_uri(drawing)}">'
    )


def staged(drawing: str, alt: str) -> str:
    """Return an SVG as an image; a wide one in a frame that scrolls sideways, keys included."""
    picture = image(drawing, alt)
    wide = "min-width:" in drawing[: drawing.index('" ')]  # its style, the first attribute
    keys = 'tabindex="0" data-lm-suppress-shortcuts'  # JupyterLab's shortcuts would move to another cell
    return f'<div class="at-stage" {keys}>{picture}</div>' if wide else picture


def words_digest(drawing: str) -> str:
    """Return a digest of a drawing's words in order, without their digits, and of how much is drawn.

    It does not depend on the low bits of numbers, which differ between processors.
    """
    words = [re.sub(r"\d[\d.]*(e[-+]?\d+)?", "0", word) for word in lettering(drawing)]
    counts = [f"{tag} {drawing.count(f'<{tag} ')}" for tag in ("path", "use", "text")]
    return digest(*words, *counts)
