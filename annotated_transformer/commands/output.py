"""Lines to the standard streams, whose readers may leave: `translate … | head -1`."""

import os
import sys
from contextlib import suppress
from typing import TextIO

from tqdm import tqdm


class ReaderGone(Exception):
    """Nobody reads the standard output any more."""


def write(line: str) -> None:
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


def drop_unwritable(stream: TextIO | None) -> bool:
    """Flush `stream`; if that is impossible, drop what is left in it, and return True.

    Otherwise Python would try again at exit, and complain.
    """
    if stream is None or stream.closed:
        return False
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        return True
    return False
