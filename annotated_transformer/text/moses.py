"""Text as Moses prepares it, for the published figures of Multi30K: the chapter on translation.

Moses is a translation system from before neural networks; `sacremoses` has its scripts.
"""

from functools import cache

from sacremoses import MosesPunctNormalizer, MosesTokenizer
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


@cache
def _moses(language: str) -> tuple[MosesPunctNormalizer, MosesTokenizer]:
    if language not in LANGUAGES:
        raise ValueError(
            f"Moses has no rules for the language {language!r}; choose from "
            f"{', '.join(LANGUAGES)}"
        )
    return MosesPunctNormalizer(language, perl_parity=True), MosesTokenizer(language)
