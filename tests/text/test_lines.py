"""Reading lines of plain and compressed text, and the error messages about invalid files."""

import gzip
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from annotated_transformer.text.lines import arriving_lines, decode_lines, read_lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\u2028b\x0cc \r\n\nd\u0085\te\n", ["a\u2028b\x0cc \r", "", "d\u0085\te"]),
        ("\ufeffa\n\ufeff\n", ["a", "\ufeff"]),  # a byte-order mark begins a file
        ("a\n\n\n", ["a", "", ""]),
    ],
)
def test_law_only_a_line_feed_ends_a_line(tmp_path: Path, text: str, lines: list[str]):
    (tmp_path / "text").write_bytes(text.encode())
    assert read_lines(tmp_path / "text") == lines


def test_law_compressed_files_have_the_same_lines(tmp_path: Path):
    text = "größer\nkleiner\n".encode()
    with zipfile.ZipFile(tmp_path / "text.zip", "w") as archive:
        archive.writestr("about", "nothing")
        archive.writestr("inside", text)
    assert read_lines(tmp_path / "text.zip", "inside") == ["größer", "kleiner"]
    for name in ("text.gz", "text.en"):  # gzip is recognized by its content, too
        (tmp_path / name).write_bytes(gzip.compress(text))
        assert read_lines(tmp_path / name) == ["größer", "kleiner"]


def flip(data: bytes) -> bytes:
    """Damage what is packed in an archive."""
    return data[:60] + bytes(255 - byte for byte in data[60:70]) + data[70:]


METHODS = {"stored": zipfile.ZIP_DEFLATED, "lzma": zipfile.ZIP_LZMA, "bzip2": zipfile.ZIP_BZIP2}
DAMAGED = [(method, flip) for method in METHODS]
DAMAGED += [
    (kind, damage)
    for kind in ("gzip", "stored")
    for damage in (lambda data: b"no archive", lambda data: data[:7], lambda data: data[:-5])
]


@pytest.mark.message
@pytest.mark.parametrize(("kind", "damage"), DAMAGED)
def test_message_a_damaged_archive(tmp_path: Path, kind: str, damage: Callable[[bytes], bytes]):
    path, text = tmp_path / ("text.gz" if kind == "gzip" else "text.zip"), "One two three. " * 99
    path.write_bytes(gzip.compress(text.encode()))
    if kind != "gzip":
        with zipfile.ZipFile(path, "w", METHODS[kind]) as archive:
            archive.writestr("inside", text)
    assert read_lines(path, "inside") == [text]
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=rf"{path} is not a complete archive \(.*\); download it again"):
        read_lines(path, "inside")


@pytest.mark.message
def test_message_an_empty_file_or_an_archive_without_the_file(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "text.zip", "w") as archive:
        archive.writestr("deu.txt", "a")
    with pytest.raises(ValueError, match=r"text\.zip does not contain fra\.txt; download it again"):
        read_lines(tmp_path / "text.zip", "fra.txt")
    for data in (b"", b"\n"):
        (tmp_path / "text").write_bytes(data)
        with pytest.raises(ValueError, match="text is empty; give a file with one sentence per line"):
            read_lines(tmp_path / "text")


TEXTS = ["Größe.\nZwei.\n", "Kurz", "Щит, уж.\nПиджи?\n", "今天天气很好。\n上海很大。\n", "a\r\nb\r\n"]
OLD_MACS = r"has carriage returns within its lines \([123] in 1\), as old Macs ended lines; convert these"
NO_TEXT = [
    (f"\ufeff{text}".encode(f"{kind}{order}"), f"is {kind}, not UTF-8; convert the text to UTF-8")
    for kind in ("UTF-16", "UTF-32")
    for order in ("-LE", "-BE")
    for text in TEXTS
]
NO_TEXT += [
    (b"\x1f\x8b\x08\0", "is compressed by gzip, not UTF-8; unpack it, or export its text"),
    (b"BZh91AY&SY\xe3\xf2", "is compressed by bzip2, not"),
    (b"\xfd7zXZ\0\0\x04", "is compressed by xz, not"),
    (b"PK\x03\x04\x14\0", "is a zip archive or an office document, not"),
    (b"%PDF-1.7\n", "is a PDF document, not UTF-8; unpack it, or export its text"),
    (b"\x28\xb5\x2f\xfd\x24", "is compressed by zstd, not UTF-8"),
    (bytes(range(256)).replace(b"\n", b"\0"), "has 2 NUL bytes, which text does not have; give a text file"),
    *((raw, OLD_MACS) for raw in (b"One.\rTwo.\n", b"One.\rTwo.\rThree.\r", b"\rOne.\r\rTwo.")),
]


