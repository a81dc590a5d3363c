"""The weights, keys and values of decoder layers, for one step at a time in few and large operations."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from annotated_transformer.fast.linear import onednn_linear
from annotated_transformer.model.attention import FusedAttention, ScaledDotProductAttention
from annotated_transformer.model.decoder import DecoderLayer
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import LayerNorm, PostNorm, PreNorm
from annotated_transformer.model.plain import NotPlain, unwrap

Map = Callable[[Tensor], Tensor]


class KeyValueBuffer:
    """Keys and values of every head of every row; each head of each row has one query per step."""

    def __init__(
        self, keys: Float[Tensor, "heads keys d_k"], values: Float[Tensor, "heads keys d_v"]
    ) -> None:
        """Store separate tensors: reading keys and values from one tensor takes three times as long."""
        self.keys, self.values = keys.contiguous(), values.contiguous()
        self.columns, self.scale = self.keys.transpose(1, 2), keys.size(-1) ** -0.5

    def read(
        self, query: Float[Tensor, "heads 1 d_k"], additive_mask: Float[Tensor, "#heads 1 keys"]
    ) -> Float[Tensor, "heads 1 d_v"]:
        r"""Return $\mathrm{softmax}(QK^\top / \sqrt{d_k} + M)\,V$; $M$ is 0, or very low for a masked key."""
        scores = torch.baddbmm(additive_mask, query, self.columns, alpha=self.scale)
        return torch.bmm(scores.softmax(dim=-1), self.values)

    def write(self, position: int, key: Tensor, value: Tensor) -> None:
        """Set the key and the value of each head at a position."""
        self.keys[:, position : position + 1] = key
        self.values[:, position : position + 1] = value

    def without_keys(self) -> "KeyValueBuffer":
        """Return an empty buffer for keys and values of the same widths."""
        return KeyValueBuffer(self.keys[:, :0], self.values[:, :0])

    def extend(self, keys: int) -> "KeyValueBuffer":
        """Return a buffer with space for `keys` more keys."""
        if keys <= 0:
            return self
        room = (0, 0, 0, keys)
        return KeyValueBuffer(F.pad(self.keys, room), F.pad(self.values, room))

    def select(self, heads: Tensor) -> "KeyValueBuffer":
        """Return a buffer with these heads only."""
        return KeyValueBuffer(self.keys.index_select(0, heads), self.values.index_select(0, heads))


class FastDecoderLayer:
    """The weights of a decoder layer, for one new token per row.

    A weight that is changed in place counts at once, unless it was concatenated with others.
    """

    def __init__(self, layer: DecoderLayer) -> None:
        own, cross = (one_of(x, MultiHeadAttention) for x in (layer.self_attention, layer.cross_attention))
        for attention in (own, cross):
            one_of(attention.attention, ScaledDotProductAttention, FusedAttention)
        network = one_of(layer.feed_forward, FeedForward)
        self.heads = own.num_heads
        self.d_k, self.d_v = (x.out_features // self.heads for x in (own.to_query, own.to_value))
        self.to_heads = linear_by_head(self.heads, own.to_query, own.to_key, own.to_value)
        self.to_pairs = linear_by_head(self.heads, cross.to_key, cross.to_value)
        self.to_output = _linear(own.to_output)
        self.to_cross_query = _linear(cross.to_query)
        self.to_cross_output = _linear(cross.to_output)
        self.expand, self.contract = _linear(network.expand), _linear(network.contract)
        self.activation = network.activation.forward
        self.add_norm_1 = _add_norm(layer.add_norm_1)
        self.add_norm_2 = _add_norm(layer.add_norm_2)
        self.add_norm_3 = _add_norm(layer.add_norm_3)

    def project(
        self, memory: Float[Tensor, "batch src_tokens d_model"], src_mask: Bool[Tensor, "batch 1 src_tokens"]
    ) -> tuple[Float[Tensor, "batch heads src_tokens d_k"], Float[Tensor, "batch heads src_tokens d_v"]]:
        """Return the keys and values of cross-attention."""
        pairs = self.to_pairs(memory.flatten(0, 1))
        pairs = pairs.view(*memory.shape[:2], self.heads, self.d_k + self.d_v).transpose(1, 2)
        # Values of padding are zeros, so attention to a source of padding alone returns zeros.
        keys, values = pairs.masked_fill(~src_mask[..., None], 0.0).split([self.d_k, self.d_v], dim=-1)
        return keys, values

    def step(
        self,
        x: Float[Tensor, "rows d_model"],
        position: int,
        buffers: tuple[KeyValueBuffer, KeyValueBuffer],
        masks: tuple[Tensor, Tensor],
    ) -> Float[Tensor, "rows d_model"]:
        """Return what `DecoderLayer` returns for the newest token, which is at `position`."""
        (past, memory), (tgt_mask, memory_mask) = buffers, masks
        x = self.add_norm_1(x, lambda x: self._read_past(x, position, past, tgt_mask))
        x = self.add_norm_2(x, lambda x: self._read_memory(x, memory, memory_mask))
        return self.add_norm_3(x, lambda x: self.contract(self.activation(self.expand(x))))

    def _read_past(self, x: Tensor, position: int, past: KeyValueBuffer, tgt_mask: Tensor) -> Tensor:
        sizes = [self.d_k, self.d_k, self.d_v]
        query, key, value = self._by_head(self.to_heads(x), sum(sizes)).split(sizes, dim=-1)
        past.write(position, key, value)
        return self.to_output(past.read(query, tgt_mask).reshape(len(x), self.heads * self.d_v))

    def _read_memory(self, x: Tensor, memory: KeyValueBuffer, memory_mask: Tensor) -> Tensor:
        query = self._by_head(self.to_cross_query(x), self.d_k)
        return self.to_cross_output(memory.read(query, memory_mask).reshape(len(x), self.heads * self.d_v))

    def _by_head(self, x: Tensor, width: int) -> Tensor:
        return x.view(len(x) * self.heads, 1, width)


def one_of(module: nn.Module, *kinds: type[nn.Module]) -> Any:
    """Return the module, without what `torch.compile` wrapped around it, if it is of one of these classes."""
    module = unwrap(module)
    if type(module) not in kinds:
        raise NotPlain(f"{type(module).__name__} is not {' or '.join(kind.__name__ for kind in kinds)}")
    return module


def fast_norm(norm: Any) -> Map:
    """Return the norm as a single operation."""
    norm = one_of(norm, LayerNorm, nn.Identity)
    if isinstance(norm, nn.Identity):  # after a stack of post-norm layers
        return norm
    gain, bias, eps = norm.gain, norm.bias, norm.eps
    return lambda x: torch.layer_norm(x, gain.shape, gain, bias, eps)


def _linear(linear: nn.Linear) -> Map:
    return onednn_linear(linear.weight, linear.bias)


def linear_by_head(heads: int, *linears: nn.Linear) -> Map:
    """Return several linear maps as one matrix product; each head has their results side by side."""

    def interleave(parts: list[Tensor]) -> Tensor:
        return torch.cat([part.unflatten(0, (heads, -1)) for part in parts], dim=1).flatten(0, 1)

    weight = interleave([linear.weight for linear in linears])
    biased = any(linear.bias is not None for linear in linears)
    return onednn_linear(weight, interleave([linear.bias for linear in linears]) if biased else None)


def _add_norm(add_norm: Any) -> Callable[[Tensor, Map], Tensor]:
    add_norm = one_of(add_norm, PostNorm, PreNorm)
    norm = fast_norm(add_norm.norm)
    if isinstance(add_norm, PreNorm):
        return lambda x, sublayer: x + sublayer(norm(x))
    return lambda x, sublayer: norm(x + sublayer(x))
