"""Decoding a decoder-only model step by step, with a cache of keys and values."""

from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.model.cacheable import CachedLayer, refuse_uncacheable
from annotated_transformer.model.encoder import Encoder, EncoderLayer
from annotated_transformer.model.id_checks import check_ids
from annotated_transformer.model.plain import refuse_changed
from annotated_transformer.modern.single_stack import SingleStack


class DecoderOnlyCache:
    """Texts, one per row, that start empty and grow; the keys and values of their tokens are kept.

    It calls the modules inside each layer, whatever their kind, so that RMSNorm, rotary positions, grouped
    queries and others need no cache of their own. It runs the lines of `Encoder`, `EncoderLayer` and
    `MultiHeadAttention` with attentions that remember.
    """

    def __init__(self, model: SingleStack, rows: int) -> None:
        """Start `rows` empty texts."""
        refuse_changed_stack(model)
        self.model, self.length = model, 0
        self.ids = torch.zeros(rows, 0, dtype=torch.int64, device=model.embedding.weight.device)
        nothing = model.embedding.weight.new_zeros(rows, 0, model.config.d_model)
        self.layers = [CachedLayer(layer, nothing) for layer in model.encoder.layers]
        self.final_norm = model.encoder.final_norm

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each text, and return the logits of the next token."""
        return self.read(tokens[:, None])

    def read(self, ids: Int[Tensor, "rows tokens"]) -> Float[Tensor, "rows vocab"]:
        """Append several tokens to each text at once, and return the logits of the next token."""
        check_ids(ids)
        if len(ids) != len(self.ids):
            raise ValueError(f"{len(ids)} rows of tokens but {len(self.ids)} texts; give a row for each")
        x, end = self.model.embed(ids, start=self.length), self.length + ids.size(1)
        self.ids = torch.cat([self.ids, ids], dim=1)
        mask = self.model.mask(self.ids)[..., self.length :, :]
        hidden = Encoder.forward(cast(Any, self), x, mask)
        self.length = end
        return self.model.logits(hidden[:, -1:])[:, 0]

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows in this order; a row may be omitted or repeated."""
        self.ids = self.ids[rows]
        for layer in self.layers:
            layer.select(rows)


def refuse_changed_stack(model: SingleStack) -> None:
    """Refuse a model with a changed part that `DecoderOnlyCache` does not call, or whose mask is another.

    The parts are `forward`, `hidden` and `mask` of the model, its encoder, the layers and their attentions.
    """
    from annotated_transformer.modern.decoder_only import DecoderOnly  # which starts with this cache

    because = "which DecoderOnlyCache would not call; remove that, or decode with DecodeAgain, as sample does"
    name, encoder = type(model).__name__, model.encoder
    refuse_changed(name, model, DecoderOnly, "forward", "hidden", "mask", because=because)
    refuse_changed("encoder", encoder, Encoder, "forward", because=because)
    for i, layer in enumerate(cast(list[EncoderLayer], list(encoder.layers))):
        path = f"encoder.layers.{i}"
        refuse_changed(path, layer, EncoderLayer, "forward", because=because)
        refuse_uncacheable(f"{path}.self_attention", layer.self_attention, "DecoderOnlyCache", because)
