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
from typing import TYPE_CHECKING

from annotated_transformer.lazy_names import lazy

if TYPE_CHECKING:  # imported on first use: most users need only part of it
    from annotated_transformer.checkpointing.checkpoint import load, save
    from annotated_transformer.config import BASE, BIG, TINY, TransformerConfig
    from annotated_transformer.decoding.translator import Translator
    from annotated_transformer.model.trainable import TrainableModel
    from annotated_transformer.model.transformer import Transformer
    from annotated_transformer.registry import register_attention
    from annotated_transformer.text.corpus import Corpus, load_corpus
    from annotated_transformer.text.tokenizer import Tokenizer
    from annotated_transformer.training.config import TrainingConfig
    from annotated_transformer.training.trainer import train

EXPORTS = {  # by module
    "checkpointing.checkpoint": "load save",
    "config": "BASE BIG TINY TransformerConfig",
    "decoding.translator": "Translator",
    "model.trainable": "TrainableModel",
    "model.transformer": "Transformer",
    "registry": "register_attention",
    "text.corpus": "Corpus load_corpus",
    "text.tokenizer": "Tokenizer",
    "training.config": "TrainingConfig",
    "training.trainer": "train",
}

__all__ = [
    "BASE",
    "BIG",
    "TINY",
    "Corpus",
    "Tokenizer",
    "TrainableModel",
    "TrainingConfig",
    "Transformer",
    "TransformerConfig",
    "Translator",
    "load",
    "load_corpus",
    "register_attention",
    "save",
    "train",
]

try:
    __version__ = version("annotated-transformer")
except PackageNotFoundError:  # imported from a checkout that is not installed
    __version__ = "unknown"

__getattr__, _names = lazy(__name__, EXPORTS)


def __dir__() -> list[str]:
    """List the public API, for completion in an editor."""
    return sorted([*_names(), "__version__"])
