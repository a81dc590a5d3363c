"""What the tests of training share: a model of seconds, and a task with a known answer."""

import dataclasses
from collections.abc import Callable

import pytest
import torch

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Pair
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID

VOCAB = 17
SHAPE = TransformerConfig(
    vocab_size=VOCAB, max_length=67, num_layers=1, d_model=12, d_ff=14, num_heads=3, dropout=0.3
)


@pytest.fixture
def copy_pairs() -> Callable[..., list[Pair]]:
    """Return a maker of random words and the same words again."""

    def make(count: int, *, seed: int = 0) -> list[Pair]:
        rng = torch.Generator().manual_seed(seed)
        lengths = torch.randint(1, 8, (count,), generator=rng).tolist()
        words = [torch.randint(4, VOCAB, (length,), generator=rng).tolist() for length in lengths]
        return [([*ids, EOS_ID], [BOS_ID, *ids, EOS_ID]) for ids in words]

    return make


@pytest.fixture
def make_model() -> Callable[..., Transformer]:
    """Return a maker of tiny models with dropout; it seeds torch's generator."""

    def make(*, seed: int = 0, **changes: object) -> Transformer:
        torch.manual_seed(seed)
        return Transformer(dataclasses.replace(SHAPE, **changes))

    return make
