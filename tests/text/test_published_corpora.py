"""Published corpora: their pinned digests and terms."""

import hashlib
import re
from pathlib import Path

import pytest

from annotated_transformer.text.corpus import published


@pytest.mark.parametrize("name", published())
def test_law_every_file_is_pinned_by_digest_and_commit(name: str):
    source = published()[name]
    assert source.files
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in source.files.values())
    assert re.match(r"https://[\w./-]+/[0-9a-f]{40}(/|$)", source.url)


@pytest.mark.parametrize("name", published())
def test_oracle_the_pinned_digests_are_those_of_the_real_files(shared_data: Path, name: str):
    files = published()[name].files
    folder = shared_data / name
    assert {f: hashlib.sha256((folder / f).read_bytes()).hexdigest() for f in files} == files


@pytest.mark.parametrize("name", published())
def test_law_the_book_quotes_the_terms(root: Path, name: str):
    page = (root / "chapters" / "api" / "text.md").read_text(encoding="utf-8")
    assert f"```text\n{published()[name].terms}\n```\n" in page
