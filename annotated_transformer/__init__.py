"""The Transformer of *Attention Is All You Need*, as the book explains it.

Shapes stand in the signatures, in one vocabulary for the whole package:

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

from annotated_transformer.config import BASE, BIG, TINY, TransformerConfig
from annotated_transformer.model.transformer import Transformer

__all__ = ["BASE", "BIG", "TINY", "Transformer", "TransformerConfig"]

try:
    __version__ = version("annotated-transformer")
except PackageNotFoundError:  # imported from a checkout that nobody installed
    __version__ = "unknown"
