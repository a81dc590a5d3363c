"""A corpus fetched at its user's wish: resumed, checked, and whole or not there."""

import hashlib
import os
from collections.abc import Iterator
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tqdm import tqdm

from annotated_transformer.text.published_corpora import SOURCES

BLOCK = 1 << 16  # bytes that are read at once


def download(name: str, folder: str | Path, *, timeout: float = 30.0) -> Path:
    """Fetch what is missing of a corpus into the folder called `name` inside `folder`.

    Its files lie in a public repository, at a commit and with a SHA-256 that this package
    pins. The terms under which it comes are `SOURCES[name].terms`.

    Args:
        name: `"multi30k"` or `"tatoeba"`.
        folder: Where corpora are kept, or the folder of this one, if it is called `name`.
        timeout: Longest silence of the network, in seconds.

    Returns:
        The folder that holds the files.

    Raises:
        ValueError: where the name is unknown, or the bytes are not those that are pinned.
        OSError: where network or disk give way; another call goes on where this one ended.
    """
    if name not in SOURCES:
        raise ValueError(f"there is no corpus {name!r} to download; choose from {', '.join(SOURCES)}")
    folder = Path(folder) if Path(folder).name == name else Path(folder) / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, sha256 in SOURCES[name].files.items():
        fetch(f"{SOURCES[name].url}/{file}", folder / file, sha256=sha256, timeout=timeout)
    return folder


def fetch(url: str, path: Path, *, sha256: str, timeout: float = 30.0) -> None:
    """Fetch one file, unless it is there: into `….part`, renamed once it is known whole."""
    if path.exists():
        _refuse_other(path, sha256, f"remove it, and {url} is fetched again")
        return
    part = path.with_name(f"{path.name}.part")
    have = part.stat().st_size if part.exists() else 0
    with _connect(url, have, timeout) as response:
        begun = have if response.status == 206 else 0  # 200: the server sends all of it
        _save(_blocks(response, url, timeout), part, begun, response.length)
    try:
        _refuse_other(part, sha256, f"nothing of it is kept; try again, or fetch {url} yourself")
    except ValueError:
        part.unlink()
        raise
    os.replace(part, path)


def _connect(url: str, have: int, timeout: float) -> HTTPResponse:
    headers = {"Range": f"bytes={have}-"} if have else {}
    try:
        response: HTTPResponse = urlopen(Request(url, headers=headers), timeout=timeout)
    except HTTPError as error:
        error.close()
        if have and error.code == 416:  # there are not so many bytes: begin again
            return _connect(url, 0, timeout)
        raise ConnectionError(
            f"{url} answers {error.code} ({error.reason}); try later, or get the file elsewhere"
        ) from error
    except (OSError, HTTPException) as error:
        raise _lost(url, error, timeout) from error
    return response


def _blocks(response: HTTPResponse, url: str, timeout: float) -> Iterator[bytes]:
    try:
        while block := response.read(BLOCK):
            yield block
    except (OSError, HTTPException) as error:
        raise _lost(url, error, timeout) from error
    if response.length:
        missing = ConnectionError(f"it ended {response.length} bytes too early")
        raise _lost(url, missing, timeout)


def _lost(url: str, error: Exception, timeout: float) -> OSError:
    cause = getattr(error, "reason", error)
    if isinstance(cause, TimeoutError):
        return TimeoutError(f"{url} said nothing for {timeout:g} s; try again: it goes on where it stopped")
    return ConnectionError(
        f"cannot fetch {url} ({cause}); check the network and try again: it goes on where it stopped"
    )


def _save(blocks: Iterator[bytes], part: Path, begun: int, length: int | None) -> None:
    """Append to the `begun` bytes of `part`, or write it anew, and show progress."""
    total = None if length is None else begun + length
    bar = tqdm(desc=part.stem, total=total, initial=begun, unit="B", unit_scale=True, disable=None)
    try:
        with bar, part.open("ab" if begun else "wb") as file:
            for block in blocks:
                file.write(block)
                bar.update(len(block))
            file.flush()
            os.fsync(file.fileno())
    except (ConnectionError, TimeoutError):
        raise
    except OSError as error:
        raise OSError(
            error.errno,
            f"cannot write {part} ({error.strerror}); make room, or give another folder",
        ) from error


def _refuse_other(path: Path, sha256: str, way_out: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise ValueError(f"{path} has the SHA-256 {found}, and {sha256} is pinned; {way_out}")
