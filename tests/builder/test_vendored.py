"""The build fails unless vendored third-party files match their known digests."""

import hashlib
from pathlib import Path

import pytest
from sphinx.errors import ExtensionError

from builder.site.rendering.vendored import MANIFESTS, package_root, verified_files

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def manifest(tmp_path: Path) -> dict:
    (tmp_path / "a.js").write_bytes(b"known")
    digest = hashlib.sha256(b"known").hexdigest()
    return {"package": "some-package", "version": "1.2", "root": ".", "files": {"a.js": digest}}


def test_law_files_with_the_known_digests_pass(manifest: dict, tmp_path: Path):
    assert list(verified_files(manifest, tmp_path)) == [("a.js", tmp_path / "a.js")]


@pytest.mark.parametrize("name", list(MANIFESTS))
def test_law_the_installed_package_is_the_one_of_the_manifest(name: str):
    files = dict(verified_files(MANIFESTS[name], package_root(MANIFESTS[name])))
    assert list(files) == list(MANIFESTS[name]["files"])
    assert files


@pytest.mark.message
def test_message_a_changed_file_a_missing_file_and_a_missing_package(manifest: dict, tmp_path: Path):
    (tmp_path / "a.js").write_bytes(b"changed")
    changed, known = hashlib.sha256(b"changed").hexdigest(), hashlib.sha256(b"known").hexdigest()
    install = r".*pip install some-package==1\.2"
    with pytest.raises(ExtensionError, match=rf"a\.js has SHA-256 {changed}, .* expects {known} {install}"):
        list(verified_files(manifest, tmp_path))
    (tmp_path / "a.js").unlink()
    with pytest.raises(ExtensionError, match=rf"needs a\.js of some-package==1\.2, {install}"):
        list(verified_files(manifest, tmp_path))
    with pytest.raises(ExtensionError, match=rf"needs some-package 1\.2, which is not installed; {install}"):
        package_root(manifest)
