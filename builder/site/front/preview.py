"""Previews of shared links to a page: OpenGraph tags, and a picture of 1200 × 630 pixels."""

import json
import re
from html import escape
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Curve

from annotated_transformer.plotting.figures import HOUSE_STYLE
from annotated_transformer.plotting.palette import INK, KEY_TEXT, MUTED, QUERY, QUERY_TEXT
from builder.site.front.cover_data import FILE

PICTURE = "_static/cover.png"
DESCRIPTION = re.compile(r'<meta name="description" content="([^"]*)"')
TAG = re.compile(r"<[^>]+>")
WIDTH, HEIGHT = 1200, 630


def tags(title: str, site: str, metatags: str, base: str, address: str) -> str:
    """Return a page's OpenGraph and Twitter tags; `metatags` has its description.

    Addresses must be absolute, so the picture and `og:url` need the book's own address, `base`.
    """
    description = DESCRIPTION.search(metatags)
    properties = {
        "og:type": "website" if title == site else "article",
        "og:site_name": escape(site),
        "og:title": escape(title),
        "og:description": description[1] if description else "",
    }
    if base:
        properties |= {
            "og:url": escape(address),
            "og:image": escape(f"{base.rstrip('/')}/{PICTURE}"),
            "og:image:width": str(WIDTH),
            "og:image:height": str(HEIGHT),
            "og:image:alt": "The words of an English sentence joined to those of its German translation",
        }
    lines = [f'<meta property="{name}" content="{value}" />' for name, value in properties.items() if value]
    card = "summary_large_image" if base else "summary"
    return "\n".join([*lines, f'<meta name="twitter:card" content="{card}" />', ""])


def draw(file: Path, title: str) -> None:
    """Write the picture: the title, and the cover's two sentences with what each word reads."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    with matplotlib.rc_context(HOUSE_STYLE):
        fig = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100, facecolor="white")
        ax = fig.add_axes((0, 0, 1, 1))
        ax.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0))
        ax.set_axis_off()
        ax.text(70, 110, title, size=42, weight="bold", color=INK)
        ax.text(70, 165, "A book to read, to run and to import", size=24, color=MUTED)
        top, bottom = 300.0, 520.0
        source = [token for token in data["source"] if token[0] != "<"]
        above = _words(fig, source, top, KEY_TEXT, "bottom")
        below = _words(fig, data["target"], bottom, QUERY_TEXT, "top")
        for at, row in zip(below, data["weights"], strict=True):
            for to, weight in zip(above, row, strict=False):  # not to the end-of-sentence token
                if weight >= 0.03:
                    points = [(to, top + 14), (to, 410), (at, 410), (at, bottom - 14)]
                    curve = Curve(points, [Curve.MOVETO, *[Curve.CURVE4] * 3])
                    width, alpha = 1.5 + 9 * weight, 0.1 + 0.75 * weight
                    ax.add_patch(PathPatch(curve, fill=False, edgecolor=QUERY, lw=width, alpha=alpha))
        file.parent.mkdir(parents=True, exist_ok=True)
        fig.savefig(file, metadata={"Software": None})


def _words(fig: Figure, words: list[str], y: float, color: str, align: str) -> list[float]:
    """Write `words` in a line across the picture, and return where the middle of each is."""
    ax = fig.axes[0]
    texts = [ax.text(0, y, word, size=26, color=color, ha="center", va=align) for word in words]
    fig.draw_without_rendering()
    widths = [text.get_window_extent().width for text in texts]
    gap = (WIDTH - 160 - sum(widths)) / (len(words) - 1)
    middles = [80 + sum(widths[:i]) + i * gap + width / 2 for i, width in enumerate(widths)]
    for text, middle in zip(texts, middles, strict=True):
        text.set_x(middle)
    return middles
