"""Reading lines of plain and compressed text, and the error messages about invalid files."""

import gzip
import re
import zipfile
from pathlib import Path

import pytest

from annotated_transformer.text.lines import decode_lines, read_lines


def test_law_only_a_line_feed_ends_a_line(tmp_path: Path):
    (tmp_path / "text").write_bytes("a\u2028b\x0cc \r\n\nd\u0085\te\n".encode())
    assert read_lines(tmp_path / "text") == ["a\u2028b\x0cc \r", "", "d\u0085\te"]
    (tmp_path / "text").write_bytes(b"\xef\xbb\xbfa\n\xef\xbb\xbf\n")
    assert read_lines(tmp_path / "text") == ["a", "\ufeff"]  # a byte-order mark begins a file
    (tmp_path / "text").write_bytes(b"a\n\n\n")
    assert read_lines(tmp_path / "text") == ["a", "", ""]


def test_law_compressed_files_have_the_same_lines(tmp_path: Path):
    text = "größer\nkleiner\n".encode()
    (tmp_path / "text.gz").write_bytes(gzip.compress(text))
    with zipfile.ZipFile(tmp_path / "text.zip", "w") as archive:
        archive.writestr("about", "nothing")
        archive.writestr("inside", text)
    assert read_lines(tmp_path / "text.gz") == ["größer", "kleiner"]
    assert read_lines(tmp_path / "text.zip", "inside") == ["größer", "kleiner"]


@pytest.mark.message
@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_DEFLATED])
def test_message_a_damaged_file_in_an_archive(tmp_path: Path, method: int):
    with zipfile.ZipFile(tmp_path / "text.zip", "w", method) as archive:
        archive.writestr("inside", "One two three. " * 99)
    data = bytearray((tmp_path / "text.zip").read_bytes())
    data[60:70] = bytes(255 - byte for byte in data[60:70])
    (tmp_path / "text.zip").write_bytes(data)
    with pytest.raises(ValueError, match=r"text\.zip is not a complete archive \(.*\); download it again"):
        read_lines(tmp_path / "text.zip", "inside")


@pytest.mark.message
@pytest.mark.parametrize("kind", ["gz", "zip"])
@pytest.mark.parametrize("cut", [0, 7, -5])
def test_message_a_damaged_archive(tmp_path: Path, kind: str, cut: int):
    path = tmp_path / f"text.{kind}"
    if kind == "gz":
        path.write_bytes(gzip.compress(b"One.\n" * 100))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("inside", b"One.\n" * 100)
    path.write_bytes(path.read_bytes()[:cut] if cut else b"no archive")
    with pytest.raises(
        ValueError, match=rf"text\.{kind} is not a complete archive \(.*\); download it again"
    ):
        read_lines(path, "inside")


def unknown(archive: bytes) -> bytes:
    """Give the file in an archive a compression that Python does not know."""
    number = (9).to_bytes(2, "little")  # Deflate64
    central = archive.index(b"PK\x01\x02")
    return archive[:8] + number + archive[10 : central + 10] + number + archive[central + 12 :]


def encrypted(archive: bytes) -> bytes:
    """Mark the file in an archive as encrypted."""
    central = archive.index(b"PK\x01\x02")
    return archive[:6] + b"\x01" + archive[7 : central + 8] + b"\x01" + archive[central + 9 :]


@pytest.mark.message
@pytest.mark.parametrize(
    ("change", "reason"),
    [(unknown, "That compression method is not supported"), (encrypted, "File 'deu.txt' is encrypted, .*")],
)
def test_message_an_archive_that_python_cannot_unpack(tmp_path: Path, change, reason: str):
    path = tmp_path / "text.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("deu.txt", "a")
    assert read_lines(path, "deu.txt") == ["a"]
    path.write_bytes(change(path.read_bytes()))
    message = (
        rf"cannot unpack .*text\.zip \({reason}\); unpack it with another program, and replace it by deu"
    )
    with pytest.raises(ValueError, match=message):
        read_lines(path, "deu.txt")


@pytest.mark.message
def test_message_an_archive_without_the_file(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "text.zip", "w") as archive:
        archive.writestr("about", "nothing")
    with pytest.raises(ValueError, match=re.escape("text.zip does not contain deu.txt; download it again")):
        read_lines(tmp_path / "text.zip", "deu.txt")


@pytest.mark.message
@pytest.mark.parametrize("data", [b"", b"\n"])
def test_message_an_empty_file(tmp_path: Path, data: bytes):
    (tmp_path / "text").write_bytes(data)
    with pytest.raises(ValueError, match="text is empty; give a file with one sentence per line"):
        read_lines(tmp_path / "text")


@pytest.mark.message
def test_message_bytes_that_are_not_utf_8(tmp_path: Path):
    (tmp_path / "text").write_bytes(b"Eins.\nZw\xf6lf.\n")
    expected = "text, line 2: byte 3 is 0xf6, which is not UTF-8 (invalid start byte); convert the text"
    with pytest.raises(ValueError, match=re.escape(expected)):
        read_lines(tmp_path / "text")


@pytest.mark.message
@pytest.mark.parametrize(("bad", "more"), [(3, 0), (10, 0), (13, 3)])
def test_message_all_lines_that_are_not_utf_8_are_in_one_report(bad: int, more: int):
    with pytest.raises(ValueError, match="convert the text to UTF-8") as error:
        decode_lines(b"Eins.\n\xf6\n" * bad, "text")
    *lines, last = str(error.value).removesuffix("; convert the text to UTF-8").splitlines()
    lines = lines if more else [*lines, last]
    assert [int(line.split("line ")[1].split(":")[0]) for line in lines] == list(range(2, 2 * bad + 1, 2))[
        :10
    ]
    assert not more or last == f"and {more} more"
