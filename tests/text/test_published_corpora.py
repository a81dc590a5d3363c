"""Published corpora: their pinned digests and terms."""

import hashlib
from pathlib import Path

import pytest

from annotated_transformer.text.corpus import published


@pytest.mark.parametrize("name", published())
def test_oracle_the_pinned_digests_are_those_of_the_real_files(shared_data: Path, name: str):
    files = published()[name].files
    digests = {f: hashlib.sha256((shared_data / name / f).read_bytes()).hexdigest() for f in files}
    assert digests == files != {}


@pytest.mark.parametrize("name", published())
def test_law_the_book_quotes_the_terms(root: Path, name: str):
    page = (root / "chapters" / "api" / "text.md").read_text(encoding="utf-8")
    assert f"```text\n{published()[name].terms}\n```\n" in page
