"""What a corpus must be, and what is said where it is not."""

import gzip
import re
from pathlib import Path

import pytest

from annotated_transformer.text.corpus import read_pairs


def write(folder: Path, **files: bytes) -> None:
    for language, data in files.items():
        (folder / f"train.{language}").write_bytes(data)


def test_law_line_i_meets_line_i_stripped(tmp_path: Path):
    write(tmp_path, en=b"One.\r\n Two. \nThree.\n", de="Eins.\nZwei.\t\nDrei, größer.".encode())
    pairs = [("One.", "Eins."), ("Two.", "Zwei."), ("Three.", "Drei, größer.")]
    assert read_pairs(tmp_path, "train") == pairs
    assert read_pairs(tmp_path, "train", source="de", target="en") == [(de, en) for en, de in pairs]


def test_law_only_a_line_feed_ends_a_sentence(tmp_path: Path):
    write(tmp_path, en="a\u2028b\x0cc\n".encode(), de=b"d\n")
    assert read_pairs(tmp_path, "train") == [("a\u2028b\x0cc", "d")]


def test_law_compressed_files_are_the_same(tmp_path: Path):
    write(tmp_path, en=b"One.\n", de=b"Eins.\n")
    plain = read_pairs(tmp_path, "train")
    for path in list(tmp_path.iterdir()):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert read_pairs(tmp_path, "train") == plain


@pytest.mark.parametrize(
    ("split", "pairs"),
    [("train", 29_000), ("val", 1014), ("test_2016_flickr", 1000), ("test_2017_mscoco", 461)],
)
def test_oracle_the_real_corpus_has_its_published_size(shared_data: Path, split: str, pairs: int):
    assert len(read_pairs(shared_data / "multi30k", split)) == pairs


@pytest.mark.message
def test_message_a_missing_folder(tmp_path: Path):
    with pytest.raises(
        FileNotFoundError, match=r"there is no folder .*nowhere; give the one that holds val\.en"
    ):
        read_pairs(tmp_path / "nowhere", "val")


@pytest.mark.message
def test_message_a_missing_file_and_what_is_there(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"neither train\.en nor train\.en\.gz; it holds nothing"):
        read_pairs(tmp_path, "train")
    write(tmp_path, en=b"One.\n", fr=b"Un.\n")
    with pytest.raises(FileNotFoundError, match=r"neither train\.de nor .*; it holds train\.en, train\.fr"):
        read_pairs(tmp_path, "train")


@pytest.mark.message
def test_message_different_numbers_of_lines(tmp_path: Path):
    write(tmp_path, en=b"One.\nTwo.\nThree.\n", de=b"Eins.\nZwei.\n")
    with pytest.raises(
        ValueError, match=r"train\.en has 3 lines and train\.de has 2; line i of one must translate"
    ):
        read_pairs(tmp_path, "train")


@pytest.mark.message
def test_message_undecodable_bytes(tmp_path: Path):
    write(tmp_path, en=b"One.\nTwo.\n", de=b"Eins.\nZw\xf6lf.\n")
    expected = re.escape(
        "train.de, line 2: byte 3 is 0xf6, which is not UTF-8 (invalid start byte); convert the"
    )
    with pytest.raises(ValueError, match=expected):
        read_pairs(tmp_path, "train")


@pytest.mark.message
@pytest.mark.parametrize("data", [b"", b"\n"])
def test_message_an_empty_file(tmp_path: Path, data: bytes):
    write(tmp_path, en=b"One.\n", de=data)
    with pytest.raises(ValueError, match=r"train\.de is empty; give a file with one sentence a line"):
        read_pairs(tmp_path, "train")


@pytest.mark.message
@pytest.mark.parametrize("data", [b"One.\n\nThree.\n", b"One.\n \t\nThree.\n", b"One.\n\n\n"])
def test_message_an_empty_line(tmp_path: Path, data: bytes):
    write(tmp_path, en=data, de=b"Eins.\nZwei.\nDrei.\n")
    with pytest.raises(ValueError, match=r"train\.en, line 2 is empty; drop this line from both files"):
        read_pairs(tmp_path, "train")


@pytest.mark.message
@pytest.mark.parametrize("cut", [0, 7, -5])
def test_message_a_damaged_gzip(tmp_path: Path, cut: int):
    write(tmp_path, de=b"Eins.\n")
    data = gzip.compress(b"One.\n" * 100)
    (tmp_path / "train.en.gz").write_bytes(data[:cut] if cut else b"not gzip")
    with pytest.raises(ValueError, match=r"train\.en\.gz is not a whole gzip file \(.*\); fetch it again"):
        read_pairs(tmp_path, "train")
