"""A key-value cache with fewer and larger operations: the chapter on decoding.

Decoding one token takes little arithmetic, so most of a step's time is the overhead of calling
operations. `FastKeyValueCache` calls fewer than half as many as `KeyValueCache`.
"""

from itertools import chain

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.fast.decoder import FastDecoder, widths
from annotated_transformer.model.attention import FusedAttention, ScaledDotProductAttention
from annotated_transformer.model.decoder import Decoder, DecoderLayer
from annotated_transformer.model.embeddings import TokenEmbedding
from annotated_transformer.model.encoder import Encoder, EncoderLayer
from annotated_transformer.model.feed_forward import ACTIVATIONS, FeedForward
from annotated_transformer.model.id_checks import check_step
from annotated_transformer.model.inference import encode_sources
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import LayerNorm, PostNorm, PreNorm
from annotated_transformer.model.plain import NotPlain, plain_name, refuse_changed, unwrap
from annotated_transformer.model.positional_encoding import LearnedPositions, SinusoidalPositions
from annotated_transformer.model.transformer import Transformer

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
        self.decoder = FastDecoder(model)
        self.heads = model.config.num_heads
        memory, src_mask = encode_sources(model, src)
        src_mask = src_mask[:, 0]
        # Not -inf: the softmax of a row of -inf is NaN.
        self.lowest = torch.finfo(memory.dtype).min
        mask = torch.zeros(src_mask.shape, dtype=memory.dtype, device=memory.device)
        mask = self._extend(mask.masked_fill(~src_mask, self.lowest), max(BLOCK - src.size(1), 0))
        self.memory_mask = mask.repeat_interleave(self.heads, dim=0)
        self.tgt_mask = self.memory_mask[:1, :, :0]
        projected = [layer.project(memory, src_mask) for layer in self.decoder.layers]
        buffers = [KeyValueBuffer(k.flatten(0, 1), v.flatten(0, 1)) for k, v in projected]
        self.buffers = [(each.without_keys(), each.extend(BLOCK - src.size(1))) for each in buffers]
        self.length = 0

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each target, and return the logits of the next token.

        Raises:
            ValueError: If there is not one token for each target, the targets are as long as the model
                allows, or a token is not in the vocabulary.
        """
        rows = len(self.memory_mask) // self.heads
        check_step(tokens, rows, self.length, len(self.decoder.positions))
        embedded = self.decoder.embed(tokens)
        if self.length % BLOCK == 0:
            self.tgt_mask = self._extend(self.tgt_mask, BLOCK)
            self.buffers = [(past.extend(BLOCK), memory) for past, memory in self.buffers]
        self.tgt_mask[..., self.length] = 0.0
        masks = self.tgt_mask, self.memory_mask
        logits = self.decoder.step(embedded, self.length, self.buffers, masks)
        self.length += 1
        return logits

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows in this order; a row may be omitted or repeated."""
        heads = torch.arange(self.heads, device=rows.device)
        rows = (self.heads * rows[:, None] + heads).flatten()
        self.memory_mask = self.memory_mask[rows]
        self.buffers = [(past.select(rows), memory.select(rows)) for past, memory in self.buffers]

    def _extend(self, mask: Tensor, keys: int) -> Tensor:
        """Append masked keys."""
        return F.pad(mask, (0, keys), value=self.lowest)


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


def refuse_for_fast_cache(model: Transformer) -> None:
    """Refuse a model that does not compute a step as `FastKeyValueCache` does.

    Raises:
        NotPlain: If a part is overridden, is a different kind of module, has hooks, or is an
            attention of a different shape.
    """
    refuse_unknown_modules(model, ("decoder",), "FastKeyValueCache", OTHERS)
    for i, layer in enumerate(model.decoder.layers):
        attentions = {part: getattr(layer, part) for part in ("self_attention", "cross_attention")}
        needed = (model.config.num_heads, *widths(attentions["self_attention"]))
        for part, attention in attentions.items():
            if (actual := (attention.num_heads, *widths(attention))) != needed:
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
