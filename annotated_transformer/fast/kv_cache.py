"""A key-value cache with fewer and larger operations: the chapter on decoding.

Decoding one token takes little arithmetic, so most of a step's time is the overhead of calling
operations. `FastKeyValueCache` calls fewer than half as many as `KeyValueCache`.
"""

import math
from collections.abc import Callable
from itertools import chain
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from annotated_transformer.fast.linear import OutputProjection, onednn_linear
from annotated_transformer.model.attention import FusedAttention, ScaledDotProductAttention
from annotated_transformer.model.decoder import Decoder, DecoderLayer
from annotated_transformer.model.embeddings import TokenEmbedding
from annotated_transformer.model.encoder import Encoder, EncoderLayer
from annotated_transformer.model.feed_forward import ACTIVATIONS, FeedForward
from annotated_transformer.model.id_checks import check_step
from annotated_transformer.model.inference import encode_sources
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import AddNorm, LayerNorm, PostNorm, PreNorm
from annotated_transformer.model.plain import NotPlain, plain_name, refuse_changed, unwrap
from annotated_transformer.model.positional_encoding import LearnedPositions, SinusoidalPositions
from annotated_transformer.model.transformer import Transformer

Map = Callable[[Tensor], Tensor]
BLOCK = 16  # keys are padded to a multiple of it: PyTorch's softmax is slow over fewer numbers
KNOWN: dict[str, tuple[type[nn.Module], ...]] = {  # the classes at each place, the last part of a name
    **dict.fromkeys(("embedding", "output"), (TokenEmbedding,)),
    "positions": (SinusoidalPositions, LearnedPositions),
    "encoder": (Encoder,),
    "decoder": (Decoder,),
    "layers": (nn.ModuleList,),
    "layer": (EncoderLayer, DecoderLayer),
    **dict.fromkeys(("self_attention", "cross_attention"), (MultiHeadAttention,)),
    "attention": (ScaledDotProductAttention, FusedAttention),
    **dict.fromkeys(("to_query", "to_key", "to_value", "to_output", "expand", "contract"), (nn.Linear,)),
    "feed_forward": (FeedForward,),
    "activation": (*ACTIVATIONS.values(), nn.Identity),
    **dict.fromkeys(("add_norm_1", "add_norm_2", "add_norm_3"), (PostNorm, PreNorm)),
    **dict.fromkeys(("norm", "final_norm"), (LayerNorm, nn.Identity)),
    **dict.fromkeys(("dropout", "weights"), (nn.Dropout, nn.Identity)),  # which do nothing in evaluation
}
OTHERS = "decode with KeyValueCache, or NoCache if that refuses it, too (for a Translator: fast=False)"


class FastKeyValueCache:
    """Compute what `KeyValueCache` computes, faster and without gradients.

    It uses the weights of the decoder's modules without calling the modules. A model with hooks on
    them, overridden methods or replaced modules is therefore refused.
    """

    def __init__(self, model: Transformer, src: Int[Tensor, "batch src_tokens"]) -> None:
        """Encode the sources, project the memory, and concatenate weights.

        Raises:
            NotPlain: If the model computes a step in a different way; `refuse_for_fast_cache` lists the
                conditions.
            TypeError: If the sources are not a tensor of integers.
            ValueError: If they do not have two dimensions.
        """
        refuse_for_fast_cache(model)
        self.heads = model.config.num_heads
        memory, src_mask = encode_sources(model, src)
        src_mask = src_mask[:, 0]
        # Not -inf: the softmax of a row of -inf is NaN.
        self.lowest = torch.finfo(memory.dtype).min
        mask = torch.zeros(src_mask.shape, dtype=memory.dtype, device=memory.device)
        mask = self._extend(mask.masked_fill(~src_mask, self.lowest), max(BLOCK - src.size(1), 0))
        self.memory_mask = mask.repeat_interleave(self.heads, dim=0)
        self.tgt_mask = self.memory_mask[:1, :, :0]
        layers = cast(list[DecoderLayer], model.decoder.layers)
        self.layers = [FastDecoderLayer(layer, memory, src_mask) for layer in layers]
        self.final_norm = fast_norm(model.decoder.final_norm)
        self.embedding = model.embedding.weight
        self.to_logits, self.output_bias = OutputProjection(model.to_logits.weight), model.output_bias
        self.positions = cast(Tensor, model.positions.table).to(self.embedding.dtype)
        self.scale, self.length = math.sqrt(model.config.d_model), 0

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each target, and return the logits of the next token.

        Raises:
            ValueError: If there is not one token for each target, the targets are as long as the model
                allows, or a token is not in the vocabulary.
        """
        check_step(tokens, len(self.memory_mask) // self.heads, self.length, len(self.positions))
        try:
            embedded = F.embedding(tokens, self.embedding)
        except IndexError as error:
            raise ValueError(
                f"tokens {int(tokens.min())} to {int(tokens.max())} are not all in the vocabulary of "
                f"{len(self.embedding)} tokens; give ids of this model's tokenizer"
            ) from error
        if self.length % BLOCK == 0:
            self.tgt_mask = self._extend(self.tgt_mask, BLOCK)
            for layer in self.layers:
                layer.extend()
        self.tgt_mask[..., self.length] = 0.0
        x = self.positions[self.length].add(embedded, alpha=self.scale)
        for layer in self.layers:
            x = layer.step(x, self.length, self.tgt_mask, self.memory_mask)
        self.length += 1
        logits = self.to_logits(self.final_norm(x))
        return logits if self.output_bias is None else logits + self.output_bias

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows in this order; a row may be omitted or repeated."""
        heads = torch.arange(self.heads, device=rows.device)
        rows = (self.heads * rows[:, None] + heads).flatten()
        self.memory_mask = self.memory_mask[rows]
        for layer in self.layers:
            layer.select(rows)

    def _extend(self, mask: Tensor, keys: int) -> Tensor:
        """Append masked keys."""
        return F.pad(mask, (0, keys), value=self.lowest)


