"""The encoder and the decoder on sentences side by side, for training on a GPU: the chapter on training."""

from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.fast.compilation import is_compiled
from annotated_transformer.fast.encoder import embed_unchecked
from annotated_transformer.fast.kv_cache import refuse_unknown_modules
from annotated_transformer.fast.linear import biases_of
from annotated_transformer.fast.packing import PackedBatch, Sequences, packed_attention
from annotated_transformer.model.decoder import DecoderLayer
from annotated_transformer.model.encoder import EncoderLayer
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.transformer import Transformer


class PackedModel:
    """Compute the decoder's output of `Transformer.hidden` for a `PackedBatch`.

    It calls the model's norms, feed-forward networks, and dropout, but uses the weights of embeddings and
    attention without calling them. Queries, keys, and values come from one matrix product.
    """

    def __init__(self, model: Transformer) -> None:
        """Keep the model.

        Raises:
            NotPlain: If the model computes a step in a different way, which this would not call.
        """
        refuse_unknown_modules(
            model,
            ("encoder", "decoder"),
            "training with fast=True on this device",
            "train with fast=False",
        )
        self.model = model
        self.encoder_layer, self.decoder_layer = encoder_layer, decoder_layer
        if is_compiled(model):  # the code of a layer, once for all layers of a stack and all lengths
            self.encoder_layer = torch.compile(encoder_layer, dynamic=True)
            self.decoder_layer = torch.compile(decoder_layer, dynamic=True)

    def hidden(self, batch: PackedBatch) -> Float[Tensor, "tokens d_model"]:
        """Return the decoder's output at each token of the decoder's inputs."""
        encoder, decoder = self.model.encoder, self.model.decoder
        memory = self._embed(batch.src)
        for lower in cast(list[EncoderLayer], encoder.layers):
            memory = self.encoder_layer(lower, memory, batch.src)
        memory = encoder.final_norm(memory)
        x = self._embed(batch.tgt)
        for layer in cast(list[DecoderLayer], decoder.layers):
            x = self.decoder_layer(layer, x, memory, batch.tgt, batch.src)
        return cast(Tensor, decoder.final_norm(x))[0]

    def _embed(self, sequences: Sequences) -> Float[Tensor, "1 tokens d_model"]:
        return embed_unchecked(self.model, sequences.ids, sequences.positions)[None]


def encoder_layer(
    layer: EncoderLayer, x: Float[Tensor, "1 tokens d_model"], sequences: Sequences
) -> Float[Tensor, "1 tokens d_model"]:
    """Return what `EncoderLayer` returns."""
    attention = layer.self_attention
    x = layer.add_norm_1(x, lambda x: _self_attention(attention, x, sequences, causal=False))
    return cast(Tensor, layer.add_norm_2(x, layer.feed_forward))


def decoder_layer(
    layer: DecoderLayer,
    x: Float[Tensor, "1 tgt_tokens d_model"],
    memory: Float[Tensor, "1 src_tokens d_model"],
    tgt: Sequences,
    src: Sequences,
) -> Float[Tensor, "1 tgt_tokens d_model"]:
    """Return what `DecoderLayer` returns."""
    own, cross = layer.self_attention, layer.cross_attention
    x = layer.add_norm_1(x, lambda x: _self_attention(own, x, tgt, causal=True))
    x = layer.add_norm_2(x, lambda x: _cross_attention(cross, x, memory, tgt, src))
    return cast(Tensor, layer.add_norm_3(x, layer.feed_forward))


def _self_attention(
    attention: MultiHeadAttention, x: Tensor, sequences: Sequences, *, causal: bool
) -> Tensor:
    query, key, value = _project(x, attention, attention.to_query, attention.to_key, attention.to_value)
    return _mix(attention, packed_attention(query, key, value, sequences, sequences, causal=causal))


def _cross_attention(
    attention: MultiHeadAttention, x: Tensor, memory: Tensor, tgt: Sequences, src: Sequences
) -> Tensor:
    (query,) = _project(x, attention, attention.to_query)
    key, value = _project(memory, attention, attention.to_key, attention.to_value)
    return _mix(attention, packed_attention(query, key, value, tgt, src))


def _project(
    x: Float[Tensor, "1 tokens d_model"], attention: MultiHeadAttention, *linears: nn.Linear
) -> list[Float[Tensor, "tokens heads width"]]:
    """Return what each of the linear maps returns, from one matrix product, with an axis of heads."""
    weight = torch.cat([linear.weight for linear in linears])
    biases = biases_of(linears)
    parts = F.linear(x[0], weight, None if biases is None else torch.cat(biases)).split(
        [linear.out_features for linear in linears], dim=-1
    )
    return [part.unflatten(-1, (attention.num_heads, -1)) for part in parts]


def _mix(attention: MultiHeadAttention, heads: Float[Tensor, "tokens heads d_v"]) -> Tensor:
    return cast(Tensor, attention.to_output(heads.flatten(1)))[None]
