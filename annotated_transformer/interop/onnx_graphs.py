"""The two graphs of a model in ONNX: the encoder, and one step of the decoder with its cache.

A step reads the keys and values of earlier tokens from buffers that are longer than needed, with a mask that
hides the rest, and returns the keys and values of the new token. So nothing in the cache is copied: whoever
runs the graph writes them into its buffers. As in the chapters on attention and on decoding, but with one
matrix product for queries, keys and values, and with PyTorch's layer normalization, which is one operation.
"""

import math
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.model.decoder import DecoderLayer, decoder_layers
from annotated_transformer.model.encoder import EncoderLayer
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import AddNorm, LayerNorm, PreNorm
from annotated_transformer.model.transformer import Transformer


class EncoderGraph(nn.Module):
    """From sources to what each step of the decoder reads of them: an additive mask, keys and values."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, src: Int[Tensor, "batch src_tokens"]) -> tuple[Tensor, ...]:
        """Return the mask, then the keys of each decoder layer, then the values of each."""
        x = embedded(self.model, src, cast(Tensor, self.model.positions.table)[: src.size(1)])
        hidden = (src == self.model.config.pad_id)[:, None, None, :]
        mask = torch.zeros_like(hidden, dtype=x.dtype).masked_fill(hidden, torch.finfo(x.dtype).min)
        for layer in cast(list[EncoderLayer], list(self.model.encoder.layers)):
            attended = encoder_attention(layer.self_attention, before(layer.add_norm_1, x), mask)
            x = after(layer.add_norm_1, x, attended)
            x = transformed(layer.feed_forward, layer.add_norm_2, x)
        memory = layer_normalized(self.model.encoder.final_norm, x)
        cross = [layer.cross_attention for layer in decoder_layers(self.model.decoder)]
        pairs = [project(memory, part.num_heads, part.to_key, part.to_value) for part in cross]
        # Values of padding are zeros, so attention to a source of padding alone returns zeros.
        values = [value.masked_fill(hidden.transpose(-2, -1), 0.0) for _, value in pairs]
        return mask, *(key for key, _ in pairs), *values


class StepGraph(nn.Module):
    """From one new token per row to the logits of the next, and to the token's own keys and values."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        tokens: Int[Tensor, " rows"],
        position: Int[Tensor, ""],
        past_mask: Float[Tensor, " capacity"],
        memory_mask: Float[Tensor, "rows 1 1 src_tokens"],
        caches: list[Tensor],
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits, new keys (layers, rows, heads, 1, d_k), and new values.

        `caches` are keys of earlier tokens (of all layers), their values, keys of the source, its values.
        """
        layers = decoder_layers(self.model.decoder)
        of_layers = zip(*(caches[i * len(layers) : (i + 1) * len(layers)] for i in range(4)), strict=True)
        here = cast(Tensor, self.model.positions.table)[position[None]]  # PyTorch 2.10 can't trace [position]
        x = embedded(self.model, tokens, here)
        new_keys, new_values = [], []
        for layer, (keys, values, memory_keys, memory_values) in zip(layers, of_layers, strict=True):
            x, key, value = self._read_past(layer, x, keys, values, past_mask)
            x = self._read_memory(layer, x, memory_keys, memory_values, memory_mask)
            x = transformed(layer.feed_forward, layer.add_norm_3, x)
            new_keys.append(key)
            new_values.append(value)
        logits = self.model.logits(layer_normalized(self.model.decoder.final_norm, x)[:, None])[:, 0]
        return logits, torch.stack(new_keys), torch.stack(new_values)

    def _read_past(
        self, layer: DecoderLayer, x: Tensor, keys: Tensor, values: Tensor, past_mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        attention, parts = layer.self_attention, layer.add_norm_1
        linears = attention.to_query, attention.to_key, attention.to_value
        joined = side_by_side(before(parts, x), *linears)
        query, key, value = (part.unflatten(-1, (attention.num_heads, 1, -1)) for part in joined)
        query = query / math.sqrt(query.size(-1))
        earlier = query @ keys.transpose(-2, -1) + past_mask
        weights = torch.cat([earlier, (query * key).sum(-1, keepdim=True)], dim=-1).softmax(dim=-1)
        heads = weights[..., :-1] @ values + weights[..., -1:] * value
        return after(parts, x, attention.to_output(heads.flatten(1))), key, value

    def _read_memory(
        self, layer: DecoderLayer, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor
    ) -> Tensor:
        cross = layer.cross_attention
        query = cross.to_query(before(layer.add_norm_2, x)).unflatten(-1, (cross.num_heads, 1, -1))
        scores = (query / math.sqrt(query.size(-1))) @ keys.transpose(-2, -1) + mask
        return after(layer.add_norm_2, x, cross.to_output((scores.softmax(dim=-1) @ values).flatten(1)))


def embedded(model: Transformer, ids: Tensor, positions: Tensor) -> Tensor:
    """Return the embeddings of ids, plus these position vectors."""
    return F.embedding(ids, model.embedding.weight) * math.sqrt(model.config.d_model) + positions


def encoder_attention(attention: MultiHeadAttention, x: Tensor, mask: Tensor) -> Tensor:
    """Return the self-attention of the encoder, with an additive mask."""
    parts = attention.to_query, attention.to_key, attention.to_value
    query, key, value = project(x, attention.num_heads, *parts)
    scores = (query / math.sqrt(query.size(-1))) @ key.transpose(-2, -1) + mask
    heads = scores.softmax(dim=-1) @ value
    return cast(Tensor, attention.to_output(heads.transpose(1, 2).flatten(2)))


def project(x: Float[Tensor, "batch tokens d_model"], heads: int, *linears: nn.Linear) -> list[Tensor]:
    """Return several projections, each (batch, heads, tokens, width)."""
    return [part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in side_by_side(x, *linears)]


def side_by_side(x: Float[Tensor, "*batch d_model"], *linears: nn.Linear) -> tuple[Tensor, ...]:
    """Return several linear maps of `x`, computed by one matrix product."""
    weight = torch.cat([linear.weight for linear in linears])
    bias = None if linears[0].bias is None else torch.cat([linear.bias for linear in linears])
    return F.linear(x, weight, bias).split([linear.out_features for linear in linears], dim=-1)


def transformed(network: FeedForward, parts: AddNorm, x: Tensor) -> Tensor:
    """Return each token after the feed-forward network, and the sum and the norm around it."""
    return after(parts, x, network.contract(network.activation(network.expand(before(parts, x)))))


def before(parts: AddNorm, x: Tensor) -> Tensor:
    """Return what the sub-layer reads."""
    return layer_normalized(parts.norm, x) if isinstance(parts, PreNorm) else x


def after(parts: AddNorm, x: Tensor, output: Tensor) -> Tensor:
    """Return the sum, normalized unless the norm came before."""
    return x + output if isinstance(parts, PreNorm) else layer_normalized(parts.norm, x + output)


def layer_normalized(module: nn.Module, x: Tensor) -> Tensor:
    """Return the layer normalization of each token, or `x` where there is none."""
    if not isinstance(module, LayerNorm):
        return x
    return F.layer_norm(x, module.gain.shape, module.gain, module.bias, module.eps)
