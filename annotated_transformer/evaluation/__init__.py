"""Evaluation of translations by BLEU, chrF, and TER."""

from annotated_transformer.lazy_names import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
