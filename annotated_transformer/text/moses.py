"""Text as Moses prepares it, for the published figures of Multi30K: the chapter on translation.

Moses is a translation system from before neural networks; `sacremoses` has its scripts.
"""

from collections.abc import Iterable
from functools import cache

from sacremoses import (
    MosesDetokenizer,
    MosesDetruecaser,
    MosesPunctNormalizer,
    MosesTokenizer,
    MosesTruecaser,
)
from sacremoses.corpus import NonbreakingPrefixes

LANGUAGES = tuple(sorted(set(NonbreakingPrefixes().available_langs.values())))


def moses_lowercase(text: str, language: str) -> str:
    """Return a sentence lowercased, punctuation-normalised, with blanks between its tokens.

    The tokenised files of Multi30K were prepared so, and in this order, by Moses' scripts.
    These also write `'` as `&apos;`, and seven other characters likewise. Here all stay:
    the same tokens are equal, and so is the BLEU, as long as both sides are written alike.

    Prepared text stays as it is in German, but not in English: `dog 's` becomes `dog ' s`.
    So do not prepare what a model says that has learned from prepared text.

    Raises:
        ValueError: If Moses does not know the language: it would take it for English.
    """
    normalizer, tokenizer = _moses(language)
    # The scripts read lines with their end; a rule about quotation marks looks for it.
    normalized = normalizer.normalize(f"{text.lower()}\n")
    return " ".join(tokenizer.tokenize(normalized, escape=False))


class Recaser:
    """From prepared text back to plain text, as far as the words alone can tell.

    Each word gets the capitals that it had most often within the sentences of some texts, and
    a word that these do not have gets none. That is wrong where meaning decides: of *Junge*, a
    boy, and *junge*, young, one will always be taken for the other.
    """

    def __init__(self, texts: Iterable[str], language: str) -> None:
        """Learn the capitals of `texts`, which are plain."""
        _, tokenizer = _moses(language)
        self._truecaser = MosesTruecaser(is_asr=True)
        self._truecaser.train([tokenizer.tokenize(text, escape=False) for text in texts])
        self._detruecaser, self._detokenizer = (
            MosesDetruecaser(),
            MosesDetokenizer(language),
        )

    def __call__(self, text: str) -> str:
        """Return the sentence with capitals, and with blanks only where they belong."""
        words = self._detruecaser.detruecase(self._truecaser.truecase(text, return_str=True))
        plain: str = self._detokenizer.detokenize(words, unescape=False)
        return plain


def check_language(language: str) -> None:
    """Refuse a language that Moses would take for English.

    Raises:
        ValueError: If Moses does not know it; says which it knows.
    """
    if language not in LANGUAGES:
        raise ValueError(
            f"Moses has no rules for the language {language!r}; choose from {', '.join(LANGUAGES)}"
        )


@cache
def _moses(language: str) -> tuple[MosesPunctNormalizer, MosesTokenizer]:
    check_language(language)
    return MosesPunctNormalizer(language, perl_parity=True), MosesTokenizer(language)
