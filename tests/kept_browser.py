"""One browser for many pytest runs in one process, as when mutants of scripts are tested."""

from playwright.sync_api import Browser, Playwright, sync_playwright

from tests.browser import OPTIONS

_playwright: list[Playwright] = []
_browsers: list[Browser] = []


def kept_browser(chromium: str) -> Browser:
    """Return a browser that stays open until the process ends; it is restarted after a crash."""
    if not _playwright:
        _playwright.append(sync_playwright().start())
    if not _browsers or not _browsers[-1].is_connected():
        _browsers.append(_playwright[0].chromium.launch(executable_path=chromium, args=OPTIONS))
    return _browsers[-1]
