"""The key-value cache again, in fewer and larger operations: the chapter on decoding.

One new token is little work for a processor, so most of a step's time goes into calling the
operations, not into doing them. `LeanCache` calls about half as many as `KeyValueCache`.
"""

import math
from collections.abc import Callable
from itertools import chain
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.decoding.cache import decoder_layers
from annotated_transformer.model.attention import (
    FusedAttention,
    MultiHeadAttention,
    ScaledDotProductAttention,
)
from annotated_transformer.model.decoder import Decoder, DecoderLayer
from annotated_transformer.model.embeddings import TokenEmbedding
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.masks import padding_mask
from annotated_transformer.model.normalization import AddNorm, LayerNorm, PostNorm, PreNorm
from annotated_transformer.model.positions import LearnedPositions, SinusoidalPositions
from annotated_transformer.model.transformer import Transformer

Map = Callable[[Tensor], Tensor]
BLOCK = 16  # keys are read by the block: PyTorch's softmax is slow over fewer numbers
LARGE = 2**20  # multiplications from which on oneDNN is worth its call
KNOWN = (
    *(TokenEmbedding, SinusoidalPositions, LearnedPositions, Decoder, DecoderLayer),
    *(MultiHeadAttention, ScaledDotProductAttention, FusedAttention, FeedForward),
    *(PostNorm, PreNorm, LayerNorm),
    *(nn.Linear, nn.ReLU, nn.GELU, nn.Dropout, nn.Identity, nn.ModuleList),
)


class LeanCache:
    """Return what `KeyValueCache` returns, sooner, and without gradients.

    It reads weights where that one calls modules. So hooks on modules of the decoder would
    see nothing, and modules put in place of the package's would not be asked: a model with
    either is refused.
    """

    def __init__(self, model: Transformer, src: Int[Tensor, "batch src_tokens"]) -> None:
        """Read the sources, project the memory, and lay weights side by side.

        Raises:
            ValueError: If a module of the decoder has hooks, or is none of the package's.
        """
        _refuse_changed(model)
        words = padding_mask(src, model.config.pad_id)
        memory = model.encode(src, words)
        self.layers = [_LeanLayer(layer, memory, words) for layer in decoder_layers(model)]
        self.heads = model.config.num_heads
        self.lowest = torch.finfo(memory.dtype).min  # and not -inf: a source may be all padding
        hidden = torch.zeros_like(words, dtype=memory.dtype).masked_fill(~words, self.lowest)
        hidden = F.pad(hidden.flatten(1, 2), (0, _room(words)), value=self.lowest)
        self.padding = hidden.repeat_interleave(self.heads, dim=0)
        self.future = self.padding[:1, :, :0]
        self.final_norm = _norm(model.decoder.final_norm)
        self.embedding = model.embedding.weight
        self.to_logits = _product(self.embedding, None)
        self.positions = cast(Tensor, model.positions.table)
        self.scale, self.length = math.sqrt(model.config.d_model), 0

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each target, and return the scores of the next."""
        if self.length % BLOCK == 0:
            self.future = F.pad(self.future, (0, BLOCK), value=self.lowest)
            for layer in self.layers:
                layer.past = _Heads(F.pad(layer.past.pairs, (0, 0, 0, BLOCK)), layer.d_k)
        self.future[..., self.length] = 0.0
        position = self.positions[self.length]
        x = position.add(F.embedding(tokens, self.embedding), alpha=self.scale)
        for layer in self.layers:
            x = layer.step(x, self.length, self.future, self.padding)
        self.length += 1
        return self.to_logits(self.final_norm(x))

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows, in this order; a row may be left out, or come many times."""
        heads = torch.arange(self.heads, device=rows.device)
        rows = (rows[:, None] * self.heads + heads).flatten()
        self.padding = self.padding[rows]
        for layer in self.layers:
            layer.past, layer.memory = layer.past.select(rows), layer.memory.select(rows)


class _Heads:
    """Keys and values side by side, for each head of each row, to be read by one query."""

    def __init__(self, pairs: Tensor, d_k: int) -> None:
        self.pairs, self.d_k = pairs, d_k
        self.keys, self.values = pairs[..., :d_k].transpose(1, 2), pairs[..., d_k:]

    def read(self, query: Tensor, hidden: Tensor) -> Tensor:
        scores = torch.baddbmm(hidden, query, self.keys, alpha=self.d_k**-0.5)
        return torch.bmm(scores.softmax(dim=-1), self.values)

    def select(self, rows: Tensor) -> "_Heads":
        return _Heads(self.pairs.index_select(0, rows), self.d_k)


