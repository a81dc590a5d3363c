"""Writing to stdout and stderr, which a reader may close early (`translate … | head -1`), and to files."""

import gzip
import os
import secrets
import stat
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tqdm import tqdm


class Unfinished(ValueError):
    """Raised after the first lines were written: the rest has an error, and the exit status is 1."""


def print_line(line: str) -> None:
    """Write a line to stdout and flush it.

    Characters that the encoding of stdout lacks are written as escapes, such as `\\xfc` in ASCII.
    """
    if sys.stdout is None:
        raise OSError("the standard output is closed; open it, or give --output FILE")
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    with name_target("the standard output"):
        print(line.encode(encoding, "backslashreplace").decode(encoding), flush=True)


@contextmanager
def name_target(target: object) -> Iterator[None]:
    """Add where writing failed, such as "the standard output", to the message of an `OSError`."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        message = f"cannot write to {target} ({error.strerror}); make room, or write to another file"
        raise OSError(error.errno, message) from error


@contextmanager
def open_lines(file: Path | None) -> Iterator[Callable[[str], None]]:
    """Yield a function that writes a line to `file`, or to stdout without one, and flushes it.

    The first line replaces what was in the file. A file whose name ends in .gz is compressed by gzip.
    """
    if file is None:
        yield print_line
        return
    lines: Any = None  # a file, or one that gzip compresses

    def write(line: str) -> None:
        nonlocal lines
        with name_target(file):
            lines = lines or (gzip.open if file.suffix == ".gz" else open)(file, "wb")
            lines.write(f"{line}\n".encode())
            lines.flush()

    try:
        yield write
    finally:
        with suppress(OSError):  # the error was raised when the line was written
            if lines is not None:
                lines.close()


def write_file(file: Path, data: bytes) -> None:
    """Replace a file atomically, keeping its mode: after an error or a kill, the older one is still there."""
    with name_target(file):
        if file.is_char_device():  # such as /dev/null
            file.write_bytes(data)
            return
        place = file.resolve()  # a link stays one
        draft = place.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            with draft.open("xb") as new:  # never a file of the user
                new.write(data)
            if place.exists():
                draft.chmod(stat.S_IMODE(place.stat().st_mode))
            draft.replace(place)
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)


def one_line(text: str) -> str:
    """Escape control characters, which could control the terminal or break the line."""
    control = {c for c in text if unicodedata.category(c) in ("Cc", "Zl", "Zp")}
    return text.translate({ord(c): c.encode("unicode_escape").decode() for c in control})


def check_file(option: str, file: Path, *, written: bool) -> None:
    """Refuse an option's value that is not a file to read or to write; opening a FIFO would block."""
    if written and not file.parent.is_dir():
        raise FileNotFoundError(f"{option} {file} needs the folder {file.parent}; make it, or give another")
    if not written and not os.path.lexists(file):
        raise FileNotFoundError(f"{option} {file} does not exist; give the name of a file")
    if os.path.lexists(file) and not (file.is_file() or file.is_char_device()):
        raise ValueError(f"{option} {file} is not a regular file; give another name")


def refuse_used_folder(folder: Path) -> None:
    """Refuse a folder that holds something, which would be replaced or mixed up with the model."""
    if (folder.exists() or folder.is_symlink()) and not folder.is_dir():
        raise ValueError(f"--out {folder} is not a folder; give another")
    if folder.is_dir() and (names := sorted(path.name for path in folder.iterdir())):
        raise ValueError(f"--out {folder} already holds {names[0]}; give a new or an empty folder")


def copy_model_card(source: Path, folder: Path, command: str) -> None:
    """Copy the model card, which has attribution and license, and add which command changed the format."""
    from annotated_transformer.checkpointing.files import write_together  # slow to import

    if (card := source / "README.md").is_file():
        note = f"\n\nThis copy was converted to another format by {command}.\n"
        write_together(folder, {card.name: card.read_bytes().rstrip() + note.encode()})


def log(message: object, *, end: str = "\n") -> None:
    """Write a line to stderr, above a progress bar; do nothing if the stream or its terminal is closed."""
    if sys.stderr is not None:
        with suppress(OSError):
            tqdm.write(str(message), file=sys.stderr, end=end)
            sys.stderr.flush()


def drop_unwritable() -> None:
    """Flush stdout and stderr, and discard output that cannot be written.

    Otherwise Python would try again at exit and print an error.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is None or stream.closed:
            continue
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
