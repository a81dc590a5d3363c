"""Pairs in two files or in a table: which they are, where they are, and which lines are bad."""

import gzip
from pathlib import Path

import pytest

from annotated_transformer.text.corpus import load_files
from annotated_transformer.text.pair_files import Table, TwoFiles

PAIRS = [("One.", "Eins."), ("Two\u2028two.", '"Zwei" "zwei".'), ("Three.", "Drei.")]


@pytest.fixture
def two(tmp_path: Path) -> TwoFiles:
    (tmp_path / "b").mkdir()
    files = TwoFiles(tmp_path / "sentences", tmp_path / "b" / "sentences")
    for file, texts in zip((files.source, files.target), zip(*PAIRS, strict=True), strict=True):
        file.write_text("".join(f" {text}\r\n" for text in texts), encoding="utf-8", newline="")
    return files


@pytest.fixture
def table(tmp_path: Path) -> Table:
    lines = ["id\tde\ten", *(f"7\t{target} \t {source}\r" for source, target in PAIRS)]
    (tmp_path / "table.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    return Table(tmp_path / "table.gz", ("en", "de"))


def test_law_both_kinds_of_files_hold_the_same_pairs(two: TwoFiles, table: Table):
    turned = [(target, source) for source, target in PAIRS]
    for files in (two, table):
        assert files.read() == PAIRS
        assert files.reversed().read() == turned
        assert files.reversed().reversed() == files
    numbered = Table(table.file, (3, 2))
    assert numbered.read() == [("en", "de"), *PAIRS]  # with numbers, the first line is a pair


def test_law_a_pair_is_located_by_its_line(two: TwoFiles, table: Table):
    assert two.locate(PAIRS[1]) == f"{two.source} and {two.target}, line 2"  # in different folders
    assert table.locate(PAIRS[1]) == f"{table.file}, line 3"
    assert two.locate(PAIRS[1][::-1]) is table.locate(("a", "b")) is None
    corpus = load_files({"train": two, "test": table})
    assert corpus.locate(PAIRS[2]) == f"{two.source} and {two.target}, line 3"
    assert corpus.reversed().locate(PAIRS[2][::-1]) == f"{two.target} and {two.source}, line 3"


@pytest.mark.message
def test_message_all_bad_lines_of_a_table_are_in_one_report(tmp_path: Path):
    lines = [b"One.\tEins.", b"Two.", b"\tDrei.", b"Four.\t ", b"\xff\tF", b"Six.\tSechs.\tx"]
    (tmp_path / "t.tsv").write_bytes(b"\n".join(lines))
    with pytest.raises(ValueError, match=r"t\.tsv, line 2 has 1 column\n") as caught:
        Table(tmp_path / "t.tsv").read()
    _, *empty, last = str(caught.value).replace(f"{tmp_path}/", "").splitlines()
    assert empty == ["t.tsv, line 3 has an empty sentence", "t.tsv, line 4 has an empty sentence"]
    assert last.startswith("t.tsv, line 5: byte 1 is 0xff, which is not UTF-8")
    assert "; separate the columns by tabs, or give other columns, and remove such lines, and convert" in last


@pytest.mark.message
@pytest.mark.parametrize(
    ("names", "columns", "message"),
    [
        ("id de en", ("fr", "de"), r"first line of .*table names no column 'fr' \(it has id, de, en\); give"),
        ("en de en", ("de", "en"), r"names 2 columns 'en' \(it has en, de, en\); give other columns, such"),
        ("id de en", ("en", 3), r"columns=\('en', 3\): source and target would be the same column; give two"),
        ("id de en", (2, 2), r"columns=\(2, 2\): source and target would be the same column; give two"),
        ("id de en", (1, 0), r"columns=\(1, 0\): columns are counted from 1; give the two numbers, or two"),
        ("en de", ("en", "de"), "table has only a line with the names of columns; give pairs below"),
    ],
)
def test_message_columns_that_a_table_lacks(tmp_path: Path, names: str, columns: tuple, message: str):
    (tmp_path / "table").write_text("\t".join(names.split()))
    with pytest.raises(ValueError, match=message):
        Table(tmp_path / "table", columns).read()


@pytest.mark.message
def test_message_files_of_different_lengths(two: TwoFiles):
    two.target.write_text("Eins.\n")
    with pytest.raises(ValueError, match=rf"3 lines and {two.target} has 1; line i .*; align the two files$"):
        two.read()


@pytest.mark.message
def test_message_no_training_files(two: TwoFiles):
    for files, splits in (({"test": two}, "test"), ({}, "none")):
        with pytest.raises(ValueError, match=rf"no split train among the files \(the splits are {splits}\);"):
            load_files(files)
