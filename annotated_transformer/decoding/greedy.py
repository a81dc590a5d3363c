"""Greedy search, and what other searches share with it: section 6.1 of the paper, the chapter on decoding."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Int
from torch import Tensor

from annotated_transformer.config import ModelConfig
from annotated_transformer.decoding.kv_cache import MakeDecoder, StepDecoder, cached_or_not
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.id_checks import (
    check_ids,
    check_step,
    padding_between_tokens,
    warn_without_bos,
    warn_without_eos,
)
from annotated_transformer.model.inference import evaluating, first_tokens, grow_targets
from annotated_transformer.model.trainable import AnyModel, is_transformer
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.whole_numbers import is_positive_whole

EXTRA_TOKENS = 50  # "the maximum output length during inference [is] input length + 50"


@refuses_other_kinds
def greedy_search(
    model: AnyModel,
    src: Int[Tensor, "batch src_tokens"],
    *,
    extra_tokens: int = EXTRA_TOKENS,
    decoder: MakeDecoder = cached_or_not,
) -> Int[Tensor, "batch tgt_tokens"]:
    """Return, for each source, the target that has the most likely token at every step.

    See `generate` for the form of a target and for the errors.
    """
    return generate(model, src, lambda logits: logits.argmax(dim=-1), decoder, extra_tokens)


def generate(
    model: AnyModel,
    src: Int[Tensor, "batch src_tokens"],
    choose: Callable[[Tensor], Tensor],
    decoder: MakeDecoder = cached_or_not,
    extra_tokens: int = EXTRA_TOKENS,
) -> Int[Tensor, "batch tgt_tokens"]:
    """Return, for each source, the target whose tokens `choose` chooses one by one.

    `choose` receives the logits of the next token.

    A target has no BOS. It ends with EOS, or without EOS at its limit: `extra_tokens` more than its source,
    or the number of positions of the model. Padding fills the rest. Results do not depend on batching.
    Dropout is off. A source without EOS, or a prompt without BOS, gets a warning: it is right only for a
    model that was trained without.

    A `TrainableModel` computes the steps itself (`decoder` is for a `Transformer`), and may give a target's
    first tokens. Those of a language model are `src`, which begins with BOS and is a part of the target.

    Raises:
        ValueError: If they do not have two dimensions, a source is empty or has padding before a token, or
            `extra_tokens` is not a positive whole number.
        FloatingPointError: If the model's logits are NaN.
    """
    with starting(model, src, decoder, extra_tokens) as (targets, prompt, limit):
        ids = grow_targets(targets, prompt, limit, choose, model.config)
    return ids.clone()  # autograd cannot use tensors from inference mode


@contextmanager
def searching(
    model: Transformer, src: Int[Tensor, "batch src_tokens"], decoder: MakeDecoder
) -> Iterator[tuple[StepDecoder, Int[Tensor, " batch"], Int[Tensor, " batch"]]]:
    """Start a search: yield what computes its steps, the first tokens, and the maximum lengths.

    Dropout and gradients are off inside the `with` block.
    """
    with starting(model, src, decoder) as (targets, prompt, limit):
        yield targets, prompt[:, 0], limit


@contextmanager
def starting(
    model: AnyModel,
    src: Int[Tensor, "batch src_tokens"],
    decoder: MakeDecoder,
    extra_tokens: int = EXTRA_TOKENS,
) -> Iterator[tuple[StepDecoder, Int[Tensor, "batch tgt_tokens"], Int[Tensor, " batch"]]]:
    """Yield what computes the steps, the tokens that targets begin with, and the maximum lengths.

    Dropout and gradients are off inside the `with` block.
    """
    limit = length_limits(src, model.config, extra_tokens)
    padding_between_tokens(model, src, src[:, :0])
    with evaluating(model), torch.inference_mode():
        if not is_transformer(model):
            targets, prompt = model.start(src)
            warn_without_bos(prompt, model.config)
            lengths = (prompt != model.config.pad_id).sum(dim=1)  # with BOS, which is no part of a target
            check_step(prompt[:, 0], len(src), int(lengths.max()) - 1, model.config.max_length)
            yield targets, prompt, limit
            return
        warn_without_eos(src, model.config)
        yield decoder(model, src), first_tokens(src, model.config)[:, None], limit


def length_limits(
    src: Int[Tensor, "batch src_tokens"], config: ModelConfig, extra_tokens: int = EXTRA_TOKENS
) -> Int[Tensor, " batch"]:
    """Return the maximum length of each target: `extra_tokens` more than its source."""
    if not is_positive_whole(extra_tokens):
        raise ValueError(f"extra_tokens={extra_tokens} leaves no token to generate; give 1 or more")
    check_ids(src, "source ids")
    real = src != config.pad_id
    if not len(src):
        raise ValueError(f"src of shape {tuple(src.shape)} has no sources; give at least one")
    if not real.any(dim=1).all():
        raise ValueError(
            f"src of shape {tuple(src.shape)} has an empty source: every row needs a "
            f"token that is not padding (pad_id={config.pad_id}), at least EOS"
        )
    begins = (src[:, 0] == config.bos_id).int()  # as a prompt does, whose first BOS is no part of the target
    return (real.sum(dim=1) - begins + int(extra_tokens)).clamp(max=config.max_length)
