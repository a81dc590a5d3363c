"""The lines of a text file, plain or compressed."""

import codecs
import gzip
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

ARRIVING = 2**16  # bytes, as many as a pipe of Linux holds
REPORTED = 10  # bad lines that a message lists; the others are only counted
CONVERT = "convert the text to UTF-8"
UNPACK = "unpack it, or export its text"
GZIP = b"\x1f\x8b"
OTHER_FORMATS = {  # by the first bytes of a file
    codecs.BOM_UTF32_LE: ("UTF-32", CONVERT),  # before UTF-16, whose first bytes are the same
    codecs.BOM_UTF32_BE: ("UTF-32", CONVERT),
    codecs.BOM_UTF16_LE: ("UTF-16", CONVERT),
    codecs.BOM_UTF16_BE: ("UTF-16", CONVERT),
    GZIP: ("compressed by gzip", UNPACK),
    b"BZh91AY&SY": ("compressed by bzip2", UNPACK),
    b"\xfd7zXZ\0": ("compressed by xz", UNPACK),
    b"\x28\xb5\x2f\xfd": ("compressed by zstd", UNPACK),
    b"PK\x03\x04": ("a zip archive or an office document", UNPACK),
    b"%PDF-": ("a PDF document", UNPACK),
}


def read_lines(path: Path, member: str = "") -> list[str]:
    """Return the lines of a UTF-8 file, or of `member` of a zip file.

    Only a line feed ends a line: a sentence may contain other separators.
    """
    lines, problems = read_lines_and_problems(path, member)
    if problems:
        raise ValueError(list_problems(problems.values(), CONVERT))
    return lines


def read_lines_and_problems(path: Path, member: str = "") -> tuple[list[str], dict[int, str]]:
    """Return what `read_lines` returns, and a description of each line that is not UTF-8, by its number."""
    lines, problems = _decode(read_bytes(path, member), str(path), "strict")
    if not lines:
        raise ValueError(f"{path} is empty; give a file with one sentence per line")
    return lines, problems


def decode_lines(raw: bytes, name: str, *, errors: str = "strict") -> list[str]:
    """Return the lines of the bytes read from `name`; no bytes, or a single line feed, are no lines.

    `errors` is what `bytes.decode` does with bytes that are not UTF-8.
    """
    lines, problems = _decode(raw, name, errors)
    if problems:
        raise ValueError(list_problems(problems.values(), CONVERT))
    return lines


def arriving_lines(handle: int, name: str) -> Iterator[list[str]]:
    """Yield the lines of a pipe, given its file descriptor: those that have arrived, when no more wait.

    Bytes that are not UTF-8 are decoded by "surrogateescape".
    """
    rest, begun = b"", False
    while chunk := os.read(handle, ARRIVING):  # waits for the first byte only
        if not begun:
            _refuse_other_formats(chunk, name)
            chunk, begun = chunk.removeprefix(codecs.BOM_UTF8), True
        complete, newline, rest = (rest + chunk).rpartition(b"\n")
        if newline:
            yield complete.decode("utf-8", "surrogateescape").split("\n")
    if rest:
        yield [rest.decode("utf-8", "surrogateescape")]


def list_problems(problems: Iterable[str], way_out: str) -> str:
    """Return a message with one problem per line, at most `REPORTED`, and then the way out."""
    lines = list(problems)
    more = len(lines) - REPORTED
    listed = lines[:REPORTED] + ([f"and {more} more"] if more > 0 else [])
    return "\n".join(listed) + f"; {way_out}"


def _decode(raw: bytes, name: str, errors: str) -> tuple[list[str], dict[int, str]]:
    _refuse_other_formats(raw, name)
    raw = raw.removeprefix(codecs.BOM_UTF8).removesuffix(b"\n")
    lines: list[str] = []
    problems: dict[int, str] = {}
    for number, line in enumerate(raw.split(b"\n") if raw else [], start=1):
        try:
            lines.append(line.decode("utf-8", errors))
            if "\0" in lines[-1] and errors == "strict":
                problems[number] = f"{name}, line {number}: byte {line.index(0) + 1} is 0x00, not UTF-8 text"
        except UnicodeDecodeError as error:
            lines.append(line.decode("utf-8", "replace"))
            problems[number] = (
                f"{name}, line {number}: byte {error.start + 1} is "
                f"{line[error.start]:#04x}, which is not UTF-8 ({error.reason})"
            )
    return lines, problems


def _refuse_other_formats(raw: bytes, name: str) -> None:
    """Refuse what would be bad in each line, and name the cause instead."""
    for start, (kind, way_out) in OTHER_FORMATS.items():
        if raw.startswith(start):
            raise ValueError(f"{name} is {kind}, not UTF-8; {way_out}")
    if raw.count(0) > raw.count(b"\n"):
        raise ValueError(f"{name} has {raw.count(0)} NUL bytes, which text does not have; give a text file")
    lines = raw.rstrip().split(b"\n")
    returns = sum(line.strip(b"\r").count(b"\r") for line in lines)
    if returns >= len(lines):
        raise ValueError(
            f"{name} has carriage returns within its lines ({returns} in {len(lines)}), as old Macs ended "
            f"lines; convert these to line feeds"
        )


def read_bytes(path: Path, member: str = "") -> bytes:
    """Return the bytes of a file, of what gzip compressed to it, or of `member` if it is a zip file."""
    try:
        if member and path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                return archive.read(member)
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" or data.startswith(GZIP) else data
    except (OSError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the disk, not of the archive
        raise ValueError(f"{path} is not a complete archive ({error}); download it again") from error
    except KeyError as error:
        raise ValueError(f"{path} does not contain {member}; download it again") from error
