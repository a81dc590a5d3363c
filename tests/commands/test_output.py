"""Writing to stdout: the terminal's encoding, and a reader that closes the stream."""

import io
import sys

import pytest

from annotated_transformer.commands import output
from annotated_transformer.commands.output import ReaderGone, print_line


@pytest.mark.message
def test_message_the_reader_closed_the_standard_output(monkeypatch: pytest.MonkeyPatch):
    def broken(*values: object, **options: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(output, "print", broken, raising=False)
    with pytest.raises(ReaderGone, match="the reader has closed the standard output"):
        print_line("a line")


@pytest.mark.parametrize(
    ("encoding", "line"),
    [("ascii", b"Stra\\xdfe \\u2192"), ("latin-1", b"Stra\xdfe \\u2192"), ("utf-8", "Straße →".encode())],
)
def test_law_characters_the_terminal_cannot_encode_are_escaped(
    encoding: str, line: bytes, monkeypatch: pytest.MonkeyPatch
):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    print_line("Straße →")
    assert raw.getvalue() == line + b"\n"


@pytest.mark.message
def test_message_the_standard_output_is_closed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdout", None)  # as after `>&-`
    with pytest.raises(OSError, match="the standard output is closed; open it, or give --output FILE"):
        print_line("a line")
