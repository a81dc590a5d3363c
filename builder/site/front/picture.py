"""The cover's live picture: English words, German words, and a curve for each weight between them.

It is complete without a script, and shows what one word reads. With `static/cover.js`, any German word shows
what it reads, and the button loads the explorer's script, which runs the model in place of the picture.
"""

import json
from html import escape
from typing import Any

from builder.site.front.cover_data import FILE

END = "<eos>"
SIGNS = {END: "end of sentence", ".": "period", ",": "comma"}
CHOSEN = "morgen"  # the word whose curves are lit when the page opens
LEAST = 0.03  # smaller weights are neither drawn nor described; cover.js has the same limit


def picture(size: str) -> str:
    """Return the picture as HTML, from the committed weights; `size` is that of the model, for the button."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    source, target, weights = data["source"], data["target"], data["weights"]
    rows = max(len(source), len(target))
    chosen = target.index(CHOSEN)
    keys = "".join(_key(token, weight) for token, weight in zip(source, weights[chosen], strict=True))
    queries = "".join(
        _query(token, source, row, lit=query == chosen)
        for query, (token, row) in enumerate(zip(target, weights, strict=True))
    )
    return (
        f'<figure class="at-alignment" style="--rows:{rows}">'
        '<p class="at-alignment-title">What each German word attends to</p>'
        '<div class="at-alignment-picture">'
        f'<div><p id="at-keys">English <span class="at-key">keys</span></p>'
        f'<ul role="list" class="at-alignment-keys" aria-labelledby="at-keys">{keys}</ul></div>'
        f"{_curves(weights, rows, chosen, _alt(data))}"
        f'<div><p id="at-queries">German <span class="at-query">queries</span></p>'
        f'<ul role="list" class="at-alignment-queries" aria-labelledby="at-queries">{queries}</ul></div>'
        "</div>"
        f"<figcaption>{_caption(data)}</figcaption>"
        '<div class="at-alignment-run pst-js-only">'
        f'<button type="button">Run this model in the page ({size})</button><p role="alert"></p></div>'
        '<p class="at-alignment-more">'
        '<a href="explorer.html">Translate your own sentence in the explorer</a></p></figure>'
    )


def reads(source: list[str], row: list[float]) -> str:
    """Describe what a word attends to, largest weight first: "“tomorrow” 88%, “come” 5%" (ui/words.js)."""
    order = sorted(range(len(row)), key=lambda column: -row[column])
    parts = [
        f"{SIGNS.get(source[column], f'“{source[column]}”')} {round(100 * row[column])}%"
        for column in order
        if row[column] >= LEAST
    ]
    return ", ".join(parts)


def aside(token: str) -> str:
    """Return the name of a punctuation mark, "(comma) ", or an empty string for a word."""
    return f"({SIGNS[token]}) " if token in SIGNS else ""


def _key(token: str, weight: float) -> str:
    drawn = weight if weight >= LEAST else 0
    word = '<b class="at-alignment-end">end</b>' if token == END else f'<b lang="en">{escape(token)}</b>'
    return f'<li style="--weight:{drawn:g}"><i>{f"{100 * drawn:.0f}%" if drawn else ""}</i>{word}</li>'


def _query(token: str, source: list[str], row: list[float], *, lit: bool) -> str:
    active = ' class="at-active"' if lit else ""
    return (
        f'<li{active} data-weights="{" ".join(f"{weight:g}" for weight in row)}">'
        f'<span class="at-alignment-word"><span lang="de">{escape(token)}</span>'
        f'<span class="at-hidden"> {aside(token)}attends to {escape(reads(source, row))}</span></span></li>'
    )


def _curves(weights: list[list[float]], places: int, chosen: int, alt: str) -> str:
    """Draw a curve for each weight, twice: between two rows of words and, for phones, between two columns.

    A word's place is 10 units wide or high, and CSS stretches the drawing to its words.
    """
    across, down, lit = [], [], ' class="at-active"'
    for query, row in enumerate(weights):
        for key, weight in enumerate(row):
            if weight >= LEAST:
                start, end = 10 * key + 5, 10 * query + 5
                look = (
                    f'data-query="{query}"{lit if query == chosen else ""} '
                    f'stroke-width="{1 + 6 * weight:.1f}" stroke-opacity="{0.1 + 0.8 * weight:.2f}"/>'
                )
                across.append(f'<path d="M{start} 0C{start} 50 {end} 50 {end} 100" {look}')
                down.append(f'<path d="M0 {start}C50 {start} 50 {end} 100 {end}" {look}')
    size = 10 * places
    return (
        f'<svg class="at-across" role="img" aria-label="{escape(alt)}" viewBox="0 0 {size} 100" '
        f'preserveAspectRatio="none">{"".join(across)}</svg>'
        f'<svg class="at-down" role="img" aria-label="{escape(alt)}" viewBox="0 0 100 {size}" '
        f'preserveAspectRatio="none">{"".join(down)}</svg>'
    )


def _alt(data: dict[str, Any]) -> str:
    """Describe the picture for screen readers."""
    return (
        f"The English sentence “{data['sentence']}” and its translation “{data['translation']}”, word by "
        "word, joined by curves that are thicker for larger weights. The curves cross, because kannst, "
        "kommen, morgen attend to can, come, tomorrow in reverse order."
    )


def _caption(data: dict[str, Any]) -> str:
    return (
        '<span class="pst-js-only">Choose another German word: hover over it, tap it, or press Tab. '
        "</span>A thicker curve is a larger weight. German puts <em>can come tomorrow</em> in reverse order, "
        "and attention still finds each word. "
        f"<small>Cross-attention in this package's {data['model']} model: decoder layer {data['layer']} of "
        f"{data['layer']}, averaged over its {data['heads']} heads.</small>"
    )
