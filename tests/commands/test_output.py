"""Writing to stdout: the terminal's encoding, and a reader that closes the stream."""

import errno
import io
import os
import sys
import zlib
from pathlib import Path

import pytest

from annotated_transformer.commands import output
from annotated_transformer.commands.output import (
    ReaderGone,
    ask,
    drop_unwritable,
    log,
    open_lines,
    print_line,
    write_file,
    write_lines,
)
from annotated_transformer.text.lines import read_lines


@pytest.mark.message
def test_message_the_reader_closed_the_standard_output(monkeypatch):
    def broken(*values: object, **options: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(output, "print", broken, raising=False)
    with pytest.raises(ReaderGone, match="the reader has closed the standard output"):
        print_line("a line")


@pytest.mark.parametrize(
    ("encoding", "line"), [("latin-1", b"Stra\xdfe \\u2192"), ("utf-8", "Straße →".encode())]
)
def test_law_characters_the_terminal_cannot_encode_are_escaped(encoding: str, line: bytes, monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    print_line("Straße →")
    assert raw.getvalue() == line + b"\n"


@pytest.mark.message
def test_message_the_standard_output_is_closed(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)  # as after `>&-`
    with pytest.raises(OSError, match="the standard output is closed; open it, or give --output FILE"):
        print_line("a line")


def test_law_a_file_is_replaced_as_a_whole(tmp_path: Path, monkeypatch):
    file, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(file)
    for lines in (["one", "", "Straße"], ["shorter"]):
        write_lines(link, lines)
        assert link.is_symlink()
        assert file.read_text("utf-8") == "".join(f"{line}\n" for line in lines)
    write_lines(tmp_path / "file.gz", ["one", "two"])
    assert read_lines(tmp_path / "file.gz") == ["one", "two"]
    write_file(Path(os.devnull), b"one")

    def interrupt(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(file, b"another")
    assert file.read_text() == "shorter\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "file.gz", "link"]


@pytest.mark.message
def test_message_a_file_for_which_there_is_no_room(tmp_path: Path, monkeypatch):
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"cannot write to .*file \(No space left on device\); make room"):
        write_file(tmp_path / "file", b"one")
    assert list(tmp_path.iterdir()) == []


class Full(io.StringIO):
    """A file on a full disk."""

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.message
def test_message_the_disk_of_the_standard_output_is_full(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Full())
    message = r"cannot write to the standard output \(No space left on device\); make room, or"
    with pytest.raises(OSError, match=message):
        print_line("a line")


class FullFile(io.BytesIO):
    """A file on a disk that is full after some flushes."""

    left = 0

    def flush(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.message
@pytest.mark.parametrize(("name", "left"), [("out", 0), ("out.gz", 0), ("out.gz", 1)])
def test_message_the_disk_of_a_file_is_full(name: str, left: int, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(FullFile, "left", left)
    monkeypatch.setattr(Path, "open", lambda self, *mode, **options: FullFile())
    message = rf"cannot write to \S*{name} \(No space left on device\); make room, or write to another file"
    with pytest.raises(OSError, match=message), open_lines(tmp_path / name) as write:
        write("a line")


def test_law_a_file_called_gz_is_compressed_and_complete_after_an_error(tmp_path: Path):
    out = tmp_path / "out.gz"
    out.write_bytes(b"older")

    def stop_after(lines: list[str]) -> None:
        with open_lines(out) as write:
            for line in lines:
                write(line)
                text = zlib.decompressobj(wbits=31).decompress(out.read_bytes()).decode()
                assert text.endswith(f"{line}\n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_after([])
    assert out.read_bytes() == b"older"
    with pytest.raises(KeyboardInterrupt):
        stop_after(["Straße", "", "two"])
    assert read_lines(out) == ["Straße", "", "two"]


@pytest.mark.message
def test_message_a_file_that_cannot_be_opened(tmp_path: Path):
    message = r"cannot write to \S*name/out \(Not a directory\); make room, or write to another file"
    (tmp_path / "name").write_text("mine")
    with pytest.raises(OSError, match=message), open_lines(tmp_path / "name" / "out"):
        pass


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_law_what_the_reader_did_not_take_is_discarded(name: str, monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        stream.write("a line")
        monkeypatch.setattr(sys, name, stream)
        open_files = len(os.listdir("/dev/fd"))
        drop_unwritable()
        assert len(os.listdir("/dev/fd")) == open_files
        stream.flush()  # would otherwise raise BrokenPipeError, as at exit


def test_law_a_writable_stream_is_flushed_and_a_closed_one_passed_over(monkeypatch):
    stream = io.TextIOWrapper(raw := io.BytesIO())
    stream.write("a line")
    monkeypatch.setattr(sys, "stderr", stream)
    closed = io.StringIO()
    closed.close()
    for other in (None, closed):
        monkeypatch.setattr(sys, "stdout", other)
        drop_unwritable()
    assert raw.getvalue() == b"a line"


def test_law_a_prompt_and_messages_go_to_stderr_unless_it_is_closed(monkeypatch):
    flushed = []
    stream = io.StringIO()
    monkeypatch.setattr(stream, "flush", lambda: flushed.append(stream.getvalue()))
    monkeypatch.setattr(sys, "stderr", stream)
    ask("> ")
    assert flushed == ["> "]
    log("a message")
    assert stream.getvalue() == "> a message\n"
    monkeypatch.setattr(sys, "stderr", None)
    ask("> ")
    log("a message")
