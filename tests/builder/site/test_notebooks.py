"""What the site offers of the notebooks: launch buttons for a made-up repository, and the download."""

import json
import zipfile
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

from sphinx.application import Sphinx
from sphinx_book_theme.header_buttons.launch import add_launch_buttons

from builder.site import notebooks

CHAPTERS = Path(__file__).resolve().parents[3] / "chapters"
PAGE = "chapters/03_attention"


def launched(options: dict) -> dict[str, str]:
    """Return the address of each launch button that the theme writes for these options of the site."""
    notebooks.offer_to_launch(Mock(spec=Sphinx), SimpleNamespace(html_theme_options=options))
    env = SimpleNamespace(doc2path=lambda page: f"{page}.ipynb", metadata={PAGE: {"kernelspec": {}}})
    app = SimpleNamespace(env=env, config={"html_theme_options": options})
    buttons: list = []
    parts = {"github_url": "https://github.com", "github_user": "someone", "github_repo": "book"}
    context = {"pagename": PAGE, "sourcename": f"{PAGE}.ipynb", "header_buttons": buttons}
    context |= {"theme_repository_provider": "", "theme_repository_url": options.get("repository_url", "")}
    add_launch_buttons(app, PAGE, "page.html", context | parts, None)
    return {button["text"]: button["url"] for group in buttons for button in group["buttons"]}


def test_law_a_page_can_be_launched_once_the_repository_has_an_address():
    assert launched({}) == {}
    options = {"repository_url": "https://github.com/someone/book", "repository_branch": "main"}
    assert launched(options) == {
        "Binder": f"https://mybinder.org/v2/gh/someone/book/main?urlpath=lab/tree/{PAGE}.ipynb",
        "Colab": f"https://colab.research.google.com/github/someone/book/blob/main/{PAGE}.ipynb",
    }


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
