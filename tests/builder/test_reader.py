"""Notebooks are plain Markdown, and folded where the site folds."""

import json
import re
from pathlib import Path

import pytest

from builder.book import Book
from builder.reader import SETUP, read_cells, setup_cell
from builder.source import notebook_of

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "chapters").glob("*.ipynb"))
LINES = 15  # of code before the second text, as a reader sees them
RAW = re.compile(r"\{[a-z-]+\}`|<!--|^\([\w-]+\)=|[`:]{3}\{|\]\(#(?!figure-|[A-Z])|^:label:", re.MULTILINE)
SOURCE = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
---

(here)=
# A title

See {cite}`vaswani2017attention,press2017using`, {cite:t}`press2017using`,
{doc}`03_scaled_dot_product_attention`,
[chapter 4](04_self_attention.ipynb#heads), {doc}`notation`, {eq}`eq-mine`, {eq}`eq-attention`,
and {ref}`here`. <!-- typed -->It is 2. [✓](#claim-two) ([check](#claim-two))

$$
a = b
$$ (eq-mine)

```{code-cell} ipython3
:tags: [hide-cell]
import math
```

## Exercises

```{exercise-start} A name
:label: ex-mine
:class: derive stars-2
```
Do it.
```{exercise-end}
```

```{code-cell} ipython3
:tags: [exercise]
answer = 1
check_it(answer)
```

```{solution-start} ex-mine
```
Like this.

```{code-cell} ipython3
:tags: [solution]
answer = 2
```
```{solution-end}
```

## What we showed

All. {whence}`run here`
"""


@pytest.fixture(scope="module")
def book():
    return Book(ROOT)


@pytest.fixture
def cells(book, tmp_path):
    """Return a function that makes the cells of a notebook from a source, as chapter 1."""

    def make(source, **settings):
        (tmp_path / "01_mine.md").write_text(source)
        for name, value in {"site": "", "repository": "", **settings}.items():
            setattr(book, name, value)
        book.sources["01_mine"] = tmp_path / "01_mine.md"
        book.add(tmp_path / "01_mine.md")
        return read_cells(notebook_of(tmp_path / "01_mine.md"), book, "01_mine")

    return make


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_law_no_notebook_shows_myst_or_much_code_and_folded_code_says_what_it_does(path):
    found = json.loads(path.read_text("utf-8"))["cells"]
    texts = [place for place, cell in enumerate(found) if cell["cell_type"] == "markdown"]
    first = [cell for cell in found[: texts[1]] if cell["cell_type"] == "code"]
    opened = [cell for cell in first if not cell["metadata"].get("jupyter", {}).get("source_hidden")]
    assert sum(len(cell["source"]) for cell in opened) <= LINES
    chapter = re.sub(r"^0|\D.*", "", path.stem)  # empty for the guide
    for cell in found:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            assert RAW.findall(source) == [], source
            continue
        assert not chapter or not re.search(r"""["']\.\.[/"']""", source), source  # readers copy single files
        if "jupyter" in cell["metadata"]:
            assert source.startswith("# "), source
    text = "\n".join("".join(cell["source"]) for cell in found)
    numbers = re.findall(r"^### Exercise ([\d.]+) · ", text, re.MULTILINE)
    assert numbers == [f"{chapter}.{i}" for i in range(1, len(numbers) + 1)]


def test_law_a_source_becomes_plain_markdown(cells):
    (title, setup, code, part, exercise, stub, heading, solution, answer, end) = cells(SOURCE)
    assert title.source == (
        "# 1. A title\n\nSee ([Vaswani et al., 2017](https://arxiv.org/abs/1706.03762); "
        "[Press and Wolf, 2017](https://arxiv.org/abs/1608.05859)), "
        "[Press and Wolf (2017)](https://arxiv.org/abs/1608.05859),\n"
        "[Scaled dot-product attention mixes values by how well their keys match a query]"
        "(03_scaled_dot_product_attention.ipynb),\n"
        "[chapter 4](04_self_attention.ipynb), *Notation and shapes*, (1.1), "
        "[(3.1)](03_scaled_dot_product_attention.ipynb),\nand [A title](#1.-A-title). It is 2. ✓ (✓)\n\n"
        "$$\na = b\n\\tag{1.1}\n$$"
    )
    assert setup.source.startswith("# Setup")
    hidden = {"source_hidden": True, "outputs_hidden": True}
    assert code.metadata == {"tags": ["hide-cell"], "jupyter": hidden, "cellView": "form"}
    assert part.source.startswith("## Exercises\n\nThe exercises need the cells above. If you get `NameErr")
    assert exercise.source == "### Exercise 1.1 · Derive ★★ · A name\n\nDo it."
    assert stub.metadata == {"tags": ["exercise"], "exercise": {"id": "1.1"}}
    assert heading.source == "#### Solution"
    assert heading.metadata == {"jp-MarkdownHeadingCollapsed": True, "tags": ["solution"]}
    assert (solution.source, solution.metadata) == ("Like this.", {"tags": ["solution"]})
    assert answer.metadata["jupyter"] == {"source_hidden": True}
    assert end.source == "## What we showed\n\nAll. <small>run here</small>"
    last = cells(SOURCE.replace("import math", "check(True, 'all is well')"))[-1]
    assert (last.source.splitlines()[-1], last.metadata["tags"]) == ("tally()", [SETUP])  # not on the page


def test_law_links_are_absolute_once_the_site_has_an_address(cells):
    title, *_ = cells(SOURCE, site="https://example.org/book")
    attention = "03_scaled_dot_product_attention.html#eq-attention"
    for link in (
        *("[chapter 4]({}/04_self_attention.html#heads)", f"[(3.1)]({{}}/{attention})"),
        *("({}/notation.html)", "[✓]({}/01_mine.html#claim-two)", "(1.1), "),
    ):
        assert link.format("https://example.org/book/chapters") in title.source


def test_law_a_notebook_elsewhere_installs_what_it_needs_from_the_address_in_the_configuration(book):
    book.repository, book.branch = "", "main"
    with pytest.raises(ModuleNotFoundError, match=r'project: pip install "\.\[notebooks\]"'):
        exec(setup_cell(book).source.replace('annotated_transformer"', 'no_such_package"'))
    exec(setup_cell(book).source)
    book.repository = "https://example.org/book"
    (line,) = re.findall(r"%pip .*", setup_cell(book).source)
    project = "annotated-transformer[notebooks] @ git+https://example.org/book@main"
    assert line == f'%pip install --quiet "{project}"'


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("{eq}`eq-mine`", "{eq}`eq-none`", r"01_mine: {eq}`eq-none` refers to nothing in the book"),
        ("## What we showed\n\n", "", r"01_mine: a heading must end a solution, not 'All"),
    ],
)
def test_message_a_reference_without_a_target_and_a_solution_without_an_end(cells, old, new, sentence):
    with pytest.raises(ValueError, match=sentence):
        cells(SOURCE.replace(old, new))
