"""Search by another library: what a `Translator` needs of an engine, and what it does with the results.

An engine has a copy of the model, and searches by itself. What its hypotheses are ranked by, how long they
may be, and what becomes of them is the same as with `greedy_search` and `beam_search`.
"""

import math
from itertools import zip_longest
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding.beam import Hypotheses, check_beam_settings, refuse_unsearchable
from annotated_transformer.decoding.greedy import length_limits
from annotated_transformer.decoding.length_penalty import LengthPenalty
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.id_checks import warn_without_eos


class Candidate(NamedTuple):
    """A hypothesis that an engine found.

    Attributes:
        ids: The target, without BOS. It ends with EOS, unless it was cut off at its limit.
        log_prob: The sum of the log-probabilities of these tokens, where PAD and BOS have probability 0.
    """

    ids: list[int]
    log_prob: float


@runtime_checkable
class Engine(Protocol):
    """A library that searches with its own copy of a model."""

    vocab_size: int

    def search(self, sources: list[list[int]], *, limits: list[int], beam_size: int) -> list[list[Candidate]]:
        """Return the hypotheses that a beam of this size finds for each source; a beam of 1 is greedy search.

        Sources are ids with EOS and without padding. No hypothesis of a source is longer than its limit.
        """


@runtime_checkable
class Exported(Protocol):
    """An engine or a decoder that knows from what it was exported.

    Attributes:
        vocabulary: The stored string of each id, as `Tokenizer.vocabulary()` returns them; None if it was
            made from a model in memory.
        languages: The languages to translate from and into; None if they are not known.
    """

    vocabulary: list[str] | None
    languages: tuple[str, str] | None


def refuse_other_export(
    name: str, given: Exported, vocabulary: list[str], languages: tuple[str, str] | None
) -> None:
    """Refuse what was exported from a model with another tokenizer, or for other languages."""
    stored = vocabulary if given.vocabulary is None else given.vocabulary
    for id_, (theirs, ours) in enumerate(zip_longest(stored, vocabulary)):
        if theirs != ours:
            raise ValueError(
                f"{name} was exported with another tokenizer: token {id_} is {theirs!r} there, and {ours!r} "
                f"in this one; give {name} the folder that was exported from this model"
            )
    its_own = given.languages
    if its_own is not None and languages is not None and its_own != tuple(languages):
        raise ValueError(
            f"{name} translates from {its_own[0]} into {its_own[1]}, and this model from "
            f"{languages[0]} into {languages[1]}; give {name} the folder that was exported from this model"
        )


@refuses_other_kinds
def engine_search(
    engine: Engine,
    config: TransformerConfig,
    src: Int[Tensor, "batch src_tokens"],
    *,
    beam_size: int = 4,
    nbest: int = 1,
    length_penalty: LengthPenalty | None = None,
) -> Hypotheses:
    """Return the `nbest` best of the hypotheses that an engine finds for each source, as `beam_search` does.

    They are ranked by their log-probability divided by `length_penalty`, by default the paper's. The engine
    decides when its search for a source ends, so it may find other hypotheses than `beam_search`.
    """
    penalty = check_beam_settings(beam_size, nbest, length_penalty)
    limit = length_limits(src, config)
    warn_without_eos(src, config)
    refuse_unsearchable(config, limit, beam_size, penalty)
    sources = [[id_ for id_ in row if id_ != config.pad_id] for row in src.tolist()]
    candidates = engine.search(sources, limits=limit.tolist(), beam_size=beam_size)
    rows = [
        row
        for _, of_source in zip(sources, candidates, strict=True)
        for row in _ranked(of_source, penalty, nbest)
    ]
    longest = max(len(ids) for ids, _, _ in rows)
    ids = [target + [config.pad_id] * (longest - len(target)) for target, _, _ in rows]
    log_probs, penalized = (torch.tensor([row[i] for row in rows], device=src.device) for i in (1, 2))
    return Hypotheses(torch.tensor(ids, device=src.device), log_probs, penalized)


def _ranked(
    candidates: list[Candidate], penalty: LengthPenalty, nbest: int
) -> list[tuple[list[int], float, float]]:
    """Return the ids, the log-probability and its penalized value of the best; -inf where there are fewer."""
    rows = [
        (ids, log_prob, log_prob / float(penalty(torch.tensor(float(len(ids))))))
        for ids, log_prob in candidates
        if log_prob > -math.inf or math.isnan(log_prob)
    ]
    if not rows or any(math.isnan(log_prob) for _, log_prob, _ in rows):
        raise FloatingPointError(
            "the engine gives every continuation of a target the probability 0 or NaN; its weights are "
            "damaged: train the model again, with a lower learning rate, or export it in float32"
        )
    missing: tuple[list[int], float, float] = ([], -math.inf, -math.inf)
    return (sorted(rows, key=lambda row: -row[2]) + [missing] * nbest)[:nbest]
