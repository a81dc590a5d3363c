"""The command `download` prints the terms first, and the corpus can then be loaded."""

import dataclasses
import hashlib
import io
import re
import zipfile
from pathlib import Path
from urllib.request import Request

import pytest

from annotated_transformer import __main__ as command_line
from annotated_transformer.text.corpus import CORPORA, load_corpus
from annotated_transformer.text.corpus_sources import TATOEBA


class Answer(io.BytesIO):
    """What a server sends."""

    status, length = 200, None


LINES = "".join(f"A{i} b.\tEin C{i} d.\n" for i in range(1009))


@pytest.fixture
def served(tmp_path: Path, monkeypatch) -> Path:
    """Answer requests for a small Tatoeba from a folder, and return the folder."""
    packed, folder = io.BytesIO(), tmp_path / "served"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("deu.txt", LINES)
    folder.mkdir()
    (folder / "deu-eng.zip").write_bytes(packed.getvalue())
    sums = f"{hashlib.sha256(packed.getvalue()).hexdigest()}  deu-eng.zip\n"

    def answer(request: Request, timeout: float) -> Answer:
        return Answer((folder / request.full_url.rpartition("/")[2]).read_bytes())

    monkeypatch.setattr("annotated_transformer.text.download.urlopen", answer)
    known, source = CORPORA["tatoeba"], dataclasses.replace(TATOEBA, sums=sums)
    monkeypatch.setitem(CORPORA, "tatoeba", dataclasses.replace(known, source=source))
    return folder


@pytest.mark.usefixtures("served", "unchecked")  # of types: the answer is a mock
def test_law_a_downloaded_corpus_can_be_loaded(tmp_path: Path, capsys):
    assert command_line.main(["download", "tatoeba", "--to", str(tmp_path / "data")]) == 0
    out, err = capsys.readouterr()
    terms, last = out.rstrip("\n").rsplit("\n", 1)
    assert terms == TATOEBA.terms
    where = f"--corpus tatoeba --data {tmp_path / 'data'}"
    assert last == f"tatoeba is in {tmp_path / 'data' / 'tatoeba'}; give {where}"
    assert err == ""  # no progress bar without a terminal
    corpus = load_corpus("tatoeba", folder=tmp_path / "data")
    assert sum(map(len, corpus.splits.values())) == 1009


@pytest.mark.message
def test_message_the_terms_are_printed_before_an_error(served: Path, tmp_path: Path, capsys):
    (served / "deu-eng.zip").write_bytes(b"another")
    to = tmp_path / "new" / "data"
    assert command_line.main(["download", "tatoeba", "--to", str(to)]) == 2
    out, err = capsys.readouterr()
    assert out == f"{TATOEBA.terms}\n"
    assert err.startswith(f"error: {to / 'tatoeba' / 'deu-eng.zip.part'} has the SHA-256 ")
    assert err.count("\n") == 1
    (served / "deu-eng.zip").unlink()
    for place in (to, tmp_path):
        assert command_line.main(["download", "tatoeba", "--to", str(place)]) == 2
        assert re.search(r"error: cannot download \S*/deu-eng\.zip \(", capsys.readouterr().err)
    assert [path.name for path in tmp_path.iterdir()] == ["served"]  # and no empty folder


@pytest.mark.message
def test_message_a_folder_that_is_a_file(tmp_path: Path, capsys):
    (tmp_path / "file").touch()
    assert command_line.main(["download", "multi30k", "--to", str(tmp_path / "file")]) == 2
    place = tmp_path / "file" / "multi30k"
    sentence = f"error: cannot make the folder {place} (Not a directory); give another\n"
    assert capsys.readouterr().err.endswith(sentence)
