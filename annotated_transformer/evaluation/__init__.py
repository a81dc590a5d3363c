"""Evaluation of translations by BLEU, chrF, and TER."""

from typing import TYPE_CHECKING

from annotated_transformer.lazy_names import lazy

if TYPE_CHECKING:  # imported on first use: a caller needs only part of it
    from annotated_transformer.evaluation.bleu import (
        BleuScore,
        multi30k_bleu,
        sacrebleu,
        sacrebleu_13a,
        tokenizer_for,
    )
    from annotated_transformer.evaluation.metrics import Score, chrf, ter

EXPORTS = {  # by module
    "evaluation.bleu": "BleuScore multi30k_bleu sacrebleu sacrebleu_13a tokenizer_for",
    "evaluation.metrics": "Score chrf ter",
}

__all__ = [
    "BleuScore",
    "Score",
    "chrf",
    "multi30k_bleu",
    "sacrebleu",
    "sacrebleu_13a",
    "ter",
    "tokenizer_for",
]

__getattr__, __dir__ = lazy(__name__, EXPORTS)
