"""Figures in which a reader drags a score or a query, and the weights follow, without a kernel.

Without a script (a notebook that is not trusted yet, a printout), the start is an ordinary figure. The script
draws the same picture from the numbers and computes it anew for each place of a handle. Both use the same
places, in points from the upper left corner.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from annotated_transformer.book.cells.slider import with_script
from annotated_transformer.book.drawing.boxes import draw_tip, draw_weight
from annotated_transformer.book.drawing.figures import image, new_canvas, numbered, placeholder_alt, svg
from annotated_transformer.book.output import CellOutput
from annotated_transformer.plotting.figures import WIDTH
from annotated_transformer.plotting.palette import FIRST, INK, KEY, MUTED, NEUTRAL, OUTPUT, QUERY, VALUE

POINTS = 72 * WIDTH
SIDE = 152.0  # of a plane
Vector = Sequence[float | int]


@dataclass(frozen=True)
class DragScores:
    """The scores of one query, by the names of the keys; each is dragged up and down."""

    scores: Mapping[str, float]

    def data(self) -> dict[str, Any]:
        """Return what the script needs."""
        numbers = list(self.scores.values())
        reach = max(4.0, 2 * max(abs(number) for number in numbers))
        return {
            "kind": "scores",
            "hint": "Drag a dot, or select it and press ↑ or ↓.",
            "names": list(self.scores),
            "scores": numbers,
            "low": -reach,
            "high": reach,
            "step": reach / 16,
            "height": 228.0,
        }

    def draw(self) -> Figure:
        """Draw the start."""
        data = self.data()
        fig, ax = _canvas(data["height"])
        top, bottom, slot = 44.0, 184.0, 148 / len(self.scores)
        weights = torch.tensor(data["scores"]).double().softmax(dim=0).tolist()
        zero = (top + bottom) / 2
        for left, name, ground in ((8.0, "scores", zero), (176.0, "weights", bottom)):
            ax.text(left, 14, name, weight="bold")
            ax.plot([left, left + 148], [ground, ground], color=NEUTRAL, lw=1, ls="-", marker="")
        for place, (name, score, weight) in enumerate(
            zip(data["names"], data["scores"], weights, strict=True)
        ):
            x, y = 8 + slot * (place + 0.5), zero - score / data["high"] * (bottom - zero)
            full = weight * (bottom - top)
            ax.add_patch(Rectangle((x - slot / 4, y), slot / 2, zero - y, facecolor=FIRST))
            ax.add_patch(Rectangle((x + 168 - slot / 4, bottom - full), slot / 2, full, facecolor=FIRST))
            ax.plot(x, y, color=INK, marker="o", markersize=16, ls="")
            ax.text(x, y + (24 if score < 0 else -14), _write(score), ha="center")
            ax.text(x + 168, bottom - full - 6, _write(weight), ha="center")
            for across in (x, x + 168):
                ax.text(across, 220, name, ha="center")
        return fig


@dataclass(frozen=True)
class DragQuery:
    """A query among keys; two of its features, `axes`, are dragged in a plane, the others stay."""

    query: Vector
    keys: Mapping[str, Vector]
    values: Mapping[str, Vector]
    axes: tuple[int, int]
    features: tuple[str, str]
    outputs: tuple[str, str]

    def data(self) -> dict[str, Any]:
        """Return what the script needs; `span` holds the limits of the plane of the values."""
        keys = [list(self.keys[name]) for name in self.keys]
        values = [list(self.values[name]) for name in self.keys]
        a, b = self.axes
        reach = max(1.0, *(abs(number) for key in [*keys, self.query] for number in (key[a], key[b])))
        least, most = min(0.0, *map(min, values)), max(0.0, *map(max, values))
        room = (most - least) or 1.0
        return {
            "kind": "query",
            "hint": "Drag the orange dot, or select it and press the arrow keys.",
            "names": list(self.keys),
            "query": list(self.query),
            "keys": keys,
            "values": values,
            "axes": list(self.axes),
            "features": list(self.features),
            "outputs": list(self.outputs),
            "span": [least - 0.3 * room, most + 0.1 * room],
            "low": -0.6 * reach,
            "high": 1.2 * reach,
            "step": reach / 16,
            "height": 268.0 + 20 * len(keys),
        }

    def draw(self) -> Figure:
        """Draw the start."""
        data = self.data()
        fig, ax = _canvas(data["height"])
        limits, span = (data["low"], data["high"]), tuple(data["span"])
        query, keys, values = (torch.tensor(data[part]).double() for part in ("query", "keys", "values"))
        scores = keys @ query / len(query) ** 0.5
        weights = scores.softmax(dim=0)
        output = (weights @ values).tolist()
        for left, title, (across, up), low_high in (
            (6.0, "keys and query", self.features, limits),
            (172.0, "values and output", self.outputs, span),
        ):
            ax.text(left, 14, title, weight="bold")
            ax.text(left, 32, f"↑ {up}", color=MUTED)
            ax.text(left + SIDE, 208, f"{across} →", ha="right", color=MUTED)
            x, y = _spot((0, 0), left, low_high)
            ax.plot([left, left + SIDE], [y, y], color=NEUTRAL, lw=1, ls="-", marker="")
            ax.plot([x, x], [40, 40 + SIDE], color=NEUTRAL, lw=1, ls="-", marker="")
        a, b = self.axes
        origin = _spot((0, 0), 6.0, limits)
        for name, key in zip(self.keys, data["keys"], strict=True):
            tip = _spot((key[a], key[b]), 6.0, limits)
            draw_tip(ax, origin, tip, KEY, 2.0)
            _beside(ax, tip, (key[a], key[b]), name, 6.0)
        tip = _spot((data["query"][a], data["query"][b]), 6.0, limits)
        draw_tip(ax, origin, tip, QUERY, 3.5)
        ax.plot(*tip, color=QUERY, marker="o", markersize=16, ls="")
        ax.text(tip[0] + 12, tip[1] - 8, "query", weight="bold")
        mean = _spot(output, 172.0, span)
        rows = zip(self.keys, data["values"], scores.tolist(), weights.tolist(), strict=True)
        for place, (name, value, score, weight) in enumerate(rows):
            spot, y = _spot(value, 172.0, span), 252 + 20 * place
            draw_weight(ax, spot, mean, weight)
            ax.plot(*spot, color=VALUE, marker="o", markersize=8, ls="")
            _beside(ax, spot, value, name, 172.0)
            ax.text(66, y, name, ha="right")
            ax.text(112, y, _write(score), ha="right")
            ax.add_patch(Rectangle((122, y - 11), 150 * weight, 13, facecolor=FIRST))
            ax.text(127 + 150 * weight, y, _write(weight))
        ax.plot(*mean, color=OUTPUT, marker="D", markersize=10, markeredgecolor=INK, ls="")
        ax.text(112, 232, "score", ha="right", color=MUTED)
        ax.text(122, 232, "weight", color=MUTED)
        said = ", ".join(f"{name} {number:.1f}" for name, number in zip(self.outputs, output, strict=True))
        ax.text(30, 256 + 20 * len(self.keys), f"output: {said}", weight="bold")
        return fig


def show_drag(number: str, drag: DragQuery | DragScores, **values: object) -> CellOutput:
    """Show a figure in which the reader drags a query or scores as figure `number`.

    Its words have places for the `values`.

    Raises:
        ValueError: The figure cannot be shown.
    """
    alt = placeholder_alt(number)
    return numbered(
        number,
        f'<div class="at-stage">{image(svg(drag.draw()), alt)}</div>',
        [("", values)],
        kind=" at-drag",
        script=with_script("drag.js", "at-data", {**drag.data(), "alt": alt}),
    )


def _canvas(height: float) -> tuple[Figure, Axes]:
    """Return an empty area in points, the origin at the top left."""
    fig, ax = new_canvas(POINTS, height)
    ax.set_ylim(height, 0)
    return fig, ax


def _spot(vector: Vector, left: float, span: Vector) -> tuple[float, float]:
    """Return where a vector is in the plane that begins at `left` and shows the numbers of `span`."""
    unit = SIDE / (span[1] - span[0])
    return left + unit * float(vector[0] - span[0]), 40 + SIDE - unit * float(vector[1] - span[0])


def _beside(ax: Axes, spot: Vector, vector: Vector, name: str, left: float) -> None:
    """Write the name of a vector in the plane that begins at `left` where no axis is: within the plane."""
    right, up = vector
    if right and up:
        far = spot[0] > left + 0.7 * SIDE
        ax.text(spot[0] + (-7 if far else 3), spot[1] - 6, name, ha="right" if far else "left")
    else:
        ax.text(spot[0] - 5, spot[1] + (4 if up else 16), name, ha="right")


def _write(number: float) -> str:
    text = f"{number:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")
