"""One browser for many runs of pytest in one process, as the mutants of scripts have it."""

from playwright.sync_api import Browser, Playwright, sync_playwright

_playwright: list[Playwright] = []
_browsers: list[Browser] = []


def kept_browser(chromium: str) -> Browser:
    """Return a browser that stays open until the process ends; a new one where it has crashed."""
    if not _playwright:
        _playwright.append(sync_playwright().start())
    if not _browsers or not _browsers[-1].is_connected():
        _browsers.append(_playwright[0].chromium.launch(executable_path=chromium, args=["--no-sandbox"]))
    return _browsers[-1]
