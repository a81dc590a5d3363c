"""From a trained model to translations: the inference part of section 6.1 of the paper.

Which tokens may come next, and the loop that the searches share: `model/inference.py`.
"""

from annotated_transformer.lazy_names import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
