"""Attention maps, entropy, ablation and importance of heads: the chapter on looking inside."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Literal, cast, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.inspection.layers import observe_layers
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.inference import hooking
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch

Kind = Literal["encoder", "decoder", "cross"]  # the three uses of attention: section 3.2.3
KINDS: tuple[Kind, ...] = get_args(Kind)


@refuses_other_kinds
def attention_maps(
    model: Transformer, batch: Batch
) -> dict[Kind, Float[Tensor, "batch layers heads _queries _keys"]]:
    """Return the attention weights from every token to every other, for each kind of attention."""
    batch = batch.to(model.embedding.weight.device)
    encoder, decoder = observe_layers(model, batch.src, batch.decoder_input).values()
    cross = cast(Tensor, decoder.cross_attention)
    return {"encoder": encoder.self_attention, "decoder": decoder.self_attention, "cross": cross}


@refuses_other_kinds
def head_entropy(model: Transformer, batches: Iterable[Batch]) -> dict[Kind, Float[Tensor, "layers heads"]]:
    r"""Return the entropy of each head's weights, $-\sum_j w_j \ln w_j$, in nats.

    It is 0 if a head attends to one token, and $\ln m$ if it attends to all $m$ equally. It is
    averaged over the source tokens (encoder) or the labels (decoder), without padding.
    """
    entropies: dict[Kind, list[Tensor]] = {kind: [] for kind in KINDS}
    for batch in batches:
        for kind, weights in attention_maps(model, batch).items():
            real = (batch.src if kind == "encoder" else batch.labels) != model.config.pad_id
            entropy = -weights.xlogy(weights).sum(dim=-1)
            by_head = entropy.movedim(0, 2)  # layers × heads × batch × queries
            entropies[kind].append(by_head[..., real.to(by_head.device)])
    if not entropies["cross"]:
        raise ValueError("there are no batches to observe the heads on; give at least one")
    return {kind: torch.cat(tokens, dim=-1).mean(dim=-1) for kind, tokens in entropies.items()}


@refuses_other_kinds
@contextmanager
def ablate_head(
    model: Transformer,
    kind: Kind,
    layer: int,
    head: int,
) -> Iterator[None]:
    """Replace the output of a head by zeros inside the `with` block.

    A hook does this before `to_output`, and no weight is changed. To ablate several
    heads, enter several contexts. In other threads, the model has all its heads.
    """
    layers = attentions(model, kind)
    if not (0 <= layer < len(layers) and 0 <= head < layers[layer].num_heads):
        raise ValueError(
            f"{kind} attention has {len(layers)} layers of {layers[0].num_heads} "
            f"heads, so there is no head {head} in layer {layer}; count both from 0"
        )
    heads = layers[layer].num_heads

    def ablate(to_output: nn.Module, args: tuple[Tensor]) -> Tensor:
        outputs = args[0].unflatten(-1, (heads, -1))
        ablated = torch.arange(heads, device=outputs.device) == head
        return outputs.masked_fill(ablated.unsqueeze(-1), 0.0).flatten(-2)

    with hooking(layers[layer].to_output.register_forward_pre_hook, ablate):
        yield


@refuses_other_kinds
def head_importance(
    model: Transformer, loss: Callable[[Transformer], float]
) -> dict[Kind, Float[Tensor, "layers heads"]]:
    """Return how much `loss(model)` increases when one head is ablated, for each head.

    Michel et al. (2019) and Voita et al. (2019) found that most heads can be removed at little cost.
    But if two heads do the same, each alone looks unimportant: the numbers do not add up.
    """
    whole = loss(model)

    def rise(kind: Kind, layer: int, head: int) -> float:
        with ablate_head(model, kind, layer, head):
            return loss(model) - whole

    return {
        kind: torch.tensor(
            [
                [rise(kind, layer, head) for head in range(attention.num_heads)]
                for layer, attention in enumerate(attentions(model, kind))
            ]
        )
        for kind in KINDS
    }


def attentions(model: Transformer, kind: Kind) -> list[MultiHeadAttention]:
    """Return the attention modules of one kind, from the first layer to the last."""
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not a kind of attention; choose from {', '.join(KINDS)}")
    stack = model.encoder if kind == "encoder" else model.decoder
    name = "cross_attention" if kind == "cross" else "self_attention"
    return [cast(MultiHeadAttention, getattr(layer, name)) for layer in stack.layers]
