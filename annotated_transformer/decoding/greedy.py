"""Greedy search, and the loop that it shares with sampling: section 6.1, the chapter on decoding."""

from collections.abc import Callable

import torch
from jaxtyping import Int
from torch import Tensor

from annotated_transformer.decoding.kv_cache import KeyValueCache, MakeDecoder
from annotated_transformer.decoding.length_limits import length_limits
from annotated_transformer.model.inference import (
    evaluating,
    first_tokens,
    suppress_tokens,
)
from annotated_transformer.model.transformer import Transformer


def greedy_search(
    model: Transformer,
    src: Int[Tensor, "batch src_tokens"],
    *,
    decoder: MakeDecoder = KeyValueCache,
) -> Int[Tensor, "batch tgt_tokens"]:
    """Return, for each source, the target that has the most likely token at every step.

    See `generate` for the form of a target and for the errors.
    """
    return generate(model, src, lambda logits: logits.argmax(dim=-1), decoder)


def generate(
    model: Transformer,
    src: Int[Tensor, "batch src_tokens"],
    choose: Callable[[Tensor], Tensor],
    decoder: MakeDecoder = KeyValueCache,
) -> Int[Tensor, "batch tgt_tokens"]:
    """Return, for each source, the target whose tokens `choose` chooses one by one.

    `choose` receives the logits of the next token. A target has no BOS. It ends with EOS, or
    without EOS at its limit: 50 tokens more than its source, or the number of positions of the
    model. Padding fills the rest. Results do not depend on batching. Dropout is off.

    Raises:
        TypeError: If the sources are not a tensor of integers.
        ValueError: If they do not have two dimensions, or a source is empty or too long.
        FloatingPointError: If the model's logits are NaN.
    """
    config, limit = model.config, length_limits(src, model.config)
    ids = torch.full((len(src), int(limit.max())), config.pad_id, device=src.device)
    rows, tokens = torch.arange(len(src), device=src.device), first_tokens(src, model.config)
    length = 0
    with evaluating(model), torch.inference_mode():
        targets = decoder(model, src)
        while len(rows):
            logits = suppress_tokens(targets.step(tokens), config)
            tokens = choose(logits)
            ids[rows, length] = tokens
            length += 1
            running = (tokens != config.eos_id) & (length < limit[rows])
            if not running.all():
                refuse_nan(logits.gather(1, tokens[:, None]))  # once NaN, the logits of a target stay NaN
                rows, tokens = rows[running], tokens[running]
                targets.select(running.nonzero().flatten())
    return ids[:, :length]


def refuse_nan(values: Tensor) -> None:
    """Refuse logits or probabilities of a model with damaged weights.

    Raises:
        FloatingPointError: If one of them is NaN.
    """
    if values.isnan().any():
        raise FloatingPointError(
            "the model's logits are NaN; its weights are damaged: train it again, with a lower learning rate"
        )
