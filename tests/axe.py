"""Run axe on a page of the book and list the serious and critical violations."""

from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Page, place: str = "html", options: str = "") -> list[str]:
    """Return the rule, target, and HTML of each violation; `options` are more axe options, in JavaScript."""
    page.evaluate(AXE)  # evaluated, not loaded: no request, and safe on pages with their own module loader
    found = page.evaluate(f"axe.run('{place}', {{resultTypes: ['violations'], preload: false, {options}}})")
    return [
        f"{rule['id']} at {node['target']}: {node['html'][:200]}"
        for rule in found["violations"]
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]
