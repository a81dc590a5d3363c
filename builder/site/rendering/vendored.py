"""Third-party files that the book is made with: if their digests do not match, the build fails."""

import hashlib
import importlib.metadata
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

MANIFESTS = json.loads((Path(__file__).parents[1] / "vendored.json").read_text(encoding="utf-8"))


def verified_files(manifest: dict[str, Any], root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name and path of each vendored file after comparing its bytes with the manifest.

    Raises:
        ExtensionError: A file is missing or has other bytes.
    """
    source = f"{manifest['package']}=={manifest['version']}"
    way_out = f"install it with: pip install {source}"
    for name, expected in manifest["files"].items():
        path = root / name
        if not path.is_file():
            raise ExtensionError(f"the book needs {name} of {source}, which is not at {path}; {way_out}")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if digest != expected:
            raise ExtensionError(
                f"{path} has SHA-256 {digest}, but vendored.json expects {expected} ({source}); {way_out}"
            )
        yield name, path


def package_root(manifest: dict[str, Any]) -> Path:
    """Return the folder of the manifest's package that holds its files.

    Raises:
        ExtensionError: The package is not installed.
    """
    try:
        distribution = importlib.metadata.distribution(manifest["package"])
    except importlib.metadata.PackageNotFoundError:
        raise ExtensionError(
            f"the book needs {manifest['package']} {manifest['version']}, which is not installed; "
            f"install it with: pip install {manifest['package']}=={manifest['version']}"
        ) from None
    return Path(str(distribution.locate_file(manifest["root"])))


def vendored(name: str) -> dict[str, Path]:
    """Return the verified files of one of our manifests, by name."""
    return dict(verified_files(MANIFESTS[name], package_root(MANIFESTS[name])))


def check_vendored(app: Sphinx) -> None:
    """Refuse to build the book with files other than those in the manifests."""
    for name in MANIFESTS:
        vendored(name)
