"""Cleaning of sentences: the chapter on tokens."""

import unicodedata

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