class _LeanLayer:
    """A decoder layer for one new token a row, and what its two attentions have read."""

    def __init__(self, layer: DecoderLayer, memory: Tensor, words: Tensor) -> None:
        own, cross, feed_forward = (
            layer.self_attention,
            layer.cross_attention,
            layer.feed_forward,
        )
        heads = own.num_heads
        self.d_k, self.read_width = own.to_query.out_features // heads, own.to_value.out_features
        self.to_heads = _by_head(heads, own.to_query, own.to_key, own.to_value)
        pairs = _by_head(heads, cross.to_key, cross.to_value)(memory.flatten(0, 1))
        pairs = pairs.view(*memory.shape[:2], heads, -1).transpose(1, 2)
        pairs = pairs.masked_fill(~words.transpose(2, 3), 0.0).flatten(0, 1)
        self.memory = _Heads(F.pad(pairs, (0, 0, 0, _room(words))), self.d_k)
        self.past = _Heads(self.memory.pairs[:, :0], self.d_k)
        self.to_output = _linear(own.to_output)
        self.to_cross_query = _linear(cross.to_query)
        self.to_cross_output = _linear(cross.to_output)
        self.expand, self.contract = _linear(feed_forward.expand), _linear(feed_forward.contract)
        self.activation = feed_forward.activation.forward
        self.add_norm_1 = _add_norm(layer.add_norm_1)
        self.add_norm_2 = _add_norm(layer.add_norm_2)
        self.add_norm_3 = _add_norm(layer.add_norm_3)

    def step(self, x: Tensor, place: int, future: Tensor, padding: Tensor) -> Tensor:
        x = self.add_norm_1(x, lambda x: self._read_past(x, place, future))
        x = self.add_norm_2(x, lambda x: self._read_memory(x, padding))
        return self.add_norm_3(x, lambda x: self.contract(self.activation(self.expand(x))))

    def _read_past(self, x: Tensor, place: int, future: Tensor) -> Tensor:
        heads = self.to_heads(x).view(len(self.past.pairs), 1, self.d_k + self.past.pairs.size(-1))
        self.past.pairs[:, place : place + 1] = heads[..., self.d_k :]
        read = self.past.read(heads[..., : self.d_k], future)
        return self.to_output(read.view(len(x), self.read_width))

    def _read_memory(self, x: Tensor, padding: Tensor) -> Tensor:
        query = self.to_cross_query(x).view(len(padding), 1, self.d_k)
        return self.to_cross_output(self.memory.read(query, padding).view(len(x), self.read_width))


def _room(words: Tensor) -> int:
    """Return how many keys are missing to a block."""
    return max(BLOCK - words.size(-1), 0)


def _linear(linear: nn.Linear) -> Map:
    return _product(linear.weight, linear.bias)


def _product(weight: Tensor, bias: Tensor | None) -> Map:
    """Return the map of `nn.Linear`; by oneDNN, where that takes half of the time."""
    onednn = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    on_cpu = weight.device.type == "cpu" and torch.backends.mkldnn.is_available()
    if onednn is None or not on_cpu or weight.dtype != torch.float32:
        return lambda x: F.linear(x, weight, bias)
    many = LARGE / weight.numel()
    return lambda x: (
        F.linear(x, weight, bias) if len(x) < many else onednn(x, weight, bias, "none", [], "")
    )


def _by_head(heads: int, *linears: nn.Linear) -> Map:
    """Return one product for several, whose results stand side by side in each head."""
    weights = [linear.weight.unflatten(0, (heads, -1)) for linear in linears]
    biases = [linear.bias.unflatten(0, (heads, -1)) for linear in linears if linear.bias is not None]
    bias = torch.cat(biases, dim=1).flatten() if biases else None
    return _product(torch.cat(weights, dim=1).flatten(0, 1), bias)


def _norm(norm: nn.Module) -> Map:
    if not isinstance(norm, LayerNorm):
        return norm.forward  # the identity after a stack of post-norm layers
    gain, bias = norm.gain, norm.bias
    return lambda x: torch.layer_norm(x, gain.shape, gain, bias, norm.eps)


def _add_norm(add_norm: AddNorm) -> Callable[[Tensor, Map], Tensor]:
    norm = _norm(add_norm.norm)
    if isinstance(add_norm, PreNorm):
        return lambda x, sublayer: x + sublayer(norm(x))
    return lambda x, sublayer: norm(x + sublayer(x))


def _refuse_changed(model: Transformer) -> None:
    parts = {"embedding": model.embedding, "positions": model.positions}
    for name, module in chain(parts.items(), model.decoder.named_modules(prefix="decoder")):
        if type(module) not in KNOWN:
            raise ValueError(
                f"{name} is a {type(module).__name__}, and LeanCache does not know what "
                f"that does; decode with KeyValueCache, which calls every module"
            )
        if module._forward_hooks or module._forward_pre_hooks:
            raise ValueError(
                f"{name} has hooks, and LeanCache would pass it by; "
                f"remove them, or decode with KeyValueCache, which calls every module"
            )
