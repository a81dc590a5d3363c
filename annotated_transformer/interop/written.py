"""Files that another library writes into a folder of its own, so that they can be written atomically."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory


def written_by(write: Callable[[str], object]) -> dict[str, bytes]:
    """Return the contents of the files that `write` writes to a folder, by name.

    Give them to `write_together`. Other libraries write one file after the other, and a kill or a full disk
    would leave files of two models.
    """
    with TemporaryDirectory() as folder:
        write(folder)
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}
