"""The Transformer of *Attention Is All You Need*, as the book explains it.

Signatures give the shapes, with one vocabulary for the whole package:

=============  ==========================================================
axis           what it counts
=============  ==========================================================
``batch``      sentences processed together
``heads``      attention heads, *h* in the paper
``queries``    positions that read, *n* in formulas
``keys``       positions that are read, *m* in formulas
``tokens``     positions of one sequence, where the two coincide
``d_model``    features of a token between layers
``d_k d_v``    features of a key (and query), and of a value, in one head
``d_ff``       features inside the feed-forward network
``vocab``      entries of the vocabulary
=============  ==========================================================
"""

from importlib.metadata import PackageNotFoundError, version

from annotated_transformer.lazy_names import lazy

try:
    __version__ = version("annotated-transformer")
except PackageNotFoundError:  # imported from a checkout that is not installed
    __version__ = "unknown"

__getattr__, _names, __all__ = lazy(__name__, __file__)


def __dir__() -> list[str]:
    """List the public API, for completion in an editor."""
    return sorted([*_names(), "__version__"])
