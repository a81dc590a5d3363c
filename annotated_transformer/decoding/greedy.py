"""From a source to a target, token by token: section 6.1, the chapter on decoding."""

from collections.abc import Callable

import torch
from jaxtyping import Int
from torch import Tensor

from annotated_transformer.decoding.kv_cache import KeyValueCache, MakeDecoder
from annotated_transformer.model.embeddings import check_ids
from annotated_transformer.model.evaluation_mode import evaluating
from annotated_transformer.model.next_token import first_tokens, suppress_tokens
from annotated_transformer.model.transformer import Transformer

EXTRA_TOKENS = 50  # "the maximum output length during inference [is] input length + 50"


def greedy_search(
    model: Transformer,
    src: Int[Tensor, "batch src_tokens"],
    *,
    decoder: MakeDecoder = KeyValueCache,
) -> Int[Tensor, "batch tgt_tokens"]:
    """Return, for each source, the target that takes the likeliest token at every step.

    See `generate` for what a target is.
    """
    return generate(model, src, lambda logits: logits.argmax(dim=-1), decoder)


def generate(
    model: Transformer,
    src: Int[Tensor, "batch src_tokens"],
    choose: Callable[[Tensor], Tensor],
    decoder: MakeDecoder = KeyValueCache,
) -> Int[Tensor, "batch tgt_tokens"]:
    """Return, for each source, the target that `choose` makes, token by token.

    `choose` gets the scores of the next token. A target has no BOS. It ends with EOS, or
    without one where it has reached the length of its own source plus 50, or the longest
    that the model has positions for; padding fills the rest. So a sentence is translated
    alike alone and in company. Dropout is off meanwhile.
    """
    config, limit = model.config, length_limits(model, src)
    found = torch.full_like(src[:, :1], config.pad_id).repeat(1, int(limit.max()))
    rows, tokens = torch.arange(len(src), device=src.device), first_tokens(src, model.config)
    length = 0
    with evaluating(model), torch.inference_mode():
        targets = decoder(model, src)
        while len(rows):
            tokens = choose(suppress_tokens(targets.step(tokens), config))
            found[rows, length] = tokens
            length += 1
            running = (tokens != config.eos_id) & (length < limit[rows])
            if not running.all():
                rows, tokens = rows[running], tokens[running]
                targets.select(running.nonzero().flatten())
    return found[:, :length]


def length_limits(model: Transformer, src: Int[Tensor, "batch src_tokens"]) -> Int[Tensor, " batch"]:
    """Return the most tokens that each target may have: its source's, and 50 more.

    Raises:
        TypeError: If the sources are not a tensor of whole numbers.
        ValueError: If they have not two dimensions, or a source is empty.
    """
    check_ids(src, "source ids")
    real = src != model.config.pad_id
    if not src.numel() or not real.any(dim=1).all():
        raise ValueError(
            f"src of shape {tuple(src.shape)} holds an empty source: every row needs a "
            f"token that is not padding (pad_id={model.config.pad_id}), EOS at least"
        )
    return (real.sum(dim=1) + EXTRA_TOKENS).clamp(max=model.config.max_length)
