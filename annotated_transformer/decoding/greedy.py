"""Greedy search, and what other searches share with it: section 6.1 of the paper, the chapter on decoding."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Int
from torch import Tensor

from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding.kv_cache import KeyValueCache, MakeDecoder, StepDecoder
from annotated_transformer.model.id_checks import check_ids
from annotated_transformer.model.inference import evaluating, first_tokens, suppress_tokens
from annotated_transformer.model.transformer import Transformer

EXTRA_TOKENS = 50  # "the maximum output length during inference [is] input length + 50"


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
    config, length = model.config, 0
    with searching(model, src, decoder) as (targets, tokens, limit):
        ids = torch.full((len(src), int(limit.max())), config.pad_id, device=src.device)
        rows = torch.arange(len(src), device=src.device)
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
    return ids[:, :length].clone()  # autograd cannot use tensors from inference mode


@contextmanager
def searching(
    model: Transformer, src: Int[Tensor, "batch src_tokens"], decoder: MakeDecoder
) -> Iterator[tuple[StepDecoder, Int[Tensor, " batch"], Int[Tensor, " batch"]]]:
    """Start a search: yield what computes its steps, the first tokens, and the maximum lengths.

    Dropout and gradients are off inside the `with` block. The errors are those of `length_limits`.
    """
    limit = length_limits(src, model.config)
    with evaluating(model), torch.inference_mode():
        yield decoder(model, src), first_tokens(src, model.config), limit


def length_limits(src: Int[Tensor, "batch src_tokens"], config: TransformerConfig) -> Int[Tensor, " batch"]:
    """Return the maximum length of each target: 50 tokens more than its source.

    Raises:
        TypeError: If the sources are not a tensor of integers.
        ValueError: If they do not have two dimensions, a source is empty, or they are on
            the device "meta", where ids have no values.
    """
    check_ids(src, "source ids")
    if src.is_meta:
        raise ValueError(
            f"source ids of shape {tuple(src.shape)} are on the device 'meta' and have no values; "
            f"give ids on the model's device"
        )
    real = src != config.pad_id
    if not len(src):
        raise ValueError(f"src of shape {tuple(src.shape)} has no sources; give at least one")
    if not real.any(dim=1).all():
        raise ValueError(
            f"src of shape {tuple(src.shape)} has an empty source: every row needs a "
            f"token that is not padding (pad_id={config.pad_id}), at least EOS"
        )
    return (real.sum(dim=1) + EXTRA_TOKENS).clamp(max=config.max_length)


def refuse_nan(values: Tensor) -> None:
    """Refuse logits or probabilities of a model with damaged weights.

    Raises:
        FloatingPointError: If one of them is NaN.
    """
    if values.isnan().any():
        raise FloatingPointError(
            "the model's logits are NaN; its weights are damaged: train it again, with a lower learning rate"
        )
