"""An encoder that does not wait for a GPU: what recorded decoding and training on a GPU call."""

import math
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from annotated_transformer.fast.kv_cache import OTHERS, refuse_unknown_modules
from annotated_transformer.model.masks import padding_mask
from annotated_transformer.model.transformer import Transformer


class FastEncoder:
    """Encode sources as `encode_sources` does, so that it can be recorded.

    It calls the encoder, but neither the positions nor the embedding, whose check of ids waits for a GPU.
    """

    def __init__(self, model: Transformer) -> None:
        """Keep the model.

        Raises:
            NotPlain: If the encoder has a part that may do something else at each call.
        """
        refuse_unknown_modules(model, ("encoder",), "a recorded encoder", OTHERS)
        self.model = model

    def __call__(
        self, ids: Int[Tensor, "batch src_tokens"]
    ) -> tuple[Float[Tensor, "batch src_tokens d_model"], Bool[Tensor, "batch 1 1 src_tokens"]]:
        """Return the memory and its mask; the ids must be in the vocabulary."""
        mask = padding_mask(ids, self.model.config.pad_id)
        places = torch.arange(ids.size(1), device=ids.device)
        return self.model.encoder(embed_unchecked(self.model, ids, places), mask), mask


def embed_unchecked(
    model: Transformer, ids: Int[Tensor, "*batch tokens"], places: Int[Tensor, " tokens"]
) -> Float[Tensor, "*batch tokens d_model"]:
    """Return what `Transformer.embed` returns, for ids that are in the vocabulary.

    Padding may lie beyond the last position, and then has its vector.
    """
    table = cast(Tensor, model.positions.table)
    embedded = F.embedding(ids, model.embedding.weight) * math.sqrt(model.config.d_model)
    embedded = embedded + F.embedding(places.clamp(max=len(table) - 1), table).to(embedded.dtype)
    return cast(Tensor, model.dropout(embedded))
