"""Terms used early: the first use of a term that a later chapter introduces must be marked.

A term belongs to the chapter whose front matter defines it (`terms:`) or, while that chapter is
planned, the front matter that is its whole source. An earlier chapter marks its first use
of the term in one of three ways, and may then use it freely:

- in italics, explained in the same sentence: the *encoder*, the half that reads the source sentence;
- with a link to the later chapter in the same paragraph: {doc}`05_multi_head_attention`;
- with a comment in the same paragraph, if the word has another meaning there or the chapter's opening
  needs the term: `at the head of the table <!-- ahead: head -->`. A comment must not begin a line: it would
  end the paragraph.

Only prose is searched: no code, formulas, URLs, or block quotes, and nothing tagged `remove-cell`.
Case and plural are ignored, hyphens match spaces, and the longer of two terms wins: "cross-entropy"
is not a use of "entropy".
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from builder.chapters import read_chapters
from builder.lint.source import Source, blank

ITALIC = re.compile(r"(?<![*\w\\])\*(?![*\s])([^*]+?)\*(?!\*)|(?<![\w\\])_(?![_\s])([^_]+?)_(?!\w)")
AHEAD = re.compile(r"<!--\s*ahead:\s*(.*?)-->", re.DOTALL)
LONGEST_ITALIC = 8  # words; the line of reading times is all italics


class Home(NamedTuple):
    """The chapter that introduces a term: its number, and the name of its file once it is written."""

    number: int
    stem: str


def homes(root: Path) -> dict[str, Home]:
    """Return which chapter introduces each term of the book in `root`.

    Raises:
        ValueError: Two chapters introduce a term.
    """
    by_term: dict[str, Home] = {}
    for chapter in read_chapters(root):
        for term in chapter.terms:
            first = by_term.setdefault(key(term), Home(chapter.number, chapter.name))
            if first.number != chapter.number:
                raise ValueError(f"chapters {first.number} and {chapter.number} both introduce {term!r}")
    return by_term


def key(term: str) -> str:
    """Normalize a term for comparison: lower case, with spaces for hyphens."""
    return " ".join(re.split(r"[\s-]+", term.strip().lower()))


def pattern(terms: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that matches terms and their plurals, the longest first."""
    return re.compile(
        r"(?<![^\W_])(?:" + "|".join(map(_inflected, sorted(terms, key=len, reverse=True))) + r")(?![^\W_])",
        re.IGNORECASE,
    )


def _inflected(term: str) -> str:
    *first, last = map(re.escape, key(term).split())
    if last.endswith("y") and last[-2:-1] not in "aeiou":
        last = f"{last[:-1]}(?:y|ies)"
    else:
        last += "(?:es)?" if last.endswith(("s", "x", "ch", "sh")) else "s?"
    return r"[\s-]+".join([*first, last])


class Use(NamedTuple):
    """The first use of a later chapter's term: its location, and whether it is marked."""

    term: str
    home: Home
    line: int
    sentence: str
    marked: bool


def uses(chapter: Source, homes: dict[str, Home]) -> Iterator[Use]:
    """Return the first use of each term that a later chapter introduces."""
    own = {key(term) for term in chapter.header.get("terms") or {}}
    if chapter.number is None or not homes:
        return
    later = {term: home for term, home in homes.items() if home.number > chapter.number and term not in own}
    finder, seen = pattern({*homes, *own}), set[str]()
    names = {term: re.compile(_inflected(term), re.IGNORECASE) for term in later}
    for paragraph in chapter.paragraphs():
        if paragraph.text.startswith(">") or "remove-cell" in chapter.parts[paragraph.part].tags:
            continue  # a quotation, or not on the page
        text = paragraph.text
        italic = [s.span() for s in ITALIC.finditer(text) if len(s[0].split()) <= LONGEST_ITALIC]
        named = {key(term) for comment in AHEAD.findall(text) for term in comment.split(",")}
        for match in finder.finditer(blank(text, math=True)):
            term = next((term for term, name in names.items() if name.fullmatch(match[0])), None)
            if term is None or term in seen:
                continue
            seen.add(term)
            home = later[term]
            marked = any(start <= match.start() and match.end() <= end for start, end in italic)
            marked = marked or term in named or bool(home.stem and home.stem in text)
            line = paragraph.line + text.count("\n", 0, match.start())
            yield Use(term, home, line, " ".join(text.split()), marked)


def lint(chapter: Source, homes: dict[str, Home]) -> list[str]:
    """Return a complaint for each unmarked first use of a later chapter's term."""
    return [
        f"line {use.line}: chapter {use.home.number} introduces {use.term!r}; explain it at its first use "
        f"here, and set it in italics: {use.sentence[:70]}"
        for use in uses(chapter, homes)
        if not use.marked
    ]
