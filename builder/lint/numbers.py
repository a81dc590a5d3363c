"""Numbers typed into the prose: if one looks measured, the chapter's code or output must contain it.

A number looks measured if it has a decimal point and at least two significant digits, or is a percentage
with two: 0.67, 1.08, 41.36, 44 %. Constants (0.1, 1e-9, 1.5, 0.25, 50 %) and whole numbers do not. A
number that looks measured passes if

- a cell of the chapter prints it, with at least as many digits (44 % as 0.44 or 44 %, but not as 44),
- or the chapter's code contains it: 0.98 in the prose is the 0.98 of the code,
- or its sentence has a {cite} or the word "paper", which marks a quoted number; for a table, its row or the
  paragraph above has one,
- or its paragraph marks it: `<!-- typed: 3.4 -->`, anywhere except at the beginning of a line.

The captions and alt texts of figures and the arguments of `say` count as prose, and the values in them as
output. The numbers of sections, figures, equations, and versions are ignored.

Whole numbers from 10,000 up have commas: 10,000, not 10000 or 10 000. Code, formulas, and ids (arXiv
1706.03762, seed 12345, #12345) are exempt; names of claims and the front matter's terms count as prose here.
"""

import ast
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

from builder.claim_values import calls, parse_cell
from builder.lint.prose import blank, paragraphs, sentences
from builder.source import READERS, Source

NUMBER = re.compile(
    r"(?<![\w.,{^])(?<![{^][-−])\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?:\s?\\?%)?(?![\w]|[.,]\d)"
)
PLACE = re.compile(
    r"\b(?:(?:sub)?sections?|chapters?|figures?|tables?|eq\.|equations?|appendix|exercises?|version|versions|"
    r"Python|PyTorch|torch|TensorFlow|Keras|JAX|Flax|Transformers|NumPy|CC[ -]BY(?:-SA)?)\s+"
    r"(?:(?:≥|v)\s*)?\d+(?:\.\d+)*(?:(?:,| and|–|-| to)\s*\d+(?:\.\d+)*)*",
    re.IGNORECASE,
)
TYPED = re.compile(r"<!--\s*typed:(.*?)-->", re.DOTALL)
QUOTED = re.compile(r"\{cite|\bpaper\b|\bpaper's\b")
UNGROUPED = re.compile(r"(?<![\w.,#/])(?:\d{5,}|\d{2,3}(?:[ \u00a0\u2009\u202f]\d{3})+)(?!\w)")
ID = re.compile(
    r"\b(?:arXiv|commit|ids?|issues?|ports?|seeds?)[\s:]+\d+(?:(?:,\s*| and | to |–)\d+)*", re.IGNORECASE
)
DATA = re.compile(r"(-?\d[\d,]*\.?\d*(?:e[-+]?\d+)?)(\s?%)?")


def measured(number: str) -> bool:
    """Return whether a number looks like the result of a measurement or a computation."""
    digits = number.rstrip("% \\").replace(",", "")
    value = Decimal(digits)
    if "e" in digits or ("." not in digits and "%" not in number):
        return len(digits.partition("e")[0].replace(".", "").strip("0")) > 1 and "e" in digits
    if "%" in number and "." not in digits:
        return len(digits.rstrip("0")) > 1 and value not in (25, 75)
    if Fraction(value).denominator in ((1, 2, 4, 8, 16) if value < 2 else (1, 2)) and value < 10:
        return False
    return len(digits.replace(".", "").strip("0")) > 1


def lint(chapter: Source, cells: list[dict[str, Any]]) -> list[str]:
    """Return a complaint for each number that looks measured and has no source.

    `cells` are those of the executed notebook.
    """
    known = printed(cells) | in_code(chapter)
    return [
        f"line {line}: {number} is typed, and no cell prints it: {sentence[:70]}"
        for number, line, sentence, typed in numbers(chapter)
        if measured(number) and not has_source(number, known, typed)
    ]


