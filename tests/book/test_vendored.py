"""The scripts that the book carries are the ones we know, byte by byte, or there is no book."""

import hashlib
import json
from pathlib import Path

import pytest
from sphinx.errors import ExtensionError

from annotated_transformer.book.sphinx_extension import package_root, verified_files

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = json.loads(
    (ROOT / "annotated_transformer" / "book" / "vendored.json").read_text(encoding="utf-8")
)


@pytest.fixture
def manifest(tmp_path: Path) -> dict:
    (tmp_path / "a.js").write_bytes(b"known")
    digest = hashlib.sha256(b"known").hexdigest()
    return {"package": "some-package", "version": "1.2", "root": ".", "files": {"a.js": digest}}


def test_law_known_bytes_pass(manifest: dict, tmp_path: Path):
    assert list(verified_files(manifest, tmp_path)) == [("a.js", tmp_path / "a.js")]


@pytest.mark.parametrize("name", list(MANIFESTS))
def test_law_the_installed_package_is_the_one_of_the_manifest(name: str):
    files = dict(verified_files(MANIFESTS[name], package_root(MANIFESTS[name])))
    assert list(files) == list(MANIFESTS[name]["files"])
    assert files


@pytest.mark.page
@pytest.mark.parametrize("name", list(MANIFESTS))
def test_law_the_book_carries_the_files_of_the_manifest_and_no_others(name: str):
    folder = ROOT / "_build" / "html" / "_static" / "vendor" / name
    carried = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert carried == set(MANIFESTS[name]["files"])
    assert dict(verified_files(MANIFESTS[name], folder))


@pytest.mark.message
def test_message_a_changed_file(manifest: dict, tmp_path: Path):
    (tmp_path / "a.js").write_bytes(b"changed")
    changed, known = hashlib.sha256(b"changed").hexdigest(), hashlib.sha256(b"known").hexdigest()
    sentence = (
        rf"a\.js has SHA-256 {changed}, but vendored\.json expects {known} .*pip install some-package==1\.2"
    )
    with pytest.raises(ExtensionError, match=sentence):
        list(verified_files(manifest, tmp_path))


@pytest.mark.message
def test_message_a_missing_file(manifest: dict, tmp_path: Path):
    (tmp_path / "a.js").unlink()
    with pytest.raises(
        ExtensionError, match=r"needs a\.js of some-package==1\.2, .*pip install some-package==1\.2"
    ):
        list(verified_files(manifest, tmp_path))


@pytest.mark.message
def test_message_a_missing_package(manifest: dict):
    sentence = r"needs some-package 1\.2, which is not installed; .*pip install some-package==1\.2"
    with pytest.raises(ExtensionError, match=sentence):
        package_root(manifest)
