"""Writing to stdout and stderr, which a reader may close early: `translate … | head -1`."""

import gzip
import os
import sys
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tqdm import tqdm


class ReaderGone(Exception):
    """The reader of the standard output has closed it."""


def print_line(line: str) -> None:
    """Write a line to stdout and flush it.

    Characters that the encoding of stdout lacks are written as escapes, such as `\\xfc` in ASCII.

    Raises:
        ReaderGone: If the reader has closed the stream.
        OSError: If the stream was closed from the start, as by `>&-`, or its disk is full.
    """
    if sys.stdout is None:
        raise OSError("the standard output is closed; open it, or give --output FILE")
    try:
        with name_target("to the standard output"):
            print(_encodable(line), flush=True)
    except BrokenPipeError as error:
        raise ReaderGone("the reader has closed the standard output") from error


@contextmanager
def name_target(target: str) -> Iterator[None]:
    """Add where writing failed, such as "to the standard output", to the message of an `OSError`."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(
            error.errno, f"cannot write {target} ({error.strerror}); make room, or write to another file"
        ) from error


@contextmanager
def open_lines(file: Path | None) -> Iterator[Callable[[str], None]]:
    """Yield a function that writes a line to `file`, or to stdout without one, and flushes it.

    The first line replaces what was in the file. A file whose name ends in .gz is compressed by gzip.

    Raises:
        ReaderGone: If the reader of stdout has closed it.
        OSError: If the file cannot be written.
    """
    if file is None:
        yield print_line
        return
    replaced = not file.is_file()
    packer = zlib.compressobj(wbits=31) if file.suffix == ".gz" else None  # 31: with gzip's header
    with name_target(f"to {file}"):
        lines = file.open("ab")

    def write(line: str) -> None:
        nonlocal replaced
        data = f"{line}\n".encode()
        with name_target(f"to {file}"):
            if not replaced:
                lines.truncate(0)
                replaced = True
            lines.write(packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH) if packer else data)
            lines.flush()

    try:
        yield write
    finally:
        try:
            if packer and replaced:
                with name_target(f"to {file}"):
                    lines.write(packer.flush())
                    lines.flush()
        finally:
            with suppress(OSError):  # the error was raised when the line was written
                lines.close()


def write_lines(file: Path, lines: list[str]) -> None:
    """Replace a file by these lines, compressed by gzip if its name ends in .gz: see `write_file`."""
    data = "".join(f"{line}\n" for line in lines).encode()
    write_file(file, gzip.compress(data, mtime=0) if file.suffix == ".gz" else data)


def write_file(file: Path, data: bytes) -> None:
    """Replace a file atomically: after an error or a kill, the older one is still there.

    Raises:
        OSError: If it cannot be written.
    """
    with name_target(f"to {file}"):
        if file.is_char_device():  # such as /dev/null
            file.write_bytes(data)
            return
        place = file.resolve()  # a link stays one
        draft = place.with_name(f"{place.name}.tmp")
        try:
            with draft.open("wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            draft.replace(place)
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)


def one_line(text: str) -> str:
    """Escape control characters, which could control the terminal or break the line."""
    control = {c for c in text if unicodedata.category(c) in ("Cc", "Zl", "Zp")}
    return text.translate({ord(c): c.encode("unicode_escape").decode() for c in control})


def check_input_file(option: str, file: Path) -> None:
    """Refuse an option's value that is not a file to read.

    Raises:
        FileNotFoundError: If it does not exist.
        ValueError: If it is a folder, a FIFO, or a broken link.
    """
    if not os.path.lexists(file):
        raise FileNotFoundError(f"{option} {file} does not exist; give the name of a file")
    _refuse_no_file(option, file)


def check_output_file(option: str, file: Path) -> None:
    """Refuse an option's value that is not a file to write.

    Raises:
        FileNotFoundError: If its folder does not exist.
        ValueError: If it is a folder, a FIFO, or a broken link.
    """
    if not file.parent.is_dir():
        raise FileNotFoundError(
            f"{option} {file} cannot be written: there is no folder {file.parent}; make it, or give another"
        )
    _refuse_no_file(option, file)


def _refuse_no_file(option: str, file: Path) -> None:
    """Refuse a path that exists and is not a file: opening a FIFO would block."""
    if os.path.lexists(file) and not (file.is_file() or file.is_char_device()):
        raise ValueError(f"{option} {file} is not a regular file; give another name")


def _encodable(line: str) -> str:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return line.encode(encoding, "backslashreplace").decode(encoding)


def log(message: object) -> None:
    """Write a line to stderr, above a progress bar; do nothing if the stream is closed."""
    if sys.stderr is not None:
        with suppress(BrokenPipeError):
            tqdm.write(str(message), file=sys.stderr)


def ask(prompt: str) -> None:
    """Write a prompt to stderr, without a line feed; do nothing if the stream is closed."""
    if sys.stderr is not None:
        with suppress(BrokenPipeError):
            print(prompt, end="", file=sys.stderr, flush=True)


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
