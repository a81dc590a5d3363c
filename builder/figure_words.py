"""The words of figures, which a chapter's source has directly below the cell that shows the figure:

    ```{words} 3.6. The title, without a period
    The alt text, which replaces the picture for a reader who cannot see it.

    The caption.
    ```

All three may have places, {name} or {name:.2f}, for the values that the cell gives to `show_figure`, and
{claim} roles, as sentences. The notebook has the words as text below the cell, the page within the figure.
How many words a chapter may have is in `builder/lint/skeleton.py`.
"""

import re
from collections.abc import Iterable, Iterator
from html import escape
from itertools import pairwise
from pathlib import Path
from string import Formatter
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from annotated_transformer.book.drawing.captions import Words, put_words, with_values
from builder.claim_values import Refusals, fill
from builder.source import Figure, blocks, notebook_of

WRITE = "write ```{words} NUMBER. TITLE directly below the cell that shows the figure"
ALT_WORDS = range(8, 81)
BLANK = re.compile(r"\n\s*\n")
GAP = re.compile(r"\s+", re.ASCII)  # not a space at which no line may end
MARKDOWN = re.compile(r"([\\`*_$<\[\]#|~])")


def take_words(
    cells: Iterable[NotebookNode],
) -> Iterator[tuple[NotebookNode, NotebookNode, list[str], Words]]:
    """Take the words of each figure out of the text below its cell.

    Yields:
        The figure's cell, the text without the words, the words with their places (title, alt text, caption),
        and with the values of the output.

    Raises:
        ValueError: A figure has no words, words have no figure, or they are refused; all cases are named.
    """
    refused = Refusals()
    for cell, below in pairwise([new_markdown_cell(), *cells, new_markdown_cell()]):
        with refused:
            if taken := take(cell, below):
                yield cell, below, *taken
    refused.raise_all()


def take(cell: NotebookNode, below: NotebookNode) -> tuple[list[str], Words] | None:
    """Take the words of a cell's figure, if it shows one, out of the text below it."""
    figures = [output.metadata.figure for output in cell.get("outputs", []) if is_figure(output)]
    text = below.source if below.cell_type == "markdown" else ""
    directives = [block for block in blocks(text) if block.kind == "words"]
    first = directives[0] if directives and directives[0].start == 0 else None
    number, title, content = Figure.read(first) if first else ("none", "", "")
    if [figure.number for figure in figures] != ([number] if first else []):
        numbers = ", ".join(figure.number for figure in figures) or "none"
        raise ValueError(
            f"a cell shows figure {numbers}, and the words below it are those of figure {number}; {WRITE}. "
            f"The cell: {cell.source[:60]!r}"
        )
    for other in directives[1:] if first else directives:
        raise ValueError(f"```{{words}} {other.name}: {WRITE}")
    if not first:
        return None
    below.source = text[first.end :].lstrip("\n")
    texts = [title, *(GAP.sub(" ", paragraph).strip() for paragraph in BLANK.split(content))]
    try:
        return texts, filled(texts, figures[0])
    except ValueError as error:
        raise ValueError(f"the words of figure {number}: {error}") from error


def is_figure(output: NotebookNode) -> bool:
    """Return whether an output is a figure with a number."""
    return "figure" in output.get("metadata", {})


def filled(texts: list[str], figure: Any) -> Words:
    """Return the words of a figure with its values in their places."""
    if len(texts) != 3:
        raise ValueError(f"there are {len(texts) - 1} paragraphs; write two, the alt text and the caption")
    places = {name for text in texts for _, name, _, _ in Formatter().parse(text) if name}
    for frame in figure.frames:
        if places != set(frame["values"]):
            raise ValueError(
                f"they have places for {', '.join(sorted(places)) or 'no value'}, and the cell gives "
                f"{', '.join(sorted(frame['values'])) or 'none'}"
            )
    words = with_values(texts, figure)
    if words.title.endswith("."):
        raise ValueError(f"{words.title!r} is not a title; say in a few words, without a period, what to see")
    for _, alt in words.alts:
        if len(alt.split()) not in ALT_WORDS:
            raise ValueError(
                f"the alt text has {len(alt.split())} words; in {ALT_WORDS[0]} to {ALT_WORDS[-1]}, say what "
                f"is seen and what follows from it: {alt!r}"
            )
    return words


def markdown(words: Words) -> str:
    """Return the words as a notebook has them, below the figure."""
    title = words.title + "." * (words.title[-1] not in "?!")
    title, caption = (MARKDOWN.sub(r"\\\1", text) for text in (title, words.caption))
    alts = [
        escape(f"{label}: {alt}" if label else alt, quote=False).replace("$", "&#36;")
        for label, alt in words.alts
    ]
    described = f"<details><summary>Description of the picture</summary>{'<br>'.join(alts)}</details>"
    return f"**Figure {words.number}. {title}** {caption}\n\n{described}"


def with_outputs(source: Path, notebook: NotebookNode) -> list[NotebookNode]:
    """Return the cells of a source with the outputs that its notebook has for their ids.

    Raises:
        ValueError: The notebook lacks a cell, or `fill` refuses a text.
    """
    built = {cell.id: cell for cell in notebook.cells}
    cells = notebook_of(source).cells
    for cell in cells:
        if cell.cell_type == "code":
            if cell.id not in built:
                raise ValueError(f"it lacks the code {cell.source[:60]!r}; run make chapters")
            cell.outputs, cell.execution_count = built[cell.id].outputs, built[cell.id].execution_count
    fill(cells)
    return cells


def with_words(cells: list[NotebookNode]) -> list[NotebookNode]:
    """Return cells with the words of their figures in the outputs, as a page has them."""
    for cell, _, _, words in take_words(cells):
        for output in filter(is_figure, cell.outputs):
            output.data["text/html"] = put_words(output.data["text/html"], words)
    return cells
