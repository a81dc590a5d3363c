"""From strings to padded tensors of ids: the data of section 5.1 of the paper."""

from annotated_transformer.lazy_names import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
