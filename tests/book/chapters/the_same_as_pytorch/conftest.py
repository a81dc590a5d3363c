"""One small model, ours and PyTorch's, with the same random weights, and ids with padding."""

import pytest
import torch

from annotated_transformer.book.chapters.the_same_as_pytorch.torch_model import pair
from annotated_transformer.config import TransformerConfig

CONFIG = TransformerConfig(
    vocab_size=23, max_length=16, num_layers=2, d_model=20, d_ff=17, num_heads=4, activation="gelu",
    attention_bias=True,
)  # fmt: skip


@pytest.fixture(scope="module")
def twins():
    return pair(CONFIG, 3)


@pytest.fixture
def ids():
    """Return sources and targets; the second source and the third target end in padding."""
    rng = torch.Generator().manual_seed(0)
    src, tgt = (torch.randint(3, 23, (3, tokens), generator=rng) for tokens in (7, 5))
    src[1, 4:], tgt[2, 3:] = 0, 0
    return src, tgt
