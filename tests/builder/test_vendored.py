"""The build fails unless vendored third-party files match their known digests."""

import hashlib
import re
from pathlib import Path

import pytest
from sphinx.errors import ExtensionError

from builder.site.rendering.vendored import MANIFESTS, package_root, verified_files

ROOT = Path(__file__).resolve().parents[2]
FONTS = ROOT / "builder" / "site" / "static" / "fonts"


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


@pytest.mark.page
def test_law_the_book_includes_the_fonts_of_mathjax_but_not_its_scripts():
    static = ROOT / "_build" / "html" / "_static"
    carried = {path.name for path in (static / "formulas").iterdir()}
    assert {"formulas.css", "MathJax_Main-Regular.woff", "MathJax_Math-Italic.woff"} <= carried
    assert carried - {"formulas.css"} <= {Path(name).name for name in MANIFESTS["mathjax"]["files"]}
    assert [path.name for path in static.rglob("*.js") if "mathjax" in path.read_text("utf-8").lower()] == []


def test_law_each_bundled_font_is_used_and_licensed():
    css = (FONTS.parent / "book.css").read_text(encoding="utf-8")
    fonts = {path.name for path in FONTS.glob("*.woff2")}
    assert set(re.findall(r'url\("fonts/([^"]+)"\)', css)) == fonts
    assert fonts
    license = (FONTS / "OFL.txt").read_text(encoding="utf-8")
    assert "SIL OPEN FONT LICENSE Version 1.1" in license
    assert "Adobe" in license


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
