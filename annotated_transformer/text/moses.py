"""Preprocessing by Moses, as in the published BLEU of Multi30K: the chapter on translation.

Moses is a statistical translation system; `sacremoses` implements its scripts in Python.
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
    """Return a sentence in lower case, with normalized punctuation and spaces between its tokens.

    The tokenized files of Multi30K were made in this order by the scripts of Moses. The scripts also
    escape eight characters, such as `'` as `&apos;`. This function does not. BLEU is the same if
    hypotheses and references are processed in the same way.

    Processing a text twice changes nothing in German, but English `dog 's` becomes `dog ' s`. So do
    not process the output of a model that was trained on processed text.
    """
    normalizer, tokenizer = _moses(language)
    # The scripts read lines with their line feed, which a rule about quotation marks needs.
    normalized = normalizer.normalize(f"{text.lower()}\n")
    return " ".join(tokenizer.tokenize(normalized, escape=False))


class Recaser:
    """Restores plain text from processed text, word by word.

    Each word gets the case that it has most often inside the sentences of a set of texts; unknown words
    stay in lower case. This is wrong for words with two meanings, such as *Junge* (boy) and *junge*
    (young), which always get the same case.
    """

    def __init__(self, texts: Iterable[str], language: str) -> None:
        _, tokenizer = _moses(language)
        self._truecaser = MosesTruecaser(is_asr=True)
        self._truecaser.train([tokenizer.tokenize(text, escape=False) for text in texts])
        self._detruecaser, self._detokenizer = MosesDetruecaser(), MosesDetokenizer(language)

    def __call__(self, text: str) -> str:
        """Return the sentence with restored case and spacing."""
        words = self._detruecaser.detruecase(self._truecaser.truecase(text, return_str=True))
        plain: str = self._detokenizer.detokenize(words, unescape=False)
        return plain


def check_language(language: str) -> None:
    """Refuse a language for which Moses would use the rules of English."""
    if language not in LANGUAGES:
        raise ValueError(
            f"Moses has no rules for the language {language!r}; choose from {', '.join(LANGUAGES)}"
        )


@cache
def _moses(language: str) -> tuple[MosesPunctNormalizer, MosesTokenizer]:
    check_language(language)
    return MosesPunctNormalizer(language, perl_parity=True), MosesTokenizer(language)
