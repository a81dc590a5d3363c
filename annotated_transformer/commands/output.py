"""Lines to the standard streams, whose readers may leave: `translate … | head -1`."""

import os
import sys
from contextlib import suppress

from tqdm import tqdm


class ReaderGone(Exception):
    """Nobody reads the standard output any more."""


def print_line(line: str) -> None:
    """Write a line to stdout, to be read at once.

    Raises:
        ReaderGone: If nobody will.
    """
    try:
        print(line, flush=True)
    except BrokenPipeError as error:
        raise ReaderGone("nobody reads the standard output any more") from error


def log(message: object) -> None:
    """Write a line to stderr, above a progress bar; where nobody reads it any more, do nothing."""
    if sys.stderr is not None:
        with suppress(BrokenPipeError):
            tqdm.write(str(message), file=sys.stderr)


def drop_unwritable() -> None:
    """Flush stdout and stderr; drop what cannot be written.

    Otherwise Python would try again at exit, and complain.
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
