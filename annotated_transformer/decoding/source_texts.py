"""The ids of texts to translate, and why some texts cannot be translated: the chapter on decoding."""

import re
from dataclasses import dataclass

from annotated_transformer.text.tokenizer import EOS_ID, Tokenizer

LINE_BREAK = re.compile(r"[\r\n]")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and line breaks


@dataclass(frozen=True)
class Sources:
    """The ids of texts, with EOS; the list is empty for a text that cannot be translated.

    Attributes:
        ids: One list per text.
        blank: The indices of texts without content.
        problems: Why a text cannot be translated, by its index. Each value continues a sentence
            that starts with a name for the text.
    """

    ids: list[list[int]]
    blank: frozenset[int]
    problems: dict[int, str]


def encode_source_texts(tokenizer: Tokenizer, texts: list[str], *, max_length: int) -> Sources:
    """Return the ids of `texts`, each with at most `max_length` ids."""
    checked = [_encoding_problem(text) or _character_problem(tokenizer, text) for text in texts]
    problems = {index: problem for index, problem in enumerate(checked) if problem}
    ids = tokenizer.encode_source(["" if i in problems else text for i, text in enumerate(texts)])
    blank = frozenset(i for i, own in enumerate(ids) if own == [EOS_ID] and i not in problems)
    for index, own in enumerate(ids):
        if len(own) > max_length:
            problems[index] = (
                f"({texts[index][:40]!r}…) has {len(own)} tokens with EOS, and this model has "
                f"positions for {max_length}; split it into shorter sentences"
            )
    usable = [[] if i in problems or i in blank else own for i, own in enumerate(ids)]
    return Sources(usable, blank, problems)


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
    """Return which character of a text the model would misread, or an empty string.

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
    return ""
