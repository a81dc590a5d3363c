"""The lines of a text file, plain or compressed."""

import codecs
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path

from annotated_transformer.messages import Message, join

REPORTED = 10  # bad lines that a message lists; the others are only counted
CONVERT = "convert the text to UTF-8"


def read_lines(path: Path, member: str = "") -> list[str]:
    """Return the lines of a UTF-8 file, or of `member` of a zip file.

    Only a line feed ends a line: a sentence may contain other separators.

    Raises:
        FileNotFoundError: If the file is missing.
        ValueError: If the file is empty, is an archive that is damaged or cannot be unpacked, or contains
            bytes that are not UTF-8. The message lists the bad lines.
    """
    lines, problems = read_lines_and_problems(path, member)
    if problems:
        raise ValueError(list_problems(problems.values(), CONVERT))
    return lines


def read_lines_and_problems(path: Path, member: str = "") -> tuple[list[str], dict[int, str]]:
    """Return what `read_lines` returns, and a description of each line that is not UTF-8, by its number.

    Raises:
        FileNotFoundError: If the file is missing.
        ValueError: If the file is empty, or is an archive that is damaged or cannot be unpacked.
    """
    lines, problems = _decode(_read_bytes(path, member), str(path), "strict")
    if not lines:
        raise ValueError(f"{path} is empty; give a file with one sentence per line")
    return lines, problems


def decode_lines(raw: bytes, name: str, *, errors: str = "strict") -> list[str]:
    """Return the lines of the bytes read from `name`; no bytes, or a single line feed, are no lines.

    `errors` is what `bytes.decode` does with bytes that are not UTF-8.

    Raises:
        ValueError: If bytes are not UTF-8. The message lists the bad lines.
    """
    lines, problems = _decode(raw, name, errors)
    if problems:
        raise ValueError(list_problems(problems.values(), CONVERT))
    return lines


def list_problems(problems: Iterable[str], way_out: str) -> Message:
    """Return a message with one problem per line, at most `REPORTED`, and then the way out."""
    lines = list(problems)
    more = len(lines) - REPORTED
    listed = lines[:REPORTED] + ([f"and {more} more"] if more > 0 else [])
    return join("; ", ["\n".join(listed), way_out])


def _decode(raw: bytes, name: str, errors: str) -> tuple[list[str], dict[int, str]]:
    raw = raw.removeprefix(codecs.BOM_UTF8).removesuffix(b"\n")
    lines: list[str] = []
    problems: dict[int, str] = {}
    for number, line in enumerate(raw.split(b"\n") if raw else [], start=1):
        try:
            lines.append(line.decode("utf-8", errors))
        except UnicodeDecodeError as error:
            lines.append(line.decode("utf-8", "replace"))
            problems[number] = (
                f"{name}, line {number}: byte {error.start + 1} is "
                f"{line[error.start]:#04x}, which is not UTF-8 ({error.reason})"
            )
    return lines, problems


def _read_bytes(path: Path, member: str) -> bytes:
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                return archive.read(member)
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except (OSError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the disk, not of the archive
        raise ValueError(f"{path} is not a complete archive ({error}); download it again") from error
    except RuntimeError as error:  # encrypted, or (NotImplementedError) an unknown compression
        raise ValueError(
            f"Python cannot unpack {path} ({error}); unpack it with another program, and replace it by "
            f"{member}"
        ) from error
    except KeyError as error:
        raise ValueError(f"{path} does not contain {member}; download it again") from error
