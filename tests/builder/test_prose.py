"""No number is typed into the prose that looks measured and that no cell prints."""

from pathlib import Path

import pytest

from builder.lint import numbers
from builder.source import parse, read

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "chapters").glob("*.md")), ROOT / "index.md", ROOT / "README.md"]
HEADER = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
terms: {query: A vector.}
---

"""


def chapter(text, name="03_here.md"):
    return parse(HEADER + text, name)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_law_large_numbers_are_grouped(path):
    assert numbers.ungrouped(read(path)) == []


OUTPUT = {"data": {"text/plain": ["tensor([[0.6652, 0.0900]])"], "text/markdown": "**41.357**, 12,345.67"}}
STREAM = {"text": "share 0.4712, or 13 %\n"}
FIGURE = {"data": {"text/html": "<figure>"}, "metadata": {"figure": {"frames": [{"values": {"x": 0.3141}}]}}}
CELLS = [
    {"source": "x = 1", "outputs": [OUTPUT, STREAM]},
    {"source": 'show_figure("3.1", fig, x=x)', "outputs": [FIGURE]},
    {"source": "no outputs"},
]


def typed(text):
    return [line.split(": ")[1].split(" is typed")[0] for line in numbers.lint(chapter(text), CELLS)]


CODE = "```{{code-cell}} ipython3\n{}\n```"
TYPED = [
    ("The weight is 0.67, and 0.665, and $0.6652$.", []),
    ("It has 12,345.7 in all, or 12,345.6.", ["12,345.6"]),
    ("It is 47%, or 13%.", []),
    ("It falls to 0.314.", []),  # computed by the figure's cell
    ("```{words} 3.1. A line\nFrom 9.87 to {x:.2f}, or 0.31.\n\nFrom 9.87.\n```", ["9.87", "9.87"]),
    ("The paper has 25.81.\n\n> We have 25.81.", []),
    ("From the paper:\n\n| h | BLEU |\n| --- | --- |\n| 8 | 25.81 |", []),
    ("The largest is 3.4e38 <!-- typed: 3.4e38 -->", ["3.4e38"]),  # reads as 3.4
    ("The largest is 65.504 <!-- typed: 65.503 -->", ["65.504"]),
    (f"{CODE.format('beta = 0.98')}\n\nBeta is 0.98.", []),
    (f"{CODE.format('tokens = 12')}\n\nA share of 12%.", ["12%"]),
    (CODE.format(":tags: [solution]\n\nbeta = 0.98") + "\n\nBeta is 0.98.", ["0.98"]),
]


def test_law_a_number_that_is_neither_printed_nor_quoted_is_named():
    for text, found in TYPED:
        assert typed(text) == found, text


def test_law_a_large_number_without_commas_is_named_with_its_line():
    text = "1234567, $10000$, `10000`, arXiv 12345, 3.14159, −60000.\nBut 10 000 keys."
    assert numbers.ungrouped(chapter(text)) == [
        "line 6: 1234567 has no commas",
        "line 6: 60000 has no commas",
        "line 7: 10 000 has no commas",
    ]
