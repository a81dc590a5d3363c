"""The architecture (section 3 of the paper), one idea per file."""

from annotated_transformer.lazy_names import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
