"""By hand, a new chapter touches three places: its source, its room, and `_toc.yml`."""

import shutil
import sys
from pathlib import Path

import pytest

from builder.chapters import read_chapters
from tests.builder.conftest import Run

SOURCE = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {display_name: Python 3, language: python, name: python3}
title: Coins
part: A part
question: How often do two coins agree?
terms: {coin: A random bit.}
---

# Two fair coins agree half of the time

```{code-cell} ipython3
:tags: [hide-input]

from annotated_transformer.book import show_figure
from annotated_transformer.book.chapters.coins import exercises as checks, figures

show_figure("1.1", figures.draw_counts([1, 0, 0, 1]), total=4)
```

```{code-cell} ipython3
checks.check_half(0.5)
```
"""
ROOM = {
    "__init__.py": '"""What only the chapter on coins uses."""\n',
    "figures.py": """from annotated_transformer.book.drawing.figures import new_figure


def draw_counts(counts):
    fig, ax = new_figure()
    ax.bar(range(len(counts)), counts)
    return fig
""",
    "exercises.py": """from annotated_transformer.book.exercises import expect, judge


@judge
def check_half(answer):
    expect(answer == 0.5, "count them.")
    return "half of them agree."
""",
    "captions_01.md": """## Figure 1.1. Two of the four pairs agree

Four bars, one for each pair of two coins: the first and the last have the height 1, the others 0.

There are {total} pairs.
""",
}
TOC = "format: jb-book\nroot: index\n"


@pytest.fixture
def rendered(copy: Path, run: Run):
    """Return a function that updates the notebooks and renders the book, and says what was built."""

    def make(toc: str) -> str:
        (copy / "_toc.yml").write_text(toc, "utf-8")
        built = run(sys.executable, "-m", "builder.build")
        assert built.returncode == 0, built.stdout
        # As in a clone after `pip install -e ".[book]"`: only `_config.yml` leads to the builder.
        program = Path(sys.executable).with_name("jupyter-book")
        plain = "env", "-u", "PYTHONPATH", program
        pages = run(*plain, *"build . --all -W -n --keep-going".split())
        assert pages.returncode == 0, pages.stdout
        return built.stdout

    cover = "# A book\n\n```{chapter-cards}\n```\n\n```{chapter-terms}\n```\n"
    (copy / "index.md").write_text(cover, "utf-8")
    return make


@pytest.mark.slow
def test_law_a_new_chapter_is_its_source_its_room_and_a_line_of_the_table_of_contents(copy: Path, rendered):
    first = copy / "annotated_transformer" / "book" / "chapters" / "why_attention" / "captions_01.md"
    first.unlink()  # this copy's chapter 1 is another
    source, room = copy / "chapters" / "src" / "01_coins.md", first.parents[1] / "coins"
    source.write_text(SOURCE, "utf-8")
    room.mkdir()
    for name, text in ROOM.items():
        (room / name).write_text(text, "utf-8")
    part = "parts:\n- caption: A part\n  chapters: [{file: chapters/01_coins, title: Coins}]\n"
    assert rendered(TOC + part) == "built 01_coins.ipynb\n"
    html = copy / "_build" / "html"
    page, cover = ((html / name).read_text("utf-8") for name in ("chapters/01_coins.html", "index.html"))
    assert "Two of the four pairs agree" in page
    assert "✓ half of them agree" in page
    assert "How often do two coins agree?" in cover
    assert 'id="term-coin"' in cover

    shutil.rmtree(room)
    for path in (source, copy / "chapters" / "01_coins.ipynb"):
        path.unlink()
    assert read_chapters(copy) == []
    assert rendered(TOC) == ""
    assert "coin" not in (html / "index.html").read_text("utf-8").lower()
