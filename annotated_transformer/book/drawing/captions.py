"""The words of a figure, with the values of its cell in their places.

On a page, they are in the figure. A notebook has the book's words as text below it, and its first cell has
them with their places (`remember`): where the values or the lettering of a reader's run differ from the
book's, the figure says its own title and caption, or that its picture differs.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple
from urllib.parse import unquote

from annotated_transformer.book.output import must_hold

ALT = re.compile(r'alt="Figure [\w.]+, described below"')
FRAME_ALT = re.compile(r'"alt": "Figure [\w.]+, described below"')
EMPTY = "<figcaption></figcaption>"
HERE = "Title, caption, and description have the values of this run; the text below is the book's."
DIFFERS = "This picture differs from the book's, which the text below describes."
_book: dict[str, Mapping[str, Any]] = {}


class Words(NamedTuple):
    """The words of a figure; a slider has a label and an alt text for each frame, and shows `start` first."""

    number: str
    title: str
    caption: str
    alts: list[tuple[str, str]]
    start: int


def with_values(texts: Sequence[str], figure: Mapping[str, Any]) -> Words:
    """Return the words of a figure: its title, alt text, and caption, with its values in their places.

    Raises:
        KeyError: The figure has no value for a place.
        ValueError: A value does not have the format of its place.
    """
    versions = [[text.format(**frame["values"]) for text in texts] for frame in figure["frames"]]
    (title, _, caption), alts = versions[0], [alt for _, alt, _ in versions]
    labels = [frame["label"] for frame in figure["frames"]]
    return Words(figure["number"], title, caption, list(zip(labels, alts, strict=True)), figure["start"])


def put_words(html: str, words: Words) -> str:
    """Return a figure as its page has it, with its words in their places."""
    alts = iter(alt for _, alt in words.alts)
    html = html.replace("</a></p>", f"</a> {escape(words.title)}</p>", 1)
    html = html.replace(EMPTY, f"<figcaption>{escape(words.caption)}</figcaption>", 1)
    html = ALT.sub(lambda _: f'alt="{escape(words.alts[words.start][1])}"', html)
    return FRAME_ALT.sub(
        lambda _: f'"alt": {json.dumps(next(alts), ensure_ascii=False)}'.replace("</", "<\\/"), html
    )


def remember(figures: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep what `identity` returns for the figures of the book, by their numbers."""
    _book.update(figures)


def identity(texts: Sequence[str], words: Words, html: str) -> dict[str, Any]:
    """Return what tells a figure of the book from another: a digest of its picture's lettering.

    If its words have places, these are there, too, and a digest of the words with their values.
    """
    picture = {"lettering": digest(*lettering(unquote(html)))}
    filled = [words.title, words.caption, *(alt for _, alt in words.alts)]
    return picture | ({"texts": list(texts), "words": digest(*filled)} if "{" in "".join(texts) else {})


def follow(html: str, figure: Mapping[str, Any]) -> str:
    """Return a figure, with its own words in a reader's copy if its values differ from the book's."""
    if must_hold() or not (book := _book.get(figure["number"])):
        return html
    texts, note = book.get("texts", ("", "", "")), f"<figcaption>{escape(DIFFERS)}</figcaption>"
    try:
        words = with_values(texts, figure)
    except (KeyError, ValueError):  # a reader has changed what the cell gives
        return html.replace(EMPTY, note, 1)
    here = identity(texts, words, html)
    if here.get("words") != book.get("words"):
        return put_words(html, words._replace(caption=f"{words.caption} {HERE}"))
    return html if here["lettering"] == book["lettering"] else html.replace(EMPTY, note, 1)


def lettering(drawing: str) -> list[str]:
    """Return the letters and numbers of an SVG image, in order."""
    return re.findall(r">([^<>]+)</(?:text|tspan)>", drawing)


def digest(*texts: str) -> str:
    """Return eight hexadecimal digits that identify texts, such as a picture."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8]
