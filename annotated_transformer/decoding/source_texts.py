"""Which texts a model can translate, and why not the others: the chapter on decoding."""

from dataclasses import dataclass

from annotated_transformer.text.tokenizer import EOS_ID, Tokenizer


@dataclass(frozen=True)
class Sources:
    """The ids of some texts, with EOS; none for a text that cannot be translated.

    Attributes:
        ids: Of each text, in their order.
        blank: Which texts hold nothing to translate.
        problems: Why the model cannot read a text, by its index: the end of a sentence that
            begins with what the text is called.
    """

    ids: list[list[int]]
    blank: frozenset[int]
    problems: dict[int, str]


def encode_source_texts(tokenizer: Tokenizer, texts: list[str], *, max_length: int) -> Sources:
    """Return the ids of `texts`, of which each may have `max_length`."""
    problems = {
        index: f"is no Unicode: it holds half of a surrogate pair ({text[:40]!r}); decode its bytes as UTF-8"
        for index, text in enumerate(texts)
        if any("\ud800" <= character <= "\udfff" for character in text)
    }
    ids = tokenizer.encode_source(["" if i in problems else text for i, text in enumerate(texts)])
    blank = frozenset(i for i, found in enumerate(ids) if found == [EOS_ID] and i not in problems)
    for index, found in enumerate(ids):
        if len(found) > max_length:
            problems[index] = (
                f"({texts[index][:40]!r}…) has {len(found)} tokens with its EOS, and this model has "
                f"positions for {max_length}; split it into sentences"
            )
    usable = [[] if i in problems or i in blank else found for i, found in enumerate(ids)]
    return Sources(usable, blank, problems)
