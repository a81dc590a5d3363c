"""Third-party files that the book is made with: those of an installed package that `vendored.json` lists."""

import importlib.metadata
import json
from functools import cache
from pathlib import Path

MANIFESTS = json.loads((Path(__file__).parents[1] / "vendored.json").read_text(encoding="utf-8"))


@cache
def vendored(name: str) -> dict[str, Path]:
    """Return the files of one of our manifests, by name."""
    manifest = MANIFESTS[name]
    root = importlib.metadata.distribution(manifest["package"]).locate_file(manifest["root"])
    return {file: Path(str(root), file) for file in manifest["files"]}
