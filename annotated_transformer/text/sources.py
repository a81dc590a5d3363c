"""The ids of texts, and why some cannot be translated: the chapter on text and batches."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from annotated_transformer.text.cleaning import set_aside
from annotated_transformer.text.tokenizer import EOS_ID, Tokenizer, encoding_problem

LINE_BREAK = re.compile(r"[\r\n]")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and line breaks

Around = tuple[str, str]  # the decorations before and after a text, which are put around its translation


@dataclass(frozen=True)
class Sources:
    """The ids of texts, with EOS; the list is empty for a text that is blank or cannot be translated."""

    ids: list[list[int]]
    blank: frozenset[int]  # indices of texts
    problems: dict[int, str]  # by the index of a text: what an error message says after the text's name
    around: list[Around]


@dataclass(frozen=True)
class Sentences:
    """The sentences of each text: none if it is blank or cannot be translated, for a reason in `problems`."""

    of_texts: list[list[str]]
    problems: dict[int, str]  # as in `Sources`


def encode_texts(tokenizer: Tokenizer, texts: list[str], max_length: int) -> Sources:
    """Return the ids of texts, and the reasons why some cannot be translated."""
    checked = [encoding_problem(text) or _character_problem(tokenizer, text) for text in texts]
    problems = {index: problem for index, problem in enumerate(checked) if problem}
    codes = [tokenizer.split_code(text) for text in texts]
    cleans = tokenizer.cleans
    parts = [set_aside(text) if cleans else ("", text, "") for _, text in codes]
    readable = [
        "" if i in problems or not sentence.strip() else codes[i][0] + sentence
        for i, (_, sentence, _) in enumerate(parts)
    ]
    ids = tokenizer.encode_source(readable)
    blank = frozenset(i for i, of_text in enumerate(ids) if of_text == [EOS_ID] and i not in problems)
    for index, of_text in enumerate(ids):
        if len(of_text) > max_length:
            problems[index] = (
                f"({texts[index][:40]!r}…) has {len(of_text)} tokens with EOS, and this model has "
                f"positions for {max_length}; split it into shorter sentences"
            )
    usable = [[] if i in problems or i in blank else of_text for i, of_text in enumerate(ids)]
    return Sources(usable, blank, problems, [(before, after) for before, _, after in parts])


def translatable(of_texts: list[list[str]], sources: Sources) -> Sentences:
    """Return the sentences of texts without blank ones; a text with a problem has none."""
    usable, problems, first = [], {}, 0
    for index, sentences in enumerate(of_texts):
        places = range(first, first + len(sentences))
        first += len(sentences)
        of_text = [one for i, one in zip(places, sentences, strict=True) if i not in sources.blank]
        problem = next((sources.problems[i] for i in places if i in sources.problems), None)
        usable.append([] if problem else of_text)
        if problem:
            problems[index] = problem
    return Sentences(usable, problems)


def refuse_bad(texts: list[str], problems: dict[int, str], blank: Collection[int]) -> None:
    """Refuse the first text that cannot be translated, or has nothing to translate."""
    for index, text in enumerate(texts):
        name = f"text {index + 1} of {len(texts)}"
        if index in problems:
            raise ValueError(f"{name} {problems[index]}")
        if index in blank:
            raise ValueError(f"{name} has nothing to translate ({text[:40]!r}); leave it out")


def _character_problem(tokenizer: Tokenizer, text: str) -> str:
    """Return which character or code of a text the model would misread, or an empty string.

    A model is trained on single sentences, and may drop what follows a line break. It never saw a control
    character, unless its tokenizer replaces it by a space.
    """
    start = len(text) - len(text.lstrip())
    if match := LINE_BREAK.search(text.rstrip(), start):
        return (
            f"has a line break, character {match.start() + 1} of {text[:40]!r}; give each sentence as a text "
            f"of its own, or replace the line break by a space"
        )
    if CONTROL.search(text) and (match := CONTROL.search(tokenizer.normalize(text))):
        return (
            f"has the control character U+{ord(match[0]):04X}, character {text.index(match[0]) + 1} of "
            f"{text[:40]!r}; remove it"
        )
    return tokenizer.code_problem(text)
