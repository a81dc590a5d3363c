"""Writing to stdout and to files: encodings, full disks, and readers that close the stream."""

import io
import os
import sys
from pathlib import Path

import pytest

from annotated_transformer.commands.output import drop_unwritable, log, open_lines, print_line, write_file
from annotated_transformer.text.lines import read_lines


@pytest.mark.parametrize(
    ("encoding", "line"), [("latin-1", b"Stra\xdfe \\u2192"), ("utf-8", "Straße →".encode())]
)
def test_law_characters_the_terminal_cannot_encode_are_escaped(encoding: str, line: bytes, monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    print_line("Straße →")
    assert raw.getvalue() == line + b"\n"


def test_law_a_file_is_replaced_as_a_whole(tmp_path: Path, monkeypatch):
    file, link, theirs = tmp_path / "file", tmp_path / "link", tmp_path / "file.tmp"
    link.symlink_to(file)
    theirs.write_bytes(b"the user's own")
    mode = theirs.stat().st_mode
    for data in (b"one", b"another"):
        write_file(link, data)
        assert link.is_symlink()
        assert file.read_bytes() == data
        assert file.stat().st_mode == mode
        file.chmod(mode := mode | 0o022)  # others may write, whatever the umask says
    write_file(Path(os.devnull), b"one")

    def interrupt(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(file, b"third")
    assert file.read_bytes() == b"another"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "file.tmp", "link"]
    assert theirs.read_bytes() == b"the user's own"


@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_law_lines_replace_a_file_from_the_first_one_on_and_are_complete_after_an_error(name, tmp_path):
    out = tmp_path / name
    out.write_bytes(b"older")

    def stop_after(lines: list[str]) -> None:
        with open_lines(out) as write:
            for line in lines:
                write(line)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_after([])
    assert out.read_bytes() == b"older"
    with pytest.raises(KeyboardInterrupt):
        stop_after(["Straße", "", "two"])
    assert read_lines(out) == ["Straße", "", "two"]


@pytest.mark.message
def test_message_a_full_disk_or_a_closed_output(monkeypatch):
    with open("/dev/full", "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        full = (
            r"cannot write to the standard output \(No space left on device\); make room, or write to another"
        )
        with pytest.raises(OSError, match=full):
            print_line("a line")
        drop_unwritable()
    monkeypatch.setattr(sys, "stdout", None)  # as after `>&-`
    with pytest.raises(OSError, match="the standard output is closed; open it, or give --output FILE"):
        print_line("a line")


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_law_what_the_reader_did_not_take_is_discarded(name: str, monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        stream.write("a line")
        monkeypatch.setattr(sys, name, stream)
        drop_unwritable()
        stream.flush()  # would otherwise raise BrokenPipeError, as at exit


def test_law_a_message_to_a_terminal_that_is_gone_is_discarded(monkeypatch):
    terminal, ours = os.openpty()
    os.close(terminal)  # as when a connection is lost
    with os.fdopen(ours, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        log("the run goes on")
        drop_unwritable()
