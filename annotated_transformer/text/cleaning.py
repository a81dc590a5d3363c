"""Clean sentences, and no pairs that can be no translation: the chapter on tokens."""

import unicodedata

SentencePair = tuple[str, str]

# Soft hyphen, zero-width space, word joiner and byte order mark mean nothing in a sentence.
# Of each quotation mark one form is left, so that a model sees it often enough.
INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
QUOTES = str.maketrans("‘’‚„“”‟«»", "'''" + '"' * 6)  # noqa: RUF001


def clean(text: str) -> str:
    """Return `text` in Unicode's composed form (NFC), with plain quotes and single blanks.

    Every kind of white space, such as the no-break space, becomes a blank, and what cannot
    be seen is dropped.
    """
    text = text.translate(INVISIBLE | QUOTES)  # first: an accent may come after what is dropped
    return " ".join(unicodedata.normalize("NFC", text).split())


def filter_reason(pair: SentencePair) -> str | None:
    """Return why the pair can be no translation, or None.

    It is "empty" where a side has no word, and "mismatched" where the longer side has more
    than three times the words of the shorter and three: up to six words may translate one,
    and up to 33 may translate ten.
    """
    shorter, longer = sorted(len(text.split()) for text in pair)
    if shorter == 0:
        return "empty"
    return "mismatched" if longer > 3 * shorter + 3 else None


def keep_usable(pairs: list[SentencePair]) -> tuple[list[SentencePair], dict[str, int]]:
    """Return the pairs to learn from, and how many were left out, by reason."""
    reasons = [filter_reason(pair) for pair in pairs]
    usable = [pair for pair, reason in zip(pairs, reasons, strict=True) if reason is None]
    return usable, {reason: reasons.count(reason) for reason in ("empty", "mismatched")}
