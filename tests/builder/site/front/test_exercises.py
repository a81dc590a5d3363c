"""The page of exercises lists each of them once, as its source says; test_render.py follows its links."""

import re

import pytest
from bs4 import BeautifulSoup

from builder.chapters import Chapter
from builder.site.front.exercises import ExerciseKinds, ExerciseList, exercises_of
from tests.targets import HTML, SOURCES

SOURCE = """# One

```{exercise-start} Signs | of $x$
:label: ex-signs
:class: derive stars-2
```
Write them down.
```{exercise-end}
```

```{code-cell} ipython3
:tags: [exercise]
signs = None
```

```{solution-start} ex-signs
:class: dropdown
```
```{code-cell} ipython3
:tags: [solution]
LINES
```
```{solution-end}
```
"""


def test_law_every_exercise_of_a_chapter_is_listed_in_order():
    for chapter, path in SOURCES.items():
        source = path.read_text("utf-8")
        found = exercises_of(source, chapter)
        assert [one.label for one in found] == re.findall(r"^:label: (ex-\S+)$", source, re.MULTILINE)
        assert [one.number for one in found] == [f"{chapter}.{i}" for i in range(1, len(found) + 1)]
        assert all(one.title and one.kind and one.stars and 5 <= one.minutes <= 90 for one in found)


def test_law_the_tables_link_to_the_exercise(tmp_path):
    (tmp_path / "chapters" / "src").mkdir(parents=True)
    (tmp_path / "chapters" / "src" / "03_made.md").write_text(SOURCE, encoding="utf-8")
    made = {3: Chapter(3, "P", "Made", "?", file="chapters/03_made"), 4: Chapter(4, "P", "Planned", "?")}
    lines = ExerciseList.text(None, made, tmp_path).splitlines()
    assert lines[0] == "```{rubric} [Chapter 3: Made](/chapters/03_made.ipynb)"
    stars = '<span class="at-stars" role="img" aria-label="difficulty 2 of 3">★★</span>'
    link = r"[Signs \| of $x$](/chapters/03_made.ipynb#ex-signs)"
    assert lines[-1] == f"| 3.1 | {link} | Derive | {stars} | 15 |"
    rows = ExerciseKinds.text(None, made, tmp_path).splitlines()
    assert "| Derive | – | [3.1](/chapters/03_made.ipynb#ex-signs) | – |" in rows
    assert "| Debug | – | – | – |" in rows


@pytest.mark.page
def test_law_the_page_lists_every_exercise():
    page = BeautifulSoup((HTML / "exercises.html").read_text(encoding="utf-8"), "html.parser")
    kinds, *tables = page.select("article table")
    found = [exercises_of(path.read_text("utf-8"), chapter) for chapter, path in SOURCES.items()]
    wanted = [one.number for several in found for one in several]
    assert [row.td.get_text() for table in tables for row in table.select("tbody tr")] == wanted
    assert sorted(link.get_text() for link in kinds.select("a")) == sorted(wanted)
