"""Which parameters of `nn.Transformer` are which of ours."""

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from annotated_transformer.model.decoder import DecoderLayer
from annotated_transformer.model.encoder import EncoderLayer
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import LayerNorm
from annotated_transformer.model.transformer import Transformer

Pair = tuple[Tensor | None, list[Tensor | None]]  # one of PyTorch's parameters, and those of ours in it


def parameter_pairs(ours: Any, theirs: Any) -> Iterator[Pair]:
    """Yield PyTorch's parameters, each with those of ours that it stacks; None is a missing bias."""
    match ours:
        case nn.Linear():
            yield theirs.weight, [ours.weight]
            yield theirs.bias, [ours.bias]
        case LayerNorm():
            yield theirs.weight, [ours.gain]
            yield theirs.bias, [ours.bias]
        case MultiHeadAttention():
            stacked = [ours.to_query, ours.to_key, ours.to_value]
            yield theirs.in_proj_weight, [projection.weight for projection in stacked]
            yield theirs.in_proj_bias, [projection.bias for projection in stacked]
            yield from parameter_pairs(ours.to_output, theirs.out_proj)
        case EncoderLayer() | DecoderLayer():
            yield from parameter_pairs(ours.self_attention, theirs.self_attn)
            yield from parameter_pairs(ours.feed_forward.expand, theirs.linear1)
            yield from parameter_pairs(ours.feed_forward.contract, theirs.linear2)
            yield from parameter_pairs(ours.add_norm_1.norm, theirs.norm1)
            yield from parameter_pairs(ours.add_norm_2.norm, theirs.norm2)
            if isinstance(ours, DecoderLayer):
                yield from parameter_pairs(ours.cross_attention, theirs.multihead_attn)
                yield from parameter_pairs(ours.add_norm_3.norm, theirs.norm3)
        case Transformer():
            yield from parameter_pairs(ours.encoder, theirs.encoder)
            yield from parameter_pairs(ours.decoder, theirs.decoder)
        case _:  # a stack
            for layer, their_layer in zip(ours.layers, theirs.layers, strict=True):
                yield from parameter_pairs(layer, their_layer)
            if theirs.norm is not None:
                yield from parameter_pairs(ours.final_norm, theirs.norm)
