"""One browser for many runs of pytest in one process, as the mutants of scripts have it."""

import functools

from playwright.sync_api import Browser, sync_playwright


@functools.cache
def kept_browser(chromium: str) -> Browser:
    """Return a browser that stays open until the process ends."""
    return sync_playwright().start().chromium.launch(executable_path=chromium, args=["--no-sandbox"])
