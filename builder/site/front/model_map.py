"""The map at the head of a chapter: the explorer's picture in small, in which the chapter's part is lit."""

import re
from collections.abc import Sequence
from html import escape

from builder.chapters import Chapter
from builder.explorer.still import MAP

GROUP = re.compile(r'<g data-part="([^"]*)">\n(.*?)</g>', re.DOTALL)
WORDS = {
    "encoder attention": "the encoder’s self-attention",
    "decoder attention": "the decoder’s masked self-attention",
    "cross-attention": "cross-attention",
    "feed-forward": "the feed-forward network",
    "loop": "the way of each new word back to the start",
    "loss": "the probability of the next word",
    "memory": "the encoder’s vectors",
    "next": "the next word",
    "norm": "Add & Norm",
    "output": "softmax",
    "words": "the words that enter",
}


def model_map(chapters: Sequence[Chapter], chapter: Chapter) -> str:
    """Return the map of a chapter as HTML: each part leads to the chapter that is about it most.

    Raises:
        ValueError: The map has no such part.
    """
    drawing, here = MAP.read_text(encoding="utf-8").partition("<!--")[0], {*chapter.here}
    parts = {name for names, _ in GROUP.findall(drawing) for name in names.split(",")} - {""}
    if unknown := ", ".join(sorted(here - parts)):
        raise ValueError(f"the map has no {unknown}; its parts are {', '.join(sorted(parts))}")
    whole = {"encoder", "decoder"} <= here

    def linked(found: re.Match[str]) -> str:
        names, shapes = found[1].split(","), found[2]
        about = [each for each in chapters if names[0] in each.here]
        if not about:
            return found[0]
        best = min(about, key=lambda each: (len(each.here), each.number))
        look = ' class="at-lit"' if whole or here & {*names} else ""
        title = f"<title>{best.number}. {escape(best.title)}</title>"
        return f'<a{look} href="{best.name}.html" tabindex="-1">{title}{shapes}</a>'

    said = "all of it" if whole else ", ".join(WORDS.get(name, f"the {name}") for name in chapter.here)
    label = (
        f"Map of the model: the encoder at the left, the decoder at the right. This chapter is about {said}."
    )
    return f'<nav aria-label="{escape(label)}">{GROUP.sub(linked, drawing)}</nav>'
