"""Parallel text from files, one sentence a line: section 5.1 of the paper, the chapter on training."""

import gzip
import zlib
from pathlib import Path


def read_pairs(
    folder: str | Path, split: str, *, source: str = "en", target: str = "de"
) -> list[tuple[str, str]]:
    """Return the sentence pairs of `split`, from `{split}.{language}` or the same with `.gz`.

    White space around a sentence is dropped.

    Raises:
        FileNotFoundError: where a file is missing; says what is there.
        ValueError: where a file is empty, holds an empty line or bytes that are not UTF-8, or where
            the two files have different numbers of lines.
    """
    paths = [_find(Path(folder), f"{split}.{language}") for language in (source, target)]
    src, tgt = (_read_lines(path) for path in paths)
    if len(src) != len(tgt):
        raise ValueError(
            f"{paths[0]} has {len(src)} lines and {paths[1].name} has {len(tgt)}; "
            f"line i of one must translate line i of the other"
        )
    return list(zip(src, tgt, strict=True))


def _find(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}; give the one that holds {name} or {name}.gz")
    there = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
    raise FileNotFoundError(f"{folder} has neither {name} nor {name}.gz; it holds {there}")


def _read_lines(path: Path) -> list[str]:
    raw = _read_bytes(path).removesuffix(b"\n")
    if not raw:
        raise ValueError(f"{path} is empty; give a file with one sentence a line")
    lines = []
    for number, line in enumerate(raw.split(b"\n"), start=1):
        try:
            text = line.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path}, line {number}: byte {error.start + 1} is {line[error.start]:#04x}, "
                f"which is not UTF-8 ({error.reason}); convert the file to UTF-8"
            ) from error
        if not text:
            raise ValueError(f"{path}, line {number} is empty; drop this line from both files")
        lines.append(text)
    return lines


def _read_bytes(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is not a whole gzip file ({error}); fetch it again") from error
