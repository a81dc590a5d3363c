"""The log-probability and the cross-attention weights of targets: the chapter on looking inside."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.attention import FusedAttention
from annotated_transformer.model.decoder import decoder_layers
from annotated_transformer.model.inference import collecting, evaluating, first_tokens, suppress_tokens
from annotated_transformer.model.masks import decoder_mask, padding_mask
from annotated_transformer.model.transformer import Transformer


@dataclass(frozen=True, eq=False)
class Observation:
    """The result of one pass over whole targets.

    Attributes:
        log_probs: The sum of the log-probabilities of each target's tokens.
        attention: The cross-attention weights from the prediction of each token to each source token,
            in every layer and head.
    """

    log_probs: Float[Tensor, " batch"]
    attention: Float[Tensor, "batch layers heads tgt_tokens src_tokens"]


@refuses_other_kinds
def observe(
    model: Transformer, src: Int[Tensor, "batch src_tokens"], tgt: Int[Tensor, "batch tgt_tokens"]
) -> Observation:
    """Decode `tgt`, as returned by a search, in one pass, and collect the cross-attention weights."""
    pad_id = model.config.pad_id
    decoder_input = torch.cat([first_tokens(src, model.config)[:, None], tgt[:, :-1]], dim=1)
    memory_mask = padding_mask(src, pad_id)
    layers = decoder_layers(model.decoder)
    crossed = [layer.cross_attention for layer in layers]
    attentions = [getattr(attention, "attention", attention) for attention in crossed]
    with watching(attentions) as weights, evaluating(model):
        memory = model.encode(src, memory_mask)
        hidden = model.decode(decoder_input, memory, decoder_mask(decoder_input, pad_id), memory_mask)
        logits = suppress_tokens(model.logits(hidden).flatten(0, 1), model.config)
    log_probs = logits.log_softmax(dim=-1).gather(1, tgt.reshape(-1, 1)).view(tgt.shape)
    summed = log_probs.masked_fill(tgt == pad_id, 0.0).sum(dim=1)
    return Observation(summed, torch.stack(weights, dim=1))


def watching(attentions: Iterable[nn.Module]) -> AbstractContextManager[list[Tensor]]:
    """Collect the weights of these attentions, in the order of their calls, inside the `with` block.

    Calls in other threads are not collected.
    """
    return collecting(map(weights_module, attentions))


def weights_module(attention: nn.Module) -> nn.Module:
    """Return the identity module that the weights of `attention` pass through, for hooks."""
    if not hasattr(attention, "weights"):
        way_out = (
            "load the model's state into one with attention='scaled_dot_product', which computes the same"
            if type(attention) is FusedAttention
            else "pass its weights through a submodule nn.Identity() named weights, as "
            "ScaledDotProductAttention does"
        )
        raise ValueError(f"{type(attention).__name__} computes no weights to observe; {way_out}")
    return cast(nn.Module, attention.weights)
