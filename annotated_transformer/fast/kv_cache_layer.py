"""One decoder layer of `FastKeyValueCache`, which decodes one new token per target."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from annotated_transformer.fast.linear import onednn_linear
from annotated_transformer.model.decoder import DecoderLayer
from annotated_transformer.model.normalization import AddNorm, LayerNorm, PreNorm

Map = Callable[[Tensor], Tensor]
BLOCK = 16  # keys are padded to a multiple of it: PyTorch's softmax is slow over fewer numbers


class KeyValueBuffer:
    """Keys and values of every head of every row; each head of each row has one query per step."""

    def __init__(
        self, keys: Float[Tensor, "heads keys d_k"], values: Float[Tensor, "heads keys d_v"]
    ) -> None:
        """Store separate tensors: reading keys and values from one tensor takes three times as long."""
        self.keys, self.values = keys.contiguous(), values.contiguous()
        self.columns, self.scale = self.keys.transpose(1, 2), keys.size(-1) ** -0.5

    def read(
        self,
        query: Float[Tensor, "heads 1 d_k"],
        additive_mask: Float[Tensor, "#heads 1 keys"],
    ) -> Float[Tensor, "heads 1 d_v"]:
        r"""Return $\mathrm{softmax}(QK^\top / \sqrt{d_k} + M)\,V$; $M$ is 0, or very low for a masked key."""
        scores = torch.baddbmm(additive_mask, query, self.columns, alpha=self.scale)
        return torch.bmm(scores.softmax(dim=-1), self.values)

    def write(self, position: int, key: Tensor, value: Tensor) -> None:
        """Set the key and the value of each head at a position."""
        self.keys[:, position : position + 1] = key
        self.values[:, position : position + 1] = value

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
    """A decoder layer for one new token per row, with the keys and values of its two attentions."""

    def __init__(
        self,
        layer: DecoderLayer,
        memory: Float[Tensor, "batch src_tokens d_model"],
        src_mask: Bool[Tensor, "batch 1 src_tokens"],
    ) -> None:
        """Project the memory, and start with no target tokens."""
        own, cross, network = (
            layer.self_attention,
            layer.cross_attention,
            layer.feed_forward,
        )
        heads = own.num_heads
        d_k, d_v = own.to_query.out_features // heads, own.to_value.out_features // heads
        self.widths, self.all_d_v = (d_k, d_k, d_v), heads * d_v
        self.to_heads = _by_head(heads, own.to_query, own.to_key, own.to_value)
        self.to_output = _linear(own.to_output)
        self.to_cross_query = _linear(cross.to_query)
        self.to_cross_output = _linear(cross.to_output)
        self.expand, self.contract = _linear(network.expand), _linear(network.contract)
        self.activation = network.activation.forward
        self.add_norm_1 = _add_norm(layer.add_norm_1)
        self.add_norm_2 = _add_norm(layer.add_norm_2)
        self.add_norm_3 = _add_norm(layer.add_norm_3)
        pairs = _by_head(heads, cross.to_key, cross.to_value)(memory.flatten(0, 1))
        pairs = pairs.view(*memory.shape[:2], heads, d_k + d_v).transpose(1, 2)
        # Values of padding are zeros, so attention to a source of padding alone returns zeros.
        keys, values = pairs.masked_fill(~src_mask[..., None], 0.0).split([d_k, d_v], dim=-1)
        self.memory = KeyValueBuffer(keys.flatten(0, 1), values.flatten(0, 1))
        self.past = KeyValueBuffer(self.memory.keys[:, :0], self.memory.values[:, :0])
        self.memory = self.memory.extend(BLOCK - memory.size(1))

    def extend(self) -> None:
        """Make space for another block of target tokens."""
        self.past = self.past.extend(BLOCK)

    def select(self, heads: Tensor) -> None:
        """Keep the keys and values of these heads."""
        self.past, self.memory = self.past.select(heads), self.memory.select(heads)

    def step(
        self, x: Float[Tensor, "rows d_model"], position: int, tgt_mask: Tensor, memory_mask: Tensor
    ) -> Float[Tensor, "rows d_model"]:
        """Return what `DecoderLayer` returns for the newest token, which is at `position`."""
        x = self.add_norm_1(x, lambda x: self._read_past(x, position, tgt_mask))
        x = self.add_norm_2(x, lambda x: self._read_memory(x, memory_mask))
        return self.add_norm_3(x, lambda x: self.contract(self.activation(self.expand(x))))

    def _read_past(self, x: Tensor, position: int, tgt_mask: Tensor) -> Tensor:
        heads = self.to_heads(x).view(len(self.past.keys), 1, sum(self.widths))
        query, key, value = heads.split(self.widths, dim=-1)
        self.past.write(position, key, value)
        return self.to_output(self.past.read(query, tgt_mask).view(len(x), self.all_d_v))

    def _read_memory(self, x: Tensor, memory_mask: Tensor) -> Tensor:
        query = self.to_cross_query(x).view(len(memory_mask), 1, self.widths[0])
        read = self.memory.read(query, memory_mask)
        return self.to_cross_output(read.view(len(x), self.all_d_v))


def fast_norm(norm: nn.Module) -> Map:
    """Return the norm as a single operation."""
    if not isinstance(norm, LayerNorm):
        return norm.forward  # nn.Identity, after a stack of post-norm layers
    gain, bias, eps = norm.gain, norm.bias, norm.eps
    return lambda x: torch.layer_norm(x, gain.shape, gain, bias, eps)


def _linear(linear: nn.Linear) -> Map:
    return onednn_linear(linear.weight, linear.bias)


def _by_head(heads: int, *linears: nn.Linear) -> Map:
    """Return several linear maps as one matrix product; each head has their results side by side."""
    weights = [linear.weight.unflatten(0, (heads, -1)) for linear in linears]
    weight = torch.cat(weights, dim=1).flatten(0, 1)
    if all(linear.bias is None for linear in linears):
        return onednn_linear(weight)
    biases = [weight.new_zeros(x.out_features) if x.bias is None else x.bias for x in linears]
    bias = torch.cat([bias.unflatten(0, (heads, -1)) for bias in biases], dim=1).flatten()
    return onednn_linear(weight, bias)


def _add_norm(add_norm: AddNorm) -> Callable[[Tensor, Map], Tensor]:
    norm = fast_norm(add_norm.norm)
    if isinstance(add_norm, PreNorm):
        return lambda x, sublayer: x + sublayer(norm(x))
    return lambda x, sublayer: norm(x + sublayer(x))
