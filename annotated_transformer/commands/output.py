"""Writing to stdout and stderr, which a reader may close early: `translate … | head -1`."""

import os
import sys
from contextlib import suppress

from tqdm import tqdm


class ReaderGone(Exception):
    """The reader of the standard output has closed it."""


def print_line(line: str) -> None:
    """Write a line to stdout and flush it.

    Characters that the encoding of stdout lacks are written as escapes, such as `\\xfc` in ASCII.

    Raises:
        ReaderGone: If the reader has closed the stream.
    """
    try:
        print(_encodable(line), flush=True)
    except BrokenPipeError as error:
        raise ReaderGone("the reader has closed the standard output") from error


def _encodable(line: str) -> str:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return line.encode(encoding, "backslashreplace").decode(encoding)


def log(message: object) -> None:
    """Write a line to stderr, above a progress bar; do nothing if the stream is closed."""
    if sys.stderr is not None:
        with suppress(BrokenPipeError):
            tqdm.write(str(message), file=sys.stderr)


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
