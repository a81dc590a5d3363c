"""Evaluation of translations by BLEU."""

from typing import TYPE_CHECKING

from annotated_transformer.exports import lazy

if TYPE_CHECKING:  # imported on first use: a caller needs only part of it
    from annotated_transformer.evaluation.bleu import (
        BleuScore,
        multi30k_bleu,
        sacrebleu,
        sacrebleu_13a,
        tokenizer_for,
    )

EXPORTS = {  # by module
    "evaluation.bleu": "BleuScore multi30k_bleu sacrebleu sacrebleu_13a tokenizer_for",
}

__all__ = ["BleuScore", "multi30k_bleu", "sacrebleu", "sacrebleu_13a", "tokenizer_for"]

__getattr__, __dir__ = lazy(__name__, EXPORTS)