def numbers(chapter: Source) -> Iterator[tuple[str, int, str, set[Decimal]]]:
    """Yield each number in the prose that is not quoted: with its line, its sentence, and what is marked."""
    above = ""
    for paragraph in paragraphs(chapter):
        table = paragraph.text.startswith("|")
        if paragraph.text.startswith(">") or "remove-cell" in paragraph.tags:
            continue  # a quotation, or not on the page
        quoted = table and bool(QUOTED.search(above))
        above = above if table and not quoted else paragraph.text if not table else above
        typed = {
            Decimal(n) for marks in TYPED.findall(paragraph.text) for n in re.findall(r"\d+\.?\d*", marks)
        }
        text = PLACE.sub(lambda match: " " * len(match[0]), blank(paragraph.text, math=False))
        for sentence, start in sentences(text):
            source = paragraph.text[start : start + len(sentence)]
            if quoted or QUOTED.search(paragraph.text if table else source):
                continue
            for match in NUMBER.finditer(sentence):
                line = paragraph.line + text.count("\n", 0, start + match.start())
                yield match[0], line, " ".join(source.split()), typed
    for text, line in _words(chapter, "say"):
        for match in [] if QUOTED.search(text) else NUMBER.finditer(PLACE.sub("", blank(text, math=False))):
            yield match[0], line, " ".join(text.split()), set()


def ungrouped(chapter: Source) -> list[str]:
    """Return a complaint for each whole number from 10,000 up that is written without commas."""
    texts = [(paragraph.text, paragraph.line) for paragraph in paragraphs(chapter)]
    texts += _words(chapter, "say", "claim")
    texts += [(str(meaning), 1) for meaning in chapter.header.get("terms", {}).values()]
    return [
        f"line {line + text.count(chr(10), 0, match.start())}: {match[0]} has no commas"
        for text, line in texts
        for match in UNGROUPED.finditer(ID.sub(lambda number: " " * len(number[0]), blank(text, math=True)))
    ]


def _words(chapter: Source, *names: str) -> Iterator[tuple[str, int]]:
    """Return the words in the first argument of each of these calls, with line numbers."""
    for part in chapter.parts:
        for call in calls(part.text, *names) if part.code else []:
            for text in _literals(call.args[0]):
                yield text, part.line + call.args[0].lineno


def has_source(number: str, known: set[Decimal], typed: set[Decimal]) -> bool:
    """Return whether a number is typed on purpose, or a known one, rounded; a percentage is a share."""
    value, scale = Decimal(number.rstrip("% \\").replace(",", "")), 100 if "%" in number else 1
    return value in typed or any(_rounds(other * scale, value) for other in known)


def _rounds(other: Decimal, value: Decimal) -> bool:
    """Return whether `other`, rounded to the decimals of `value`, equals `value`."""
    return abs(other - value) <= Decimal(5).scaleb(int(value.as_tuple().exponent) - 1)


def printed(cells: list[dict[str, Any]]) -> set[Decimal]:
    """Return the numbers in outputs, percentages as shares; of figures, those that code has computed."""
    values: set[Decimal] = set()
    for cell in cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            kinds = ("text/plain", "text/markdown")
            text = "\n".join("".join(data.get(kind, "")) for kind in kinds) + "".join(output.get("text", ""))
            if figure := output.get("metadata", {}).get("figure"):
                text = json.dumps(figure["frames"], ensure_ascii=False)
                for words in _literals(parse_cell("".join(cell["source"]))):
                    text = text.replace(words, " ") if re.search(r"\d", words) else text
            for number, percent in DATA.findall(text):
                values.add(Decimal(number.replace(",", "")) / (100 if percent else 1))
    return values


def in_code(chapter: Source) -> set[Decimal]:
    """Return the numbers in a chapter's code, except in exercises."""
    code = [part.text for part in chapter.parts if part.code and not part.tags & READERS]
    nodes = [node for text in code for node in ast.walk(parse_cell(text)) if isinstance(node, ast.Constant)]
    return {Decimal(str(node.value)) for node in nodes if type(node.value) in (int, float)}


def _literals(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
