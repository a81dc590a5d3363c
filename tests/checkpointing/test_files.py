"""Files are written all or not at all, whatever stops the program; equal data has equal fingerprints."""

import contextlib
import errno
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from annotated_transformer.checkpointing import checkpoint, files
from annotated_transformer.checkpointing.files import fingerprint, split_cut_off_line
from tests.checkpointing.small_models import FILES, make_model, make_tokenizer, same


@pytest.mark.parametrize("first", [b"", b'{"step": 1}\n'])
def test_law_a_last_line_that_was_cut_off_at_any_byte_is_split_off(first: bytes):
    record = b'{"step": 2, "loss": 1.5e-3, "words": ["\xc3\xa9", null], "settled": true}'
    for end in range(1, len(record)):
        assert split_cut_off_line(first + record[:end]) == (first.rstrip(b"\n"), record[:end])
    assert split_cut_off_line(first + b"\0" * 5) == (first.rstrip(b"\n"), b"\0" * 5)
    for whole in (first, first + record, first + record + b"\n"):
        assert split_cut_off_line(whole) == (whole, b"")


@pytest.mark.message
@pytest.mark.parametrize("call", [1, 3])
def test_message_a_full_disk_leaves_the_older_model(folder: Path, monkeypatch, call: int):
    answers = [*[None] * (call - 1), OSError(errno.ENOSPC, "No space left on device"), None, None]
    monkeypatch.setattr(files.os, "fsync", Mock(side_effect=answers))
    expected = r"cannot save to .*model \(No space left on device\); what was there is still there: make room"
    with pytest.raises(OSError, match=expected) as caught:
        checkpoint.save(folder, make_model(seed=1, vocab_size=269), make_tokenizer(269))
    assert caught.value.errno == errno.ENOSPC
    assert same(checkpoint.load(folder)[0], make_model())
    assert sorted(path.name for path in folder.iterdir()) == FILES  # no temporary file is left


@pytest.mark.message
@pytest.mark.parametrize(
    ("kind", "code", "saved"),
    [
        (stat.S_ISDIR, errno.EINVAL, True),
        (stat.S_ISDIR, errno.ENOTSUP, True),
        (stat.S_ISDIR, errno.EIO, False),
        (stat.S_ISREG, errno.EINVAL, False),
    ],
)
def test_message_what_cannot_be_synced_but_a_folder_where_the_system_cannot(
    folder: Path, monkeypatch, kind: Callable[[int], bool], code: int, saved: bool
):
    def refuse(handle: int) -> None:
        if kind(os.fstat(handle).st_mode):
            raise OSError(code, os.strerror(code))

    monkeypatch.setattr(files.os, "fsync", refuse)
    expected = pytest.raises(OSError, match=re.escape(os.strerror(code)))
    with contextlib.nullcontext() if saved else expected as caught:
        checkpoint.save(folder, make_model(seed=1), make_tokenizer())
    if saved:
        assert same(checkpoint.load(folder)[0], make_model(seed=1))
    else:
        assert caught.value.errno == code
        assert str(folder) in str(caught.value)


@pytest.mark.message
def test_message_a_file_system_that_became_read_only(folder: Path, monkeypatch):
    refusal = OSError(errno.EROFS, os.strerror(errno.EROFS))
    for method in ("open", "unlink"):  # the system answers the same for a file that is not there
        monkeypatch.setattr(Path, method, Mock(side_effect=refusal))
    with pytest.raises(OSError, match=r"cannot save to .*model \(Read-only file system\); what was there"):
        files.write_together(folder, {"config.json": b""})


@pytest.mark.parametrize("place", ["fsync", "replace"])
@pytest.mark.parametrize("call", [1, 2])
def test_law_an_interrupt_leaves_no_draft(folder: Path, monkeypatch, place: str, call: int):
    owner = {"fsync": files.os, "replace": Path}[place]
    monkeypatch.setattr(owner, place, Mock(side_effect=[None] * (call - 1) + [KeyboardInterrupt]))
    with pytest.raises(KeyboardInterrupt):
        checkpoint.save(folder, make_model(seed=1), make_tokenizer())
    assert sorted(path.name for path in folder.iterdir()) == FILES


@pytest.mark.message
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to(path)])
def test_message_a_path_that_is_not_a_regular_file(tmp_path: Path, make):
    make(tmp_path / "tokenizer.json")
    with pytest.raises(ValueError, match=r"tokenizer\.json is not a regular file; move it away, or give an"):
        checkpoint.save(tmp_path, make_model(), make_tokenizer())
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]


def test_law_a_digest_depends_on_names_dtypes_shapes_and_values():
    numbers, zeros = torch.arange(4.0), torch.zeros(4)
    data = [
        {"a": numbers, "b": zeros},
        {"a": zeros, "b": numbers},
        {"a": numbers.double(), "b": zeros},
        {"a": numbers.view(2, 2), "b": zeros},
        {"a": numbers, "b": torch.tensor([0.0, 0.0, 0.0, -0.0])},
        {"a": numbers, "c": zeros},
    ]
    digests = [files.digest_tensors(tensors) for tensors in data]
    assert len(set(digests)) == len(digests)
    assert files.digest_tensors(dict(reversed(data[0].items()))) == digests[0]


def test_law_a_fingerprint_depends_on_the_data_and_not_on_the_session():
    """A digest is hard-coded to detect an algorithm that has changed or depends on the session."""
    data = ["ein", 1, 2.5, None, ["Wort", "Wörter"]]
    others = (data[::-1], ["ein", "1", *data[2:]], [*data[:4], ["WortWörter"]], [*data[:4], "Wort", "Wörter"])
    assert fingerprint(data) == "47d0dbb50f2b"
    assert "47d0dbb50f2b" not in map(fingerprint, others)
