"""The explorer's first frame as HTML, for readers without scripts and for print: its own script draws it."""

import json
from html import escape
from typing import Any

from py_mini_racer import MiniRacer

from annotated_transformer.book.explorer.first_frame import FILE
from builder.explorer import bundle

PAGE = bundle.HERE / "static_page.js"


def explorer_page(frame: dict[str, Any] | None = None) -> str:
    """Return the element that the explorer's script takes over, with a frame inside it, or else the first."""
    frame = frame or json.loads(FILE.read_text(encoding="utf-8"))
    language = frame["direction"].split("-")[0]
    browser = MiniRacer()
    browser.eval(PAGE.read_text(encoding="utf-8"))
    browser.eval(bundle.explorer_script(dict.fromkeys(bundle.EXAMPLES, ""), [], frame))
    drawn = browser.eval("host.querySelector('.at-x-main').written()")
    return (
        f'<div class="at-x" data-explorer="{escape(json.dumps({"view": "all"}))}">'
        f'<p class="at-x-translation"><q lang="{language}">{escape(frame["sentence"])}</q></p>{drawn}'
        "<noscript><p>With JavaScript, you can type a sentence of your own here.</p></noscript></div>"
    )
