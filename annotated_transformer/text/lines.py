"""The lines of a text file, plain or compressed, or a sentence about why there are none."""

import gzip
import zipfile
import zlib
from pathlib import Path


def read_lines(path: Path, member: str = "") -> list[str]:
    """Return the lines of a UTF-8 file, or of `member` of a zip file.

    Only a line feed ends a line: a sentence may hold other separators.

    Raises:
        FileNotFoundError: where the file is missing.
        ValueError: where it is empty, is a broken archive, or holds bytes that are not
            UTF-8.
    """
    lines = decode_lines(_read_bytes(path, member), str(path))
    if not lines:
        raise ValueError(f"{path} is empty; give a file with one sentence a line")
    return lines


def decode_lines(raw: bytes, name: str, *, errors: str = "strict") -> list[str]:
    """Return the lines of what was read from `name`; of nothing, or one line feed, none.

    `errors` is what `bytes.decode` does about bytes that are not UTF-8.

    Raises:
        ValueError: where bytes are not UTF-8.
    """
    raw = raw.removesuffix(b"\n")
    lines = []
    for number, line in enumerate(raw.split(b"\n") if raw else [], start=1):
        try:
            lines.append(line.decode("utf-8", errors))
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{name}, line {number}: byte {error.start + 1} is "
                f"{line[error.start]:#04x}, which is not UTF-8 ({error.reason}); "
                f"convert the text to UTF-8"
            ) from error
    return lines


def _read_bytes(path: Path, member: str) -> bytes:
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                return archive.read(member)
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except (gzip.BadGzipFile, zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is not a whole archive ({error}); fetch it again") from error
    except KeyError as error:
        raise ValueError(f"{path} has no {member} in it; fetch it again") from error
