"""Downloads of published corpora: resumed after an interruption, and verified by their digests."""

import hashlib
import os
from collections.abc import Iterator
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tqdm import tqdm

from annotated_transformer.text.corpus import published

BLOCK = 1 << 16  # bytes per read


def download(name: str, folder: str | Path, *, timeout: float = 30.0) -> Path:
    """Download the missing files of a corpus to the folder called `name` inside `folder`.

    The files come from a public repository, at a fixed commit, and their SHA-256 digests are
    verified. `published()[name].terms` has the terms of use.

    Args:
        name: The name of a published corpus, such as `"multi30k"`.
        folder: The parent folder of corpora, or the folder of this corpus if it is called `name`.
        timeout: Longest time without data from the network, in seconds.

    Returns:
        The folder with the files.

    Raises:
        ValueError: If the name is unknown, or a file has a different digest.
        OSError: If the network or the disk fails; the next call resumes the download.
    """
    if name not in (sources := published()):
        raise ValueError(f"there is no corpus {name!r} to download; choose from {', '.join(sources)}")
    folder = Path(folder) if Path(folder).name == name else Path(folder) / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, sha256 in sources[name].files.items():
        fetch(f"{sources[name].url}/{file}", folder / file, sha256=sha256, timeout=timeout)
    return folder


def fetch(url: str, path: Path, *, sha256: str, timeout: float = 30.0) -> None:
    """Download a file unless it exists: to `….part`, which is renamed after its digest is verified."""
    if path.exists():
        _refuse_other(path, sha256, f"remove it to download {url} again")
        return
    part = path.with_name(f"{path.name}.part")
    have = part.stat().st_size if part.exists() else 0
    with _connect(url, have, timeout) as response:
        begun = have if response.status == 206 else 0  # 200: the server sends all of it
        _save(_blocks(response, url, timeout), part, begun, response.length)
    try:
        _refuse_other(part, sha256, f"it was deleted; try again, or download {url} yourself")
    except ValueError:
        part.unlink()
        raise
    part.replace(path)


def _connect(url: str, have: int, timeout: float) -> HTTPResponse:
    headers = {"Range": f"bytes={have}-"} if have else {}
    try:
        response: HTTPResponse = urlopen(Request(url, headers=headers), timeout=timeout)
    except HTTPError as error:
        error.close()
        if have and error.code == 416:  # the part is longer than the file: start again
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
        return TimeoutError(f"{url} sent nothing for {timeout:g} s; try again to resume the download")
    return ConnectionError(
        f"cannot download {url} ({cause}); check the network and try again to resume the download"
    )


def _save(blocks: Iterator[bytes], part: Path, begun: int, length: int | None) -> None:
    """Append to the `begun` bytes of `part`, or write a new file, and show progress."""
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
            error.errno, f"cannot write {part} ({error.strerror}); free disk space, or give another folder"
        ) from error


def _refuse_other(path: Path, sha256: str, way_out: str) -> None:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != sha256:
        raise ValueError(f"{path} has the SHA-256 {digest} instead of {sha256}; {way_out}")
