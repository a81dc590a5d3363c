"""Exact search for the most likely target, without a beam: the chapter on decoding.

This is a departure from the paper. It shows what beam search misses.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from annotated_transformer.decoding.beam import beam_search
from annotated_transformer.decoding.greedy import searching
from annotated_transformer.decoding.kv_cache import KeyValueCache, MakeDecoder
from annotated_transformer.decoding.length_penalty import PlainLength
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.inference import refuse_nan, suppress_tokens
from annotated_transformer.model.transformer import Transformer


@dataclass(frozen=True)
class MostLikely:
    """The most likely target of a source.

    Attributes:
        ids: The target, without BOS.
        log_prob: The sum of the log-probabilities of its tokens.
        prefixes: How many prefixes were continued at each step.
    """

    ids: Int[Tensor, " tgt_tokens"]
    log_prob: float
    prefixes: list[int]


@refuses_other_kinds
def exact_search(
    model: Transformer,
    src: Int[Tensor, "1 src_tokens"],
    *,
    most_prefixes: int = 4096,
    decoder: MakeDecoder = KeyValueCache,
) -> MostLikely:
    r"""Return the most likely of all targets.

    Beam search finds a target of some probability $p$. A continuation is never more
    likely than its prefix, so only prefixes more likely than $p$ can lead to a better
    target. There are fewer than $1/p$ of them at each length, because no target has two
    different prefixes of the same length.

    Raises:
        ValueError: If there is more than one source, or more than `most_prefixes`
            prefixes of a length have to be continued.
        FloatingPointError: If the model's logits are NaN.
    """
    if len(src) != 1:
        raise ValueError(f"src has {len(src)} sources; exact search takes one")
    start = beam_search(model, src, length_penalty=PlainLength(0.0), decoder=decoder)
    ids, best, prefixes = start.ids[0], start.log_probs[0], []
    with searching(model, src, decoder) as (targets, tokens, limit):
        tgt, log_prob = src[:, :0], best.new_zeros(1)
        while len(tokens):
            _refuse_too_many(tokens, tgt.size(1), most_prefixes)
            prefixes.append(len(tokens))
            logits = suppress_tokens(targets.step(tokens), model.config)
            refuse_nan(logits)
            continued = log_prob[:, None] + logits.log_softmax(dim=-1)
            rows, tokens = (continued > best).nonzero(as_tuple=True)
            tgt = torch.cat([tgt[rows], tokens[:, None]], dim=1)
            log_prob = continued[rows, tokens]
            ended = (tokens == model.config.eos_id) | (tgt.size(1) == limit)
            if ended.any():
                place = log_prob.masked_fill(~ended, -torch.inf).argmax()
                ids, best = tgt[place], log_prob[place]
            growing = ~ended & (log_prob > best)
            tgt, log_prob, tokens = tgt[growing], log_prob[growing], tokens[growing]
            targets.select(rows[growing])
    return MostLikely(ids.clone(), float(best), prefixes)


def _refuse_too_many(prefixes: Tensor, length: int, most: int) -> None:
    if len(prefixes) > most:
        raise ValueError(
            f"{len(prefixes):,} prefixes of {length} tokens are more likely than the best target so far, "
            f"more than most_prefixes={most:,}; give a larger number, or a source whose translation is more "
            f"certain"
        )