@pytest.mark.message
@pytest.mark.parametrize(("raw", "message"), NO_TEXT)
def test_message_not_a_text(raw: bytes, message: str):
    for errors in ("strict", "surrogateescape"):
        with pytest.raises(ValueError, match=f"^name {message}"):
            decode_lines(raw, "name", errors=errors)


@pytest.mark.message
def test_message_lines_that_contain_nul():
    raw = b"Gros.\nEi\0ns.\nZwei.\n"
    with pytest.raises(ValueError, match=r"^name, line 2: byte 3 is 0x00, not UTF-8 text; convert the text"):
        decode_lines(raw, "name")
    assert decode_lines(raw, "name", errors="surrogateescape") == ["Gros.", "Ei\0ns.", "Zwei."]


RETURNS = ["One.\r\nTwo.\r\n", "One.\r\r\nTwo.\r\r\n", "One.\n\rTwo.", "One.\r", "A\rB\nC\n"]


@pytest.mark.parametrize("text", [*TEXTS, *RETURNS])
def test_law_lines_end_at_line_feeds_and_carriage_returns_beside_them_are_white_space(text: str):
    for errors in ("strict", "surrogateescape"):
        assert decode_lines(text.encode(), "name", errors=errors) == text.removesuffix("\n").split("\n")


@pytest.mark.message
@pytest.mark.parametrize(("bad", "more"), [(1, []), (10, []), (13, ["and 3 more"])])
def test_message_all_lines_that_are_not_utf_8_are_in_one_report(bad: int, more: list[str]):
    with pytest.raises(ValueError, match=r"; convert the text to UTF-8$") as error:
        decode_lines(b"Eins.\nZw\xf6lf.\n" * bad, "text")
    why = "byte 3 is 0xf6, which is not UTF-8 (invalid start byte)"
    lines = [f"text, line {number}: {why}" for number in range(2, 2 * bad + 1, 2)][:10]
    assert str(error.value).removesuffix("; convert the text to UTF-8").splitlines() == lines + more


def arriving(*written: bytes) -> list[list[str]]:
    """Return what arrives through a pipe, into which each part is written after the one before was read."""
    reader, writer = os.pipe()
    parts, arrived = iter(written), []
    os.write(writer, next(parts))
    for lines in arriving_lines(reader, "the pipe"):
        arrived.append(lines)
        if (part := next(parts, None)) is not None:
            os.write(writer, part)
        elif writer:
            os.close(writer)
            writer = 0
    os.close(reader)
    return arrived


def test_law_lines_of_a_pipe_arrive_as_they_are_written():
    text = "\ufeffa\nb\n\nzw\u00f6lf\n\ufeffe"
    assert arriving(*(f"{line}\n".encode() for line in text.split("\n"))) == [
        [line] for line in ("a", "b", "", "zw\u00f6lf", "\ufeffe")
    ]
    assert arriving(b"a\r\nb\n\xffc") == [["a\r", "b"], ["\udcffc"]]


@pytest.mark.message
@pytest.mark.parametrize(
    ("begun", "kind"), [(gzip.compress(b"a", mtime=0), "compressed by gzip"), (b"a\0b\0\n\0", "3 NUL")]
)
def test_message_a_pipe_that_is_no_text(begun: bytes, kind: str):
    with pytest.raises(ValueError, match=f"^the pipe (is|has) {kind}"):
        arriving(begun)
