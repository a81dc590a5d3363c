"""Published corpora: their pinned digests, terms, and folders."""

import hashlib
import re
from pathlib import Path

import pytest

from annotated_transformer.text.corpus import DATA_VARIABLE, corpus_folder
from annotated_transformer.text.published_corpora import SOURCES


@pytest.mark.parametrize("name", SOURCES)
def test_law_every_file_is_pinned_by_digest_and_commit(name: str):
    source = SOURCES[name]
    assert source.files
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in source.files.values())
    assert re.match(r"https://[\w./-]+/[0-9a-f]{40}(/|$)", source.url)


@pytest.mark.parametrize("name", SOURCES)
def test_oracle_the_pinned_digests_are_those_of_the_real_files(shared_data: Path, name: str):
    files = SOURCES[name].files
    folder = shared_data / name
    assert {f: hashlib.sha256((folder / f).read_bytes()).hexdigest() for f in files} == files


@pytest.mark.parametrize("name", SOURCES)
def test_law_the_book_quotes_the_terms(root: Path, name: str):
    page = (root / "chapters" / "api" / "text.md").read_text(encoding="utf-8")
    assert f"```text\n{SOURCES[name].terms}\n```\n" in page


def test_law_a_subfolder_named_after_the_corpus_takes_precedence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert corpus_folder("tatoeba", tmp_path) == tmp_path
    (tmp_path / "tatoeba").mkdir()
    assert corpus_folder("tatoeba", str(tmp_path)) == tmp_path / "tatoeba"
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    assert corpus_folder("tatoeba") == tmp_path / "tatoeba"
    assert corpus_folder("multi30k") == tmp_path
