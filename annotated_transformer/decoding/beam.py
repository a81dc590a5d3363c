"""Beam search: section 6.1 of the paper, the chapter on decoding."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.config import ModelConfig
from annotated_transformer.decoding.greedy import EXTRA_TOKENS, starting
from annotated_transformer.decoding.kv_cache import MakeDecoder, cached_or_not
from annotated_transformer.decoding.length_penalty import GnmtLength, LengthPenalty
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.inference import suppress_tokens
from annotated_transformer.model.trainable import AnyModel
from annotated_transformer.whole_numbers import is_positive_whole

CANDIDATES = 2**28  # continuations compared in one step: 1 GiB of log-probabilities


@dataclass(frozen=True)
class Hypotheses:
    """The best hypotheses of each source: with `nbest` of them, `nbest` rows per source, best first.

    If a source has fewer, the log-probabilities of the other rows are minus infinity, and their ids
    are padding.

    Attributes:
        ids: The targets, as `greedy_search` returns them.
        log_probs: The sum of the log-probabilities of each target's tokens.
        penalized_log_probs: The same divided by the length penalty, by which hypotheses are ranked.
    """

    ids: Int[Tensor, "batch tgt_tokens"]
    log_probs: Float[Tensor, " batch"]
    penalized_log_probs: Float[Tensor, " batch"]


@refuses_other_kinds
def beam_search(
    model: AnyModel,
    src: Int[Tensor, "batch src_tokens"],
    *,
    beam_size: int = 4,
    nbest: int = 1,
    length_penalty: LengthPenalty | None = None,
    extra_tokens: int = EXTRA_TOKENS,
    decoder: MakeDecoder = cached_or_not,
) -> Hypotheses:
    r"""Return the `nbest` best hypotheses that beam search finds for each source.

    Each step keeps the `beam_size` most likely continuations of a source's hypotheses. A
    hypothesis that ends (with EOS, or at the limit of `generate`) leaves the beam, which is
    narrower from then on, so a beam of 1 is greedy search. Hypotheses are ranked by their
    log-probability divided by `length_penalty`, by default the paper's `GnmtLength()`.

    The search for a source stops early once no hypothesis in its beam can be one of the best. Continuing a
    hypothesis never raises its log-probability, and the penalty never falls with the length.
    So no continuation of a hypothesis with $\log p$ ranks above $\log p / lp(\text{limit})$.

    Any step function will do. A `TrainableModel` computes the steps itself; its prompts have probability 1,
    and are a part of the targets, as with `generate`. For a `Transformer`, `decoder` makes a step function.

    Raises:
        ValueError: If `beam_size` is less than 1 or too large for memory, `nbest` is not between 1 and
            `beam_size`, the length penalty is not finite, the sources do not have two dimensions, or a
            source is empty.
        FloatingPointError: If the model's logits are NaN.
    """
    penalty = check_beam_settings(beam_size, nbest, length_penalty)
    beam_size, nbest = int(beam_size), int(nbest)  # products of NumPy's could overflow
    with starting(model, src, decoder, extra_tokens) as (targets, prompt, limit):
        refuse_unsearchable(model.config, limit, beam_size, penalty)
        beams = Beams(model.config, prompt[:, 0], limit, (beam_size, nbest), penalty)
        while beams.grows():
            targets.select(beams.grow(targets.step(beams.tokens), prompt))
    return beams.result()


def check_beam_settings(beam_size: int, nbest: int, length_penalty: LengthPenalty | None) -> LengthPenalty:
    """Return the length penalty, by default the paper's, if a search with these settings is possible."""
    if not is_positive_whole(beam_size):
        raise ValueError(
            f"beam_size={beam_size!r} keeps no hypothesis; give 1 (greedy search) or more, a whole number"
        )
    check_nbest(nbest, beam_size)
    return GnmtLength() if length_penalty is None else length_penalty


def check_nbest(nbest: int, beam_size: int | None) -> None:
    """Refuse a number of hypotheses that a beam of this size, or of any, does not find."""
    if not is_positive_whole(nbest):
        raise ValueError(f"nbest={nbest!r} is not a number of hypotheses; give a whole number from 1 on")
    if beam_size is not None and int(nbest) > int(beam_size):
        raise ValueError(
            f"nbest={nbest!r} hypotheses are more than beam_size={beam_size!r} finds; "
            f"give beam_size={nbest} or more, or ask for fewer"
        )


def refuse_unsearchable(
    config: ModelConfig, limit: Int[Tensor, " batch"], beam_size: int, penalty: LengthPenalty
) -> None:
    """Refuse a search that does not fit into memory, or has no finite penalty."""
    candidates = len(limit) * beam_size * min(beam_size, config.vocab_size)
    if candidates > CANDIDATES:
        raise ValueError(
            f"beam_size={beam_size} and {len(limit)} sources make {candidates:,} candidates in a step, more "
            f"than {CANDIDATES:,}; give a smaller beam (the paper's is 4), or a smaller batch"
        )
    longest = limit.max().to(torch.get_default_dtype())
    if not 0 < float(penalty(longest)) < math.inf:
        raise ValueError(
            f"the length penalty of {int(longest)} tokens is {float(penalty(longest))}, and it divides "
            f"log-probabilities; give a positive and finite one, such as one with a smaller alpha"
        )


