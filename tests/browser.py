"""Find the Chromium for the tests: the system's first, then Playwright's.

`python -m tests.browser` prints its path. If there is none, and REQUIRE_ALL does not allow that, it installs
one; if that fails, it says what to do and ends with status 1.
"""

import functools
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.skips import MAY_LACK, refused

# Headless shell first: the page tests take two thirds as long in it as in the full browser.
PACKAGES = ("chromium-headless-shell", "chromium")
NAMES = (*PACKAGES, "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = ["--no-sandbox"]  # for root, and for containers
MISSING = """\
{lacking}, or none that starts, and none could be installed.
Install Chromium or Chrome yourself (on Debian: sudo apt-get install chromium), or let Playwright install one
with the libraries that it needs, for which it calls sudo: {python} -m playwright install --with-deps chromium
Without a browser: make test REQUIRE_ALL=but-browser,corpora,notes skips what needs one, and names it."""


@functools.cache
def find() -> str | None:
    """Return the path of a Chromium that starts on this machine, or None."""
    return next(filter(starts, candidates()), None)


def candidates() -> Iterator[str]:
    """Yield the paths of the Chromiums on this machine."""
    yield from filter(None, map(shutil.which, NAMES))
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    if Path(path).exists():
        yield path


def starts(path: str) -> bool:
    """Return whether a Chromium shows an empty page: one without its libraries, for example, does not."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [path, "--headless", *OPTIONS, f"--user-data-dir={profile}", "--dump-dom", "about:blank"]
        try:
            process = subprocess.run(command, capture_output=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return False
    return b"<html>" in process.stdout


def install() -> None:
    """Install Debian's package if running as root with apt-get; otherwise, Playwright's build."""
    if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], check=False, env=quiet)
        for package in PACKAGES:  # older systems lack the headless shell
            command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
            find.cache_clear()
            if subprocess.run(command, check=False, env=quiet).returncode == 0 and find():
                return
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)
    find.cache_clear()


def main() -> str | None:
    """Print the path of a Chromium, after installing one if necessary; return what is wrong, or None."""
    lacking = MAY_LACK["browser"]
    try:
        needed = refused(lacking)
    except ValueError as error:
        return str(error)
    if needed and find() is None:
        install()
    if needed and find() is None:
        return MISSING.format(lacking=lacking, python=shlex.quote(sys.executable))
    print(find() or f"{lacking}: what needs one is skipped")
    return None


if __name__ == "__main__":
    sys.exit(main())
