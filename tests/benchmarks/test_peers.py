"""The peers compute the same function as our model, with dropout in the same places."""

import dataclasses
import importlib.util
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import LayerNorm
from annotated_transformer.model.transformer import Transformer
from benchmarks.peers import Marian, TorchTransformer, comparable

PEERS: list[type[nn.Module]] = [TorchTransformer]
if importlib.util.find_spec("transformers"):
    PEERS.append(Marian)

SRC = torch.tensor([[3, 4, 5, 6, 2], [9, 7, 2, 0, 0], [5, 2, 0, 0, 0]])
TGT = torch.tensor([[1, 3, 4, 5, 6, 7, 8], [1, 9, 8, 0, 0, 0, 0], [1, 5, 5, 5, 0, 0, 0]])
TORCH_NAMES = "self_attn multihead_attn linear1 linear2 norm1 norm2 norm3".split()
MARIAN_NAMES = "self_attn encoder_attn fc1 fc2 self_attn_layer_norm encoder_attn_layer_norm final_layer_norm"


def copy_weights(ours: nn.Module, theirs: nn.Module) -> None:
    match ours:
        case nn.Linear():
            theirs.load_state_dict(ours.state_dict())
        case LayerNorm():
            theirs.load_state_dict({"weight": ours.gain, "bias": ours.bias})
        case MultiHeadAttention():
            copy_weights(ours.to_output, theirs.out_proj)
            parts = ours.to_query, ours.to_key, ours.to_value
            if isinstance(theirs, nn.MultiheadAttention):
                theirs.in_proj_weight.data = torch.cat([part.weight for part in parts])
                theirs.in_proj_bias.data = torch.cat([part.bias for part in parts])
            else:
                for part, their_part in zip(
                    parts, (theirs.q_proj, theirs.k_proj, theirs.v_proj), strict=True
                ):
                    copy_weights(part, their_part)


def copy_layers(ours: nn.Module, theirs: nn.Module, names: list[str]) -> None:
    for mine, yours in zip(ours.layers, theirs.layers, strict=True):
        network = mine.feed_forward
        norms = [getattr(mine, f"add_norm_{i}").norm for i in (1, 2, 3) if hasattr(mine, f"add_norm_{i}")]
        if len(norms) == 2:
            parts = mine.self_attention, None, network.expand, network.contract, *norms
            parts = (*parts, None) if names == TORCH_NAMES else (*parts[:-1], None, parts[-1])
        else:
            parts = mine.self_attention, mine.cross_attention, network.expand, network.contract, *norms
        for part, name in zip(parts, names, strict=True):
            if part is not None:
                copy_weights(part, getattr(yours, name))


@torch.no_grad()
def with_weights_of(ours: Transformer, kind: type[nn.Module]) -> nn.Module:
    """Return a peer with our weights."""
    theirs = kind(ours.config).double()
    if kind is TorchTransformer:
        theirs.embedding.weight.copy_(ours.embedding.weight)
        stacks, names = theirs.transformer, TORCH_NAMES
        stacks.encoder.norm = stacks.decoder.norm = None
    else:
        stacks, names = theirs.model.model, MARIAN_NAMES.split()
        stacks.shared.weight.copy_(ours.embedding.weight)
        for stack in (stacks.encoder, stacks.decoder):  # in Marian, all sines come before the cosines
            stack.embed_positions.weight.copy_(ours.positions.table)
    copy_layers(ours.encoder, stacks.encoder, names)
    copy_layers(ours.decoder, stacks.decoder, names)
    return theirs


@pytest.fixture
def ours() -> Transformer:
    torch.manual_seed(0)
    model = Transformer(dataclasses.replace(comparable("toy"), num_layers=2)).double()
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)  # so that no bias is 0 and no gain 1
    return model


class Masks(TorchDispatchMode):
    """Record the shape of each dropout mask."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[tuple[int, ...]] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if "bernoulli" in func.__name__ or "native_dropout" in func.__name__:
            self.shapes.append(tuple(args[0].shape))
        return func(*args, **(kwargs or {}))


def drawn(model: nn.Module) -> list[tuple[int, ...]]:
    with Masks() as masks:
        model.train()(SRC, TGT)
    return sorted(masks.shapes)


@pytest.mark.parametrize("kind", PEERS)
def test_oracle_a_peer_computes_the_same_function(ours: Transformer, kind: Callable[..., nn.Module]):
    theirs = with_weights_of(ours, kind).eval()
    found, expected = theirs(SRC, TGT), ours.eval()(SRC, TGT)
    real = TGT != 0
    torch.testing.assert_close(found[real], expected[real], rtol=0, atol=1e-10)
    assert expected[real].std(dim=0).min() > 1e-2


@pytest.mark.parametrize("kind", PEERS)
def test_law_a_peer_applies_dropout_at_the_same_places_as_our_model(ours, kind):
    sites = drawn(ours)
    assert drawn(kind(ours.config).double()) == sites
    assert len(sites) == 2 + 2 * (2 + 3)  # both embeddings, and each layer's sub-layers
