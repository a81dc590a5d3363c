"""What the site offers of the notebooks: launch buttons for a made-up repository, and the download."""

import json
import zipfile
from pathlib import Path
from unittest.mock import Mock

from sphinx.application import Sphinx

from builder.site import notebooks

CHAPTERS = Path(__file__).resolve().parents[3] / "chapters"


def test_law_the_download_has_every_notebook_without_its_solutions(tmp_path):
    app = Mock(spec=Sphinx)
    app.srcdir, app.outdir = CHAPTERS.parent, tmp_path
    archive = tmp_path / notebooks.STUDENT
    notebooks.write_download(app)
    first = archive.read_bytes()
    notebooks.write_download(app)
    assert archive.read_bytes() == first
    with zipfile.ZipFile(archive) as opened:
        texts = {name: opened.read(name).decode() for name in opened.namelist()}
    assert texts.keys() == {path.name for path in CHAPTERS.glob("*.ipynb")}
    chapter = texts["05_multi_head_attention.ipynb"]
    assert "### Exercise 5.1" in chapter
    assert not any("#### Solution" in text or "_solution(" in text for text in texts.values())
    assert len(json.loads(chapter)["cells"]) > 50