class Beams:
    """The hypotheses of all sources: those that still grow, one per row, and the best finished ones."""

    def __init__(
        self,
        config: ModelConfig,
        tokens: Int[Tensor, " batch"],
        limit: Int[Tensor, " batch"],
        sizes: tuple[int, int],
        length_penalty: LengthPenalty,
    ) -> None:
        beam_size, self.nbest = sizes
        self.config, self.limit, self.length_penalty = config, limit, length_penalty
        self.width = torch.full_like(limit, beam_size)  # of each source's beam
        self.slots = torch.arange(beam_size, device=limit.device)
        # One row per hypothesis: its source, its slot in the beam, its tokens, its log-probability.
        self.source, self.slot = torch.arange(len(limit), device=limit.device), limit * 0
        self.tgt, self.tokens = tokens[:, None][:, :0], tokens
        self.log_prob = torch.zeros(len(limit), device=limit.device)
        # The best finished ones: per source, `nbest` of them, in order.
        self.log_probs = self.log_prob.new_full((len(limit), self.nbest), -math.inf)
        self.penalized, self.ids = self.log_probs, self.tgt[:, None].expand(-1, self.nbest, -1)

    def grow(
        self, logits: Float[Tensor, "rows vocab"], prompt: Int[Tensor, "batch tgt_tokens"]
    ) -> Int[Tensor, " kept"]:
        """Take one step; return the rows that the hypotheses of the next step continue."""
        logits = self.follow(prompt, suppress_tokens(logits, self.config))
        log_prob, row, token = self._continuations(logits)
        tgt = torch.cat([self.tgt[row], token[:, :, None]], dim=2)
        exists = (self.slots < self.width[:, None]) & ~log_prob.isneginf()
        full = tgt.size(2) == self.limit[:, None]
        ended = exists & ((token == self.config.eos_id) | full)
        self._compare(log_prob.masked_fill(~ended, -math.inf), tgt)
        self.width = self.width - ended.sum(dim=1)
        # An upper bound for all continuations, by the argument in `beam_search`.
        bound = log_prob / self.length_penalty(self.limit.to(log_prob))[:, None]
        growing = exists & ~ended
        can_win = (growing & (bound > self.penalized[:, -1:])).any(dim=1)
        growing &= can_win[:, None]
        return self._continue(growing, log_prob, tgt, row)

    def follow(self, prompt: Tensor, logits: Float[Tensor, "rows vocab"]) -> Float[Tensor, "rows vocab"]:
        """Force the next prompt token, with probability 1, on targets that are still in their prompt."""
        if self.tgt.size(1) + 1 >= prompt.size(1):
            return logits
        token = prompt[self.source, self.tgt.size(1) + 1][:, None]
        forced = torch.full_like(logits, -math.inf).scatter(1, token, 0.0)
        return torch.where(token != self.config.pad_id, forced, logits)

    def grows(self) -> bool:
        """Return whether there is another step."""
        return len(self.tokens) > 0

    def result(self) -> Hypotheses:
        """Return the best hypotheses, cut to the length of the longest one."""
        if self.penalized[:, 0].isneginf().any():
            raise FloatingPointError(
                "the model gives every continuation of a target the probability 0 or NaN; "
                "its weights are damaged: train it again, with a lower learning rate"
            )
        ids, log_probs, penalized = (x.flatten(0, 1) for x in (self.ids, self.log_probs, self.penalized))
        longest = int((ids != self.config.pad_id).sum(dim=1).max())
        # Copies, because autograd cannot use tensors from inference mode.
        return Hypotheses(ids[:, :longest].clone(), log_probs.clone(), penalized.clone())

    def _continuations(self, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the most likely continuations of each source: log-probability, row, new token."""
        # No row contributes more than `beam_size` of them.
        log_prob, token = logits.topk(min(len(self.slots), logits.size(1)))
        log_prob = self.log_prob[:, None] + log_prob - logits.logsumexp(1, keepdim=True)
        shape = len(self.limit), len(self.slots)
        beams = log_prob.new_full((*shape, log_prob.size(1)), -math.inf)
        beams[self.source, self.slot] = log_prob
        rows = self.slot.new_zeros(shape)
        rows[self.source, self.slot] = torch.arange(len(logits), device=logits.device)
        best, index = beams.flatten(1).topk(len(self.slots))
        row = rows.gather(1, index // log_prob.size(1))
        return best, row, token[row, index % log_prob.size(1)]

    def _continue(self, growing: Tensor, log_prob: Tensor, tgt: Tensor, row: Tensor) -> Tensor:
        """Keep the hypotheses that grow, and return the rows that they continue."""
        self.source, self.slot = growing.nonzero(as_tuple=True)
        self.log_prob, self.tgt = log_prob[growing], tgt[growing]
        self.tokens = self.tgt[:, -1]
        return row[growing]

    def _compare(self, log_prob: Tensor, tgt: Tensor) -> None:
        """Keep the best hypotheses of each source: of those so far, and those that have just ended."""
        length = log_prob.new_full((), tgt.size(2))
        penalized = torch.cat([self.penalized, log_prob / self.length_penalty(length)], dim=1)
        log_probs = torch.cat([self.log_probs, log_prob], dim=1)
        ids = torch.cat([F.pad(self.ids, (0, 1), value=self.config.pad_id), tgt], dim=1)
        penalized = penalized.masked_fill(penalized.isnan(), -math.inf)
        # Stable: among equals, the first to end stays, and rows without a hypothesis keep their padding.
        rank = penalized.argsort(dim=1, descending=True, stable=True)[:, : self.nbest]
        self.penalized, self.log_probs = penalized.gather(1, rank), log_probs.gather(1, rank)
        self.ids = ids.gather(1, rank[:, :, None].expand(-1, -1, ids.size(2)))
