"""Absolute words without a claim nearby: a list to check for counterexamples, not a failure.

"Nearby" is a link to a claim in the same paragraph, or a cell with a claim or an assert next to it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from builder.lint.source import Source, blank, sentences

ABSOLUTE = re.compile(
    r"\b(?:every(?:where|thing|body|one)?|all|always|never|nothing|nobody|none|no one|nowhere|must|cannot|"
    r"can't|only|exactly|proves?|proven|impossible|guarante\w+|(?:at|for|in) any|whatever|identical(?:ly)?|"
    r"no matter)\b",
    re.IGNORECASE,
)
PROOF = re.compile(r"\bclaim\(|\bassert\b|assert_close\(")


class Debt(NamedTuple):
    """A sentence with absolute words and no claim nearby."""

    words: tuple[str, ...]
    line: int
    sentence: str


def debts(chapter: Source) -> Iterator[Debt]:
    """Return the sentences of a chapter that have absolute words and no claim nearby."""
    for paragraph in chapter.paragraphs():
        around = chapter.parts[max(0, paragraph.part - 1) : paragraph.part + 2]
        if paragraph.text.startswith(">"):
            continue  # a quotation
        if "#claim-" in paragraph.text or any(part.code and PROOF.search(part.text) for part in around):
            continue
        plain = blank(paragraph.text, math=True)
        for sentence, start in sentences(plain):
            if words := tuple(dict.fromkeys(word.lower() for word in ABSOLUTE.findall(sentence))):
                line = paragraph.line + plain.count("\n", 0, start)
                yield Debt(words, line, " ".join(paragraph.text[start : start + len(sentence)].split()))
