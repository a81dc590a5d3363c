"""Find or install the Chromium for the page tests: the system's first, then Playwright's.

`python tests/browser.py` prints its path; `--install` installs it if there is none.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

# Headless shell first: the page tests take two thirds as long in it as in the full browser.
PACKAGES = ("chromium-headless-shell", "chromium")
NAMES = (*PACKAGES, "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """Return the path of a Chromium on this machine, or None."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def install() -> None:
    """Install Debian's package if running as root with apt-get; otherwise, Playwright's build."""
    if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], check=False, env=quiet)
        for package in PACKAGES:  # older systems lack the headless shell
            command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
            if subprocess.run(command, check=False, env=quiet).returncode == 0 and find():
                return
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)


if __name__ == "__main__":
    if "--install" in sys.argv and find() is None:
        install()
    print(find() or "no Chromium: the page tests will be skipped")
