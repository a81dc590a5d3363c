"""The cover's live picture: German words, English words, and a curve for each weight between them.

It is complete without a script. With `static/cover.js`, a German word shows what it reads, and the button
loads the explorer's script, which runs the model in place of the picture.
"""

import json
from html import escape
from typing import Any

from builder.site.front.cover import FILE

END = "<eos>"
SIGNS = {END: "end of sentence", ".": "period", ",": "comma"}
LEAST = 0.03  # smaller weights are neither drawn nor described; cover.js has the same limit


def picture(size: str) -> str:
    """Return the picture as HTML, from the committed weights; `size` is that of the model, for the button."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    source, target, weights = data["source"], data["target"], data["weights"]
    rows = max(len(source), len(target))
    keys = "".join(f"<li>{_key(token)}</li>" for token in source)
    queries = "".join(_query(token, source, row) for token, row in zip(target, weights, strict=True))
    return (
        f'<figure class="at-alignment" style="--rows:{rows}" data-sentence="{escape(data["sentence"])}" '
        f'data-direction="{data["model"]}">'
        '<p class="at-alignment-title">What each German word attends to</p>'
        '<div class="at-alignment-picture">'
        f'<div><p id="at-keys">English <span class="at-key">keys</span></p>'
        f'<ul role="list" class="at-alignment-keys" aria-labelledby="at-keys">{keys}</ul></div>'
        f"{_curves(weights, rows, _alt(data))}"
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
    said = [
        f"{SIGNS.get(source[column], f'“{source[column]}”')} {round(100 * row[column])}%"
        for column in order
        if row[column] >= LEAST
    ]
    return ", ".join(said)


def aside(token: str) -> str:
    """Return the name of a punctuation mark, "(comma) ", or an empty string for a word."""
    return f"({SIGNS[token]}) " if token in SIGNS else ""


def _key(token: str) -> str:
    if token == END:
        return '<i></i><b class="at-alignment-end">end</b>'
    return f'<i></i><b lang="en">{escape(token)}</b>'


def _query(token: str, source: list[str], row: list[float]) -> str:
    return (
        f'<li data-weights="{" ".join(f"{weight:g}" for weight in row)}"><span class="at-alignment-word">'
        f'<span lang="de">{escape(token)}</span>'
        f'<span class="at-hidden"> {aside(token)}attends to {escape(reads(source, row))}</span></span></li>'
    )


def _curves(weights: list[list[float]], rows: int, alt: str) -> str:
    """Draw a curve for each weight; a row is 10 units high, and CSS stretches the drawing to its words."""
    curves = []
    for query, row in enumerate(weights):
        for key, weight in enumerate(row):
            if weight >= LEAST:
                left, right = 10 * key + 5, 10 * query + 5
                curves.append(
                    f'<path data-query="{query}" d="M0 {left}C50 {left} 50 {right} 100 {right}" '
                    f'stroke-width="{1 + 6 * weight:.1f}" stroke-opacity="{0.1 + 0.8 * weight:.2f}"/>'
                )
    return (
        f'<svg role="img" aria-label="{escape(alt)}" viewBox="0 0 100 {10 * rows}" '
        f'preserveAspectRatio="none">{"".join(curves)}</svg>'
    )


def _alt(data: dict[str, Any]) -> str:
    """Describe the picture for screen readers."""
    return (
        f"The English sentence “{data['sentence']}” and its translation “{data['translation']}”, one word "
        "per line, joined by curves that are thicker for larger weights. The curves cross, because kannst, "
        "kommen, morgen attend to can, come, tomorrow in reverse order."
    )


def _caption(data: dict[str, Any]) -> str:
    return (
        '<span class="pst-js-only">Hover over a German word, tap it, or use the arrow keys. </span>'
        "The thicker the curve, the larger the weight. German puts <em>can come tomorrow</em> in reverse "
        "order, and attention still finds each word, whereas the comma and <em>dass</em> find no clear "
        f"match. <small>Cross-attention in this package's {data['model']} model: decoder layer "
        f"{data['layer']} of {data['layer']}, averaged over its {data['heads']} heads.</small>"
    )