class FastDecoderLayer:
    """A decoder layer for one new token per row, with the keys and values of its two attentions."""

    def __init__(
        self,
        layer: DecoderLayer,
        memory: Float[Tensor, "batch src_tokens d_model"],
        src_mask: Bool[Tensor, "batch 1 src_tokens"],
    ) -> None:
        """Project the memory, and start with no target tokens."""
        own, cross, network = layer.self_attention, layer.cross_attention, layer.feed_forward
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
        heads = self.to_heads(x).view(self.past.keys.size(0), 1, sum(self.widths))
        query, key, value = heads.split(self.widths, dim=-1)
        self.past.write(position, key, value)
        return self.to_output(self.past.read(query, tgt_mask).view(x.size(0), self.all_d_v))

    def _read_memory(self, x: Tensor, memory_mask: Tensor) -> Tensor:
        query = self.to_cross_query(x).view(memory_mask.size(0), 1, self.widths[0])
        read = self.memory.read(query, memory_mask)
        return self.to_cross_output(read.view(x.size(0), self.all_d_v))


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


def fast_norm(norm: nn.Module) -> Map:
    """Return the norm as a single operation."""
    norm = unwrap(norm)
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
    if isinstance(unwrap(add_norm), PreNorm):
        return lambda x, sublayer: x + sublayer(norm(x))
    return lambda x, sublayer: norm(x + sublayer(x))


def refuse_for_fast_cache(model: Transformer) -> None:
    """Refuse a model that does not compute a step as `FastKeyValueCache` does.

    Raises:
        NotPlain: If a part is overridden, is a different kind of module, has hooks, or is an
            attention of a different shape.
    """
    refuse_unknown_modules(model, ("decoder",), "FastKeyValueCache", OTHERS)
    for i, layer in enumerate(model.decoder.layers):
        attentions = {part: getattr(layer, part) for part in ("self_attention", "cross_attention")}
        needed = (model.config.num_heads, *_widths(attentions["self_attention"]))
        for part, attention in attentions.items():
            if (actual := (attention.num_heads, *_widths(attention))) != needed:
                raise NotPlain(
                    f"decoder.layers.{i}.{part} has num_heads, d_k, d_v = {actual}, and FastKeyValueCache "
                    f"needs {needed}, the same in both attentions of a layer; {OTHERS}"
                )


def refuse_unknown_modules(model: Transformer, stacks: tuple[str, ...], name: str, way_out: str) -> None:
    """Refuse a model with a part that `name`, which uses its weights without calling it, would not call.

    Raises:
        NotPlain: If a part outside the stacks of layers, or in one of those named, is overridden, is a
            different kind of module, or has hooks; the message ends with `way_out`.
    """
    because = f"which {name} would not call; remove that, or {way_out}"
    skipped = ["forward", "hidden", "decode", "embed", "logits"] + ["encode"] * ("encoder" in stacks)
    refuse_changed("model", model, Transformer, *skipped, because=because)
    parts = {part: getattr(model, part) for part in ("embedding", "positions", "dropout")}
    parts |= {} if model.output is None else {"output": model.output}
    inside = (getattr(model, stack).named_modules(prefix=stack) for stack in stacks)
    for part, module in chain(parts.items(), *inside):
        module, place = unwrap(module), plain_name(part).rpartition(".")[2]
        if type(module) not in KNOWN.get("layer" if place.isdecimal() else place, ()):
            kind = type(module).__name__
            raise NotPlain(f"{part} is a {kind}, and {name} cannot compute what that does there; {way_out}")
        refuse_changed(part, module, type(module), because=because)


def _widths(attention: MultiHeadAttention) -> tuple[int, int]:
    heads = attention.num_heads
    return attention.to_query.out_features // heads, attention.to_value.out_features // heads
