"""The ids of texts, and why some cannot be translated: the chapter on text and batches."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from annotated_transformer.text.cleaning import set_aside
from annotated_transformer.text.tokenizer import EOS_ID, Tokenizer

LINE_BREAK = re.compile(r"[\r\n]")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and line breaks

Around = tuple[str, str]  # the decorations before and after a text


@dataclass(frozen=True)
class Sources:
    """The ids of texts, with EOS; the list is empty for a text that cannot be translated.

    Attributes:
        ids: One list per text.
        blank: The indices of texts without content.
        problems: Why a text cannot be translated, by its index: what an error message says after the
            name of the text.
        around: The decorations before and after each text, which are put back around its translation.
    """

    ids: list[list[int]]
    blank: frozenset[int]
    problems: dict[int, str]
    around: list[Around]


@dataclass(frozen=True)
class Sentences:
    """The sentences of texts, which are translated one by one.

    Attributes:
        of_texts: Those of each text; the list is empty for a text that is blank or cannot be translated.
        problems: Why a text cannot be translated, as in `Sources`.
    """

    of_texts: list[list[str]]
    problems: dict[int, str]


def encode_texts(tokenizer: Tokenizer, texts: list[str], max_length: int) -> Sources:
    """Return the ids of texts, and the reasons why some cannot be translated."""
    checked = [_encoding_problem(text) or _character_problem(tokenizer, text) for text in texts]
    problems = {index: problem for index, problem in enumerate(checked) if problem}
    codes = [tokenizer.split_code(text) for text in texts]
    cleans = tokenizer.cleans
    parts = [set_aside(text) if cleans else ("", text, "") for _, text in codes]
    readable = [
        "" if i in problems or not sentence.strip() else codes[i][0] + sentence
        for i, (_, sentence, _) in enumerate(parts)
    ]
    ids = tokenizer.encode_source(readable)
    blank = frozenset(i for i, own in enumerate(ids) if own == [EOS_ID] and i not in problems)
    for index, own in enumerate(ids):
        if len(own) > max_length:
            problems[index] = (
                f"({texts[index][:40]!r}…) has {len(own)} tokens with EOS, and this model has "
                f"positions for {max_length}; split it into shorter sentences"
            )
    usable = [[] if i in problems or i in blank else own for i, own in enumerate(ids)]
    return Sources(usable, blank, problems, [(before, after) for before, _, after in parts])


def translatable(of_texts: list[list[str]], sources: Sources) -> Sentences:
    """Return the sentences of texts without blank ones; a text with a problem has none."""
    kept, problems, first = [], {}, 0
    for index, sentences in enumerate(of_texts):
        places = range(first, first + len(sentences))
        first += len(sentences)
        wrong = [sources.problems[i] for i in places if i in sources.problems]
        usable = [one for i, one in zip(places, sentences, strict=True) if i not in sources.blank]
        kept.append([] if wrong else usable)
        if wrong:
            problems[index] = wrong[0]
    return Sentences(kept, problems)


def refuse_bad(texts: list[str], problems: dict[int, str], blank: Collection[int]) -> None:
    """Refuse the first text that cannot be translated, or has nothing to translate."""
    for index, text in enumerate(texts):
        name = f"text {index + 1} of {len(texts)}"
        if index in problems:
            raise ValueError(f"{name} {problems[index]}")
        if index in blank:
            raise ValueError(f"{name} has nothing to translate ({text[:40]!r}); leave it out")


def _encoding_problem(text: str) -> str:
    """Return why a text cannot be encoded as UTF-8, or an empty string."""
    surrogate = re.search("[\ud800-\udfff]", text)
    if surrogate is None:
        return ""
    if "\udc80" <= surrogate[0] <= "\udcff":  # a byte that was decoded by "surrogateescape"
        place = len(text[: surrogate.start()].encode()) + 1
        return f"is not UTF-8 (byte {place} is {ord(surrogate[0]) - 0xDC00:#04x}); convert it to UTF-8"
    return f"is not valid Unicode: it has half of a surrogate pair ({text[:40]!r}); decode it as UTF-8"


def _character_problem(tokenizer: Tokenizer, text: str) -> str:
    """Return which character or code of a text the model would misread, or an empty string.

    A model is trained on single sentences, and may drop what follows a line break. It never saw a control
    character, unless its tokenizer replaces it by a space.
    """
    start = len(text) - len(text.lstrip())
    if found := LINE_BREAK.search(text.rstrip(), start):
        return (
            f"has a line break, character {found.start() + 1} of {text[:40]!r}; give each sentence as a text "
            f"of its own, or replace the line break by a space"
        )
    if CONTROL.search(text) and (found := CONTROL.search(tokenizer.normalize(text))):
        return (
            f"has the control character U+{ord(found[0]):04X}, character {text.index(found[0]) + 1} of "
            f"{text[:40]!r}; remove it"
        )
    return tokenizer.code_problem(text)
