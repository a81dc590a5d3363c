"""Cleaning of sentences, and filtering of pairs: the chapter on tokens."""

import unicodedata

SentencePair = tuple[str, str]

# Soft hyphen, zero-width space, word joiner and byte order mark carry no meaning in a sentence.
# Of all quotation marks, two forms remain, so that the model sees each of them often.
INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
QUOTES = str.maketrans("‘’‚„“”‟«»", "'''" + '"' * 6)  # noqa: RUF001


def clean(text: str) -> str:
    """Return `text` in Unicode's composed form (NFC), with plain quotes and single spaces.

    White space of any kind, such as a no-break space, becomes a space. Invisible characters are
    removed.
    """
    text = text.translate(INVISIBLE | QUOTES)  # before NFC: an accent may follow a removed character
    return " ".join(unicodedata.normalize("NFC", text).split())


def filter_reason(pair: SentencePair) -> str | None:
    """Return the reason why the pair cannot be a translation, or None.

    A pair is "empty" if one side has no words. It is "mismatched" if the longer side has more words
    than three times those of the shorter side plus three: at most 6 words for one, and 33 for ten.
    """
    shorter, longer = sorted(len(text.split()) for text in pair)
    if shorter == 0:
        return "empty"
    return "mismatched" if longer > 3 * shorter + 3 else None


def keep_usable(pairs: list[SentencePair]) -> tuple[list[SentencePair], dict[str, int]]:
    """Return the pairs to train on, and the number of pairs left out by reason."""
    reasons = [filter_reason(pair) for pair in pairs]
    usable = [pair for pair, reason in zip(pairs, reasons, strict=True) if reason is None]
    return usable, {reason: reasons.count(reason) for reason in ("empty", "mismatched")}
