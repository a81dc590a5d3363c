"""Atomic file writes, and digests that reveal what is damaged or different: the chapter on training."""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from operator import index
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

DRAFT = ".tmp"  # suffix of an incomplete file
# Answers of file systems that cannot sync a folder, or lock a file.
UNSUPPORTED = {errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


def write_together(folder: Path, contents: dict[str, bytes]) -> None:
    """Write files to `folder`: all are complete on disk before the first older file is replaced.

    Each is replaced atomically, in the given order.
    """
    for path in (folder / name for name in contents):
        if os.path.lexists(path) and not path.is_file():  # a folder, a FIFO, or a broken link
            raise ValueError(f"{path} is not a regular file; move it away, or give another folder")
    drafts = {name: folder / f"{name}{DRAFT}" for name in contents}
    try:
        _write_drafts(folder, {drafts[name]: data for name, data in contents.items()})
        for name, draft in drafts.items():
            draft.replace(folder / name)
    finally:  # after an error or Ctrl-C, some drafts are left
        for draft in drafts.values():
            with suppress(OSError):  # such as that of a disk that became read-only, which is reported
                draft.unlink(missing_ok=True)
    _sync_names(folder)


def link_together(folder: Path, other: Path, names: Iterable[str]) -> None:
    """Give files of `folder` a second name in the folder `other`, each atomically; copy where links fail."""
    other.mkdir(exist_ok=True)
    for name in names:
        draft = other / f"{name}{DRAFT}"
        draft.unlink(missing_ok=True)
        try:
            draft.hardlink_to(folder / name)
        except OSError:  # of a file system without hard links
            shutil.copyfile(folder / name, draft)
        draft.replace(other / name)
        draft.unlink(missing_ok=True)  # still there if both names were links to one file already


def split_cut_off_line(raw: bytes) -> tuple[bytes, bytes]:
    """Return lines of JSON without a last line that was cut off, and that line, or `b""` if there is none."""
    complete, _, last = raw.rpartition(b"\n")
    try:
        json.loads(last or b"{}")
    except (ValueError, RecursionError):
        return complete, last
    return raw, b""


def _write_drafts(folder: Path, contents: dict[Path, bytes]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for draft, data in contents.items():
            with draft.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise OSError(
            error.errno,
            f"cannot save to {folder} ({error.strerror}); what was there is still there: "
            f"make room, or save elsewhere",
        ) from error


def _sync_names(folder: Path) -> None:
    if os.name == "posix":  # elsewhere a folder cannot be opened, and its names need no sync
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno not in UNSUPPORTED:  # all files are written, and there is no other way
                error.filename = str(folder)
                raise
        finally:
            os.close(handle)


def safetensors_bytes(tensors: dict[str, Tensor], metadata: dict[str, str]) -> bytes:
    """Return a safetensors file, the same bytes for the same content.

    The library writes the keys of its header in a different order on each call, and refuses tensors that
    share memory, which are therefore copied.
    """
    first: dict[int, str] = {}
    apart = {
        name: tensor if first.setdefault(tensor.data_ptr(), name) == name else tensor.clone()
        for name, tensor in tensors.items()
    }
    data = save(apart, metadata)
    end = 8 + int.from_bytes(data[:8], "little")
    keys = json.loads(data[8:end])
    header = json.dumps(keys, sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)  # the tensors still begin at a multiple of 8
    return len(header).to_bytes(8, "little") + header + data[end:]


def read_metadata(path: Path, *, way_out: str) -> dict[str, str]:
    """Return the metadata of a safetensors file, without reading its tensors."""
    with _opened(path, way_out) as file:
        return file.metadata() or {}


def read_tensors(path: Path, *, way_out: str) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors and the metadata of a safetensors file."""
    with _opened(path, way_out) as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}


@contextmanager
def _opened(path: Path, way_out: str) -> Iterator[Any]:
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged ({error}); {way_out}") from error


def digest_tensors(tensors: dict[str, Tensor]) -> str:
    """Return the SHA-256 of names, types, shapes and numbers."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tuple(tensors[name].shape)} ".encode())
        digest.update(tensors[name].flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def fingerprint(data: object) -> str:
    """Return twelve hexadecimal digits that distinguish lists, numbers and strings."""
    return hashlib.sha256(json.dumps(data, default=index).encode()).hexdigest()[:12]
