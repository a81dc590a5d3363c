"""Blocks of the experiment without feed-forward networks: what their letters mean."""

import torch
import torch.nn.functional as F

from annotated_transformer.book.chapters.feed_forward.blocks import Block
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention

X = torch.randn(3, 5, 2, generator=torch.Generator().manual_seed(0))


def block(sublayers: str, *, norm: bool, seed: int = 0) -> Block:
    made = Block(2, sublayers, norm=norm, rng=torch.Generator().manual_seed(seed))
    return made.requires_grad_(False)


def test_oracle_each_sublayer_is_added_and_then_normalized():
    made = block("AF", norm=True)
    attention, network = made.sublayers
    assert isinstance(attention, MultiHeadAttention)
    assert isinstance(network, FeedForward)
    x = made.first(X)
    x = F.layer_norm(x + attention(x, x, x), (16,))
    x = F.layer_norm(x + network(x), (16,))
    torch.testing.assert_close(made(X), made.last(x).squeeze(-1), rtol=0, atol=1e-5)


def test_oracle_without_norm_a_sublayer_is_only_added():
    made = block("A", norm=False)
    assert len(made.norms) == 0
    x = made.first(X)
    x = x + made.sublayers[0](x, x, x)
    torch.testing.assert_close(made(X), made.last(x).squeeze(-1), rtol=0, atol=1e-5)


def test_law_the_generator_draws_the_weights():
    first, again, other = (block("AF", norm=True, seed=seed)(X) for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
