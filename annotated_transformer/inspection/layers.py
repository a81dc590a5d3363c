"""The hidden states and the attention weights of each layer, from one call: the chapter on looking inside."""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.inspection.observation import watching
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.decoder import Decoder
from annotated_transformer.model.encoder import Encoder
from annotated_transformer.model.inference import collecting, evaluating, hooking
from annotated_transformer.model.plain import unwrap
from annotated_transformer.model.trainable import AnyModel


@dataclass(frozen=True, eq=False)
class LayerStates:
    """The states of one stack of layers.

    Attributes:
        hidden: The input of the first layer, and then the output of each, without the final norm.
        self_attention: The weights of each layer's self-attention.
        cross_attention: The weights of each decoder layer's second attention; None in an encoder.
    """

    hidden: Float[Tensor, "batch states tokens d_model"]
    self_attention: Float[Tensor, "batch layers heads tokens tokens"]
    cross_attention: Float[Tensor, "batch layers heads tokens src_tokens"] | None = None


@refuses_other_kinds
def observe_layers(model: AnyModel, *ids: Tensor) -> dict[str, LayerStates]:
    """Call `model(*ids)` without dropout, and return the states of its stacks, by their names.

    Those of a `Transformer` are `"encoder"` and `"decoder"`. A `ModernModel`, like other models of one stack,
    has an `"encoder"`, whose mask may be causal.

    Raises:
        ValueError: If no part of the model is an `Encoder` or a `Decoder`, or an attention has no weights to
            observe.
    """
    parts = {name: unwrap(part) for name, part in unwrap(model).named_children()}
    stacks = {name: part for name, part in parts.items() if isinstance(part, Encoder | Decoder)}
    if not stacks:
        raise ValueError(f"{type(model).__name__} has no Encoder and no Decoder; give a model with one")
    with ExitStack() as hooks, evaluating(model):
        seen = {name: _watch(stack, hooks) for name, stack in stacks.items()}
        model(*ids)
    return {
        name: LayerStates(**{kind: torch.stack(states, dim=1) for kind, states in of_stack.items()})
        for name, of_stack in seen.items()
    }


def _watch(stack: Encoder | Decoder, hooks: ExitStack) -> dict[str, list[Tensor]]:
    seen: dict[str, list[Tensor]] = {"hidden": hooks.enter_context(collecting(stack.layers))}
    first = stack.layers[0].register_forward_pre_hook
    hooks.enter_context(hooking(first, lambda _, inputs: seen["hidden"].append(inputs[0])))
    for kind in ("self_attention", "cross_attention"):
        attentions = [getattr(layer, kind) for layer in stack.layers if hasattr(layer, kind)]
        if attentions:
            seen[kind] = hooks.enter_context(watching(map(_innermost, attentions)))
    return seen


def _innermost(attention: nn.Module) -> nn.Module:
    """Return the attention that computes the weights, such as that inside a `RotaryAttention`."""
    return _innermost(cast(nn.Module, attention.attention)) if hasattr(attention, "attention") else attention
