"""The command `download` prints the terms first, and the corpus can then be loaded."""

import dataclasses
import hashlib
import io
import zipfile
from pathlib import Path

import pytest

from annotated_transformer import __main__ as command_line
from annotated_transformer.text.corpus import CORPORA, load_corpus
from annotated_transformer.text.published_corpora import TATOEBA


class Answer(io.BytesIO):
    """What a server sends."""

    status, length = 200, None


@pytest.mark.message
@pytest.mark.usefixtures("unchecked")  # of types: the answer is a mock
def test_law_a_corpus_is_downloaded_after_its_terms_are_printed(tmp_path: Path, capsys, monkeypatch):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("deu.txt", "".join(f"A{i} b.\tEin C{i} d.\n" for i in range(1009)))
    sent = [b"another", packed.getvalue()]
    monkeypatch.setattr(
        "annotated_transformer.text.download.urlopen", lambda request, timeout: Answer(sent.pop(0))
    )
    sums = f"{hashlib.sha256(packed.getvalue()).hexdigest()}  deu-eng.zip\n"
    source = dataclasses.replace(TATOEBA, sums=sums)
    monkeypatch.setitem(CORPORA, "tatoeba", dataclasses.replace(CORPORA["tatoeba"], source=source))
    to = tmp_path / "new" / "data"
    assert command_line.main(["download", "tatoeba", "--to", str(to)]) == 2
    out, err = capsys.readouterr()
    assert out == f"{TATOEBA.terms}\n"
    assert err.startswith(f"error: {to / 'tatoeba' / 'deu-eng.zip.part'} has the SHA-256 ")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    assert command_line.main(["download", "tatoeba", "--to", str(to)]) == 0
    last = f"tatoeba is in {to / 'tatoeba'}; give --corpus tatoeba --data {to}"
    assert capsys.readouterr() == (f"{TATOEBA.terms}\n{last}\n", "")  # no progress bar without a terminal
    assert sum(map(len, load_corpus("tatoeba", folder=to).splits.values())) == 1009
