"""Figures in the house style, which a notebook shows, and which leave the style of other figures alone."""

import hashlib
import io
import re
from collections.abc import Callable
from typing import Any

import matplotlib
from cycler import cycler
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.plotting.formulas import flowing, keep_words, marked_labels
from annotated_transformer.plotting.palette import INK, KEY, OUTPUT, PAPER, QUERY, VALUE

WIDTH = 4.6  # inches: at font 12 still legible on a phone
WIDE = 6.4  # as wide as the text; a phone shows all of it, at 59%: letters of 12 points have 10 pixels
SHRUNK = 0.75  # elsewhere, a narrow window scrolls it sideways instead of making it smaller than this
SCALE = 1.08  # shown at most 8% wider than drawn: its letters are then as large as those of a caption

HOUSE_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "annotated-transformer",
    "font.family": "DejaVu Sans",  # comes with matplotlib: every machine measures the same letters
    "mathtext.fontset": "stix",  # so does this
    "font.size": 12,
    **{f"{part}.labelsize": 12 for part in ("axes", "xtick", "ytick")},
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "legend.fontsize": 12,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 2,
    "hatch.linewidth": 0.8,
    **{f"{part}.color": INK for part in ("text", "xtick", "ytick")},
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "patch.edgecolor": INK,
    "axes.prop_cycle": cycler(  # lines differ in more than color
        color=[KEY, QUERY, VALUE, OUTPUT], linestyle=["-", "--", "-.", ":"], marker=["o", "s", "^", "D"]
    ),
}
# The faces of the book, if they are there, and of other machines.
FACES = {
    "'DejaVu Sans'": "'Source Sans 3', 'DejaVu Sans', Verdana, sans-serif",
    "'STIXGeneral'": "'At Math', STIXGeneral, 'Cambria Math', 'Times New Roman', serif",
}
PALE = re.compile(r"(fill: url\(#(\w+)\)); fill-opacity: ([\d.]+)")


class Plot(Figure):
    """A figure that is drawn in the house style whatever the style of its surroundings.

    It is matplotlib's `Figure`, so it can be saved by `savefig`, and a notebook shows it as SVG.
    """

    def draw(self, renderer: Any) -> None:
        """Draw the figure; matplotlib makes some of its parts, such as ticks, only now."""
        keep_words(self)
        with matplotlib.rc_context(HOUSE_STYLE):
            super().draw(renderer)

    def savefig(self, *args: Any, **options: Any) -> None:
        """Save the figure as matplotlib does, with the letters of an SVG image as text."""
        with matplotlib.rc_context(HOUSE_STYLE):
            super().savefig(*args, **options)

    def _repr_svg_(self) -> str:
        return to_svg(self)


@refuses_other_kinds
def new_plot(
    rows: int = 1, columns: int = 1, *, width: float = WIDTH, height: float = 3.0
) -> tuple[Plot, Any]:
    """Start a figure in the house style: `fig, ax = new_plot()`, or an array of axes for several panels."""
    with matplotlib.rc_context(HOUSE_STYLE):
        fig = Plot(figsize=(width, height), layout="constrained", facecolor=PAPER)
        return fig, fig.subplots(rows, columns)


@refuses_other_kinds
def to_svg(fig: Figure) -> str:
    """Return `fig` as an SVG image with plain colors, the same bytes every time."""
    return svg_text(fig, lambda text: re.sub(r'<g id="at-[^"]*"', "<g", text), paper=PAPER.lower())


def svg_text(fig: Figure, change: Callable[[str], str], *, paper: str, area: Bbox | None = None) -> str:
    """Return `fig` as SVG on a paper of that color, after a `change` of its groups and colors.

    Only the groups with a name that begins with "at-" keep it until then. The `area`, in inches, is the
    figure's by default.
    """
    file = io.StringIO()
    with matplotlib.rc_context(HOUSE_STYLE), marked_labels(fig):
        fig.savefig(file, format="svg", transparent=True, bbox_inches=area)
    text = flowing(file.getvalue())
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="(?!at-)[^"]*"', "<g", text)  # nothing refers to these groups
    text = change(text)
    text = re.sub(r'="[^"]*"', lambda attribute: re.sub(r"\d+\.\d{3,}", _two_decimals, attribute[0]), text)
    for name, faces in FACES.items():
        text = text.replace(name, faces)
    for _, pattern, opacity in PALE.findall(text):  # matplotlib makes the hatching as pale as its ground
        text = re.sub(rf'(id="{pattern}"[^>]*>\s*<rect )(?=x)', rf'\1fill-opacity="{opacity}" ', text)
    text = PALE.sub(r"\1", text)
    prefix = hashlib.sha256(text.encode()).hexdigest()[:8]  # two figures of a page may not share an id
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", text)
    width = round(fig.get_figwidth() * 96 * SCALE)
    least = f"min-width:{round(width * SHRUNK)}px;" if fig.get_figwidth() > WIDTH else ""
    look = f"background:{paper};width:min(100%, {width}px);{least}height:auto"
    shield = 'class="mathjax_ignore" ' * ("$" in text)  # MathJax would read the words between two "$"
    root = f'<svg {shield}style="{look}" stroke-linejoin="round" stroke-linecap="butt" '
    return root + re.sub(r"\s*\n\s*", "\n", text[text.index("<svg") + len("<svg") :]).strip()


def _two_decimals(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
