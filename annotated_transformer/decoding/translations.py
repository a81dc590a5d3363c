"""What a translator returns: the chapter on decoding."""

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor


class TranslatedText(str):
    """A translation: a string that knows whether it was cut off at the limit of its length.

    Attributes:
        complete: False if the model did not end it within the limit, 50 tokens more than its source has, or
            the number of the model's positions. Most such translations repeat themselves.
    """

    complete: bool

    def __new__(cls, text: str, *, complete: bool = True) -> "TranslatedText":
        """Return the text with its attribute."""
        made = super().__new__(cls, text)
        made.complete = complete
        return made


def is_complete(text: str) -> bool:
    """Return whether a translation was not cut off; one whose end is not known counts as complete."""
    return getattr(text, "complete", True)


def join(sentences: Sequence[str]) -> TranslatedText:
    """Return the translations of a text's sentences as one, which is complete if they all are."""
    return TranslatedText(" ".join(sentences), complete=all(map(is_complete, sentences)))


@dataclass(frozen=True, eq=False)
class Translation:
    """A translation with its log-probability, tokens and attention weights.

    Attributes:
        text: The translation, a `TranslatedText`, which may be cut off.
        log_prob: The sum of the log-probabilities of its tokens; 0 means probability 1.
        source_tokens: The tokens of the source, with EOS.
        target_tokens: The tokens of the translation, with EOS unless it was cut off at the limit.
        attention: The cross-attention weights from the prediction of each target token to each
            source token.
    """

    text: str
    log_prob: float
    source_tokens: list[str]
    target_tokens: list[str]
    attention: Float[Tensor, "layers heads tgt_tokens src_tokens"]


@dataclass(frozen=True)
class RankedTranslation:
    """One of the best translations of a text, which `Translator.nbest` returns.

    Attributes:
        text: The translation, a `TranslatedText`, which may be cut off.
        log_prob: The sum of the log-probabilities of its tokens; 0 means probability 1.
        penalized_log_prob: The same divided by the length penalty, by which translations are ranked.
    """

    text: str
    log_prob: float
    penalized_log_prob: float

    @property
    def complete(self) -> bool:
        """Whether the model ended the translation, or it was cut off at its limit."""
        return is_complete(self.text)
