"""Inspection of models: attention maps, entropies and ablation of heads, and numbers that show a collapse."""

from annotated_transformer.lazy_names import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
