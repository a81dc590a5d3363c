"""What changed since 2017, each part a small class with the call of the one that it replaces."""

from annotated_transformer.lazy_names import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
