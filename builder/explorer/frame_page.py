"""The explorer's first frame as HTML, for readers without scripts and for print."""

import json
import math
from html import escape
from typing import Any

from annotated_transformer.book.explorer.first_frame import FILE, LANGUAGES, SPECIAL, continues, plain
from builder.site.front.picture import LEAST, aside, reads

HELP_LOG_PROB = (  # as in ui/words.js
    "The log-probability adds up the logarithms of the probabilities of all tokens; "
    "in parentheses, the probability of the whole sentence."
)
HELP_TOKEN = (
    "Each line is a token: a word or a part of one; “+” continues the word before it. "
    "Each query, on the right, attends to the keys, on the left: "
    "the wider the curve, the larger the attention weight."
)
WRITTEN = '<span class="at-x-chosen"> ✓<span class="at-hidden"> written</span></span>'
# Both as in ui/why.js.
LEFT_OUT = f"Attention weights below {100 * LEAST:.0f}% are left out."
LOOKED = "Attention shows where the model looked, not why it chose."


def explorer_page() -> str:
    """Return the element that the explorer's script takes over, with the first frame inside it."""
    frame = json.loads(FILE.read_text(encoding="utf-8"))
    language = frame["direction"].split("-")[0]
    options = escape(json.dumps({"view": "all"}))
    return (
        f'<div class="at-x" data-explorer="{options}">'
        f'<p class="at-x-translation"><q lang="{language}">{escape(frame["sentence"])}</q></p>'
        f'<div class="at-x-main"><div>{_translation(frame)}<p class="at-x-help">{HELP_LOG_PROB}</p>'
        f'<p class="at-x-help">{HELP_TOKEN}</p>{_stage(frame)}</div>{_why(frame)}</div>'
        "<noscript><p>With JavaScript, you can type a sentence of your own here.</p></noscript></div>"
    )


def _translation(frame: dict[str, Any]) -> str:
    log_prob = f"{frame['logProb']:g}".replace("-", "−")
    return (
        f'<p class="at-x-translation"><q lang="{_target(frame)}">{escape(frame["text"])}</q> '
        f"<span>log-probability {log_prob} ({_share(math.exp(frame['logProb']))})</span></p>"
    )


def _names(frame: dict[str, Any]) -> list[str]:
    """Return the source's tokens as `reads` quotes them."""
    tokens = enumerate(frame["source"]["tokens"])
    return [f"+{token}" if continues(token, place) else token.strip() for place, token in tokens]


def _stage(frame: dict[str, Any]) -> str:
    """Return both columns of tokens and the curves between them, as stage.js draws them."""
    source, target = frame["source"]["tokens"], frame["target"]["tokens"]
    from_, to = frame["direction"].split("-")
    lit = [weight if weight >= LEAST else 0.0 for weight in frame["attention"][frame["step"]]]
    lines = max(len(source), len(target))
    keys = "".join(
        f'<li{" class=at-active" if weight else ""} style="--weight:{weight:g}">'
        f"<i>{_percent(weight) if weight else ''}</i><b>{_token(token, place, from_)}</b></li>"
        for place, (token, weight) in enumerate(zip(source, lit, strict=True))
    )
    names = _names(frame)
    queries = "".join(
        f'<li{_query_class(query, frame["step"])}><span class="at-x-word">{_token(token, query, to)}'
        f'<span class="at-hidden"> {aside(token.strip())}attends to {escape(reads(names, row))}'
        "</span></span></li>"
        for query, (token, row) in enumerate(zip(target, frame["attention"], strict=True))
    )
    curves = "".join(
        f"<path{' class=at-active' if query == frame['step'] else ''} "
        f'd="M0 {10 * key + 5}C50 {10 * key + 5} 50 {10 * query + 5} 100 {10 * query + 5}" '
        f'stroke-width="{1 + 7 * weight:.1f}"/>'
        for query, row in enumerate(frame["attention"])
        for key, weight in enumerate(row)
        if weight >= LEAST
    )
    alt = (
        f"The {LANGUAGES[from_]} tokens of “{frame['sentence']}” and the {LANGUAGES[to]} tokens of its "
        f"translation, one on each line, joined by curves as wide as the attention weights. "
        f"“{_word(frame)}” is lit: it attends to {reads(names, lit)}."
    )
    return (
        f'<div class="at-x-stage" style="--rows:{lines}">'
        f'<div class="at-x-keys"><p>{LANGUAGES[from_]} <span class="at-key">keys</span></p>'
        f'<ul role="list">{keys}</ul></div>'
        f'<svg viewBox="0 0 100 {10 * lines}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(alt)}">{curves}</svg>'
        f'<div class="at-x-queries"><p>{LANGUAGES[to]} <span class="at-query">queries</span></p>'
        f'<ul role="list">{queries}</ul></div></div>'
    )


def _query_class(query: int, step: int) -> str:
    name = "at-active" if query == step else "at-x-later" if query > step else ""
    return f' class="{name}"' if name else ""


def _why(frame: dict[str, Any]) -> str:
    """Return the five likeliest tokens of the step in focus, as why.js shows them."""
    step, language = frame["step"], _target(frame)
    before = "".join(frame["target"]["tokens"][:step]).strip()
    best = frame["top"][step][0]["probability"]
    bars = "".join(
        '<li><span class="at-x-option">'
        f'<span class="at-x-bar-token">{_token(entry["token"], step, language)}'
        f"{WRITTEN if entry['id'] == frame['target']['ids'][step] else ''}</span>"
        f'<span class="at-x-bar" style="--share:{entry["probability"]:g}"></span>'
        f'<span class="at-x-bar-number">{_share(entry["probability"])}</span></span></li>'
        for entry in frame["top"][step]
    )
    word = f'<q lang="{language}">{_word(frame)}</q>'
    return (
        f'<div class="at-x-why"><h3>Why {word}?</h3>'
        '<p class="at-x-label">The five likeliest next tokens</p>'
        f'<ol class="at-x-top" role="list">{bars}</ol>'
        f'<p>After <q lang="{language}">{escape(before)}</q>, the model gives <b>{word}</b> '
        f"a probability of {_share(best)}, more than any other token. Before it chose, it "
        f"attended to {reads(_names(frame), frame['attention'][step])} (layer {frame['layer'] + 1}, mean of "
        f'its heads).</p><p class="at-x-label">{LEFT_OUT} {LOOKED}</p></div>'
    )


def _word(frame: dict[str, Any]) -> str:
    return escape(plain(frame["target"]["tokens"][frame["step"]], frame["step"]))


def _target(frame: dict[str, Any]) -> str:
    """Return the language of the translation."""
    return str(frame["direction"].split("-")[1])


def _token(token: str, place: int, language: str) -> str:
    if token in SPECIAL:
        return f'<span class="at-x-special">{SPECIAL[token]}</span>'
    mark = '<span class="at-x-plus">+</span>' if continues(token, place) else ""
    return f'<span lang="{language}">{mark}{escape(token.strip())}</span>'


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def _share(share: float) -> str:
    return "<\u00a00.1%" if share < 0.0005 else f"{100 * share:.1f}%"
