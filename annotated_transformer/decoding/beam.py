"""Search that keeps several hypotheses: section 6.1, the chapter on decoding."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding.greedy import length_limits
from annotated_transformer.decoding.kv_cache import KeyValueCache, MakeDecoder
from annotated_transformer.decoding.length_penalty import GnmtLength, LengthPenalty
from annotated_transformer.model.evaluation_mode import evaluating
from annotated_transformer.model.next_token import first_tokens, suppress_tokens
from annotated_transformer.model.transformer import Transformer

CANDIDATES = 2**28  # continuations that are compared in one step: 1 GiB of scores


@dataclass(frozen=True)
class Hypotheses:
    """The best target found for each source, in `ids` as `greedy_search` returns them.

    `log_probs` has the sum of the log-probabilities of each target's tokens, `scores` the
    same divided by the length penalty: what hypotheses were compared by.
    """

    ids: Int[Tensor, "batch tgt_tokens"]
    log_probs: Float[Tensor, " batch"]
    scores: Float[Tensor, " batch"]


def beam_search(
    model: Transformer,
    src: Int[Tensor, "batch src_tokens"],
    *,
    beam_size: int = 4,
    length_penalty: LengthPenalty | None = None,
    decoder: MakeDecoder = KeyValueCache,
) -> Hypotheses:
    r"""Return, for each source, the best-scored target that a beam of hypotheses finds.

    At each step the `beam_size` likeliest continuations of a source's hypotheses are kept.
    One that ends (with EOS, or at the limit of `generate`) leaves the beam, which is
    narrower from then on: a beam of 1 is greedy search. The score is the log-probability
    divided by `length_penalty`, the paper's `GnmtLength()` unless given.

    The search for a source stops early once no hypothesis in its beam can win. A
    log-probability only falls and the divisor never does, so of a hypothesis with $\log p$
    no continuation scores above $\log p / lp(\text{limit})$.

    Raises:
        ValueError: If `beam_size` is below 1 or too large for memory, the length penalty is not
            finite, or a source is empty.
        FloatingPointError: If the model's scores are not numbers.
    """
    if not isinstance(beam_size, int) or beam_size < 1:
        raise ValueError(
            f"beam_size={beam_size} keeps no hypothesis; give 1 (greedy search) or more, a whole number"
        )
    limit, penalty = length_limits(model, src), length_penalty or GnmtLength()
    _refuse_unsearchable(model.config, limit, beam_size, penalty)
    with evaluating(model), torch.inference_mode():
        targets = decoder(model, src)
        beams = _Beams(model.config, first_tokens(src, model.config), limit, beam_size, penalty)
        while len(beams.tokens):
            targets.select(beams.grow(targets.step(beams.tokens)))
    return beams.result()


def _refuse_unsearchable(
    config: TransformerConfig, limit: Int[Tensor, " batch"], beam_size: int, penalty: LengthPenalty
) -> None:
    candidates = len(limit) * beam_size * min(beam_size, config.vocab_size)
    if candidates > CANDIDATES:
        raise ValueError(
            f"beam_size={beam_size} and {len(limit)} sources make {candidates:,} candidates a step, more "
            f"than {CANDIDATES:,}; give a smaller beam, the paper's is 4, or fewer sources at once"
        )
    longest = limit.max().to(torch.get_default_dtype())
    if not 0 < float(penalty(longest)) < math.inf:
        raise ValueError(
            f"the length penalty of {int(longest)} tokens is {float(penalty(longest))}, and scores are "
            f"divided by it; give one that is positive and finite, such as a smaller alpha"
        )


class _Beams:
    """The hypotheses of all sources: those that grow, one to a row, and the best ended."""

    def __init__(
        self,
        config: TransformerConfig,
        tokens: Int[Tensor, " batch"],
        limit: Int[Tensor, " batch"],
        beam_size: int,
        length_penalty: LengthPenalty,
    ) -> None:
        self.config, self.limit, self.length_penalty = config, limit, length_penalty
        self.width = torch.full_like(limit, beam_size)  # of each source's beam
        self.slots = torch.arange(beam_size, device=limit.device)
        # One row a source: its number, its place in the beam, what it has said, how likely.
        self.source, self.slot = torch.arange(len(limit), device=limit.device), limit * 0
        self.tgt, self.tokens = tokens[:, None][:, :0], tokens
        self.log_prob = torch.zeros(len(limit), device=limit.device)
        nothing = torch.full_like(self.log_prob, -math.inf)
        self.best = Hypotheses(self.tgt, nothing, nothing)

    def grow(self, logits: Float[Tensor, "rows vocab"]) -> Int[Tensor, " kept"]:
        """Take one step; return the rows that the hypotheses now growing continue."""
        log_prob, row, token = self._continuations(suppress_tokens(logits, self.config))
        tgt = torch.cat([self.tgt[row], token[:, :, None]], dim=2)
        exists = (self.slots < self.width[:, None]) & ~log_prob.isneginf()
        full = tgt.size(2) == self.limit[:, None]
        ended = exists & ((token == self.config.eos_id) | full)
        self._compare(log_prob.masked_fill(~ended, -math.inf), tgt)
        self.width = self.width - ended.sum(dim=1)
        # The most that a continuation can score, by the argument in `beam_search`.
        hope = log_prob / self.length_penalty(self.limit.to(log_prob))[:, None]
        growing = exists & ~ended
        can_win = (growing & (hope > self.best.scores[:, None])).any(dim=1)
        growing &= can_win[:, None]
        self.source, self.slot = growing.nonzero(as_tuple=True)
        self.log_prob, self.tgt = log_prob[growing], tgt[growing]
        self.tokens = token[growing]
        return row[growing]

    def result(self) -> Hypotheses:
        """Return the best targets, without the padding of longer ones that lost."""
        if self.best.scores.isneginf().any():
            raise FloatingPointError(
                "the model gives every continuation of a target the probability 0 or NaN; "
                "its weights are damaged: train it again, with a lower learning rate"
            )
        longest = int((self.best.ids != self.config.pad_id).sum(dim=1).max())
        ids, log_probs, scores = self.best.ids, self.best.log_probs, self.best.scores
        # Copies, for inference mode marks its tensors as unfit for training.
        return Hypotheses(ids[:, :longest].clone(), log_probs.clone(), scores.clone())

    def _continuations(self, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return each source's likeliest: log-probability, row it continues, new token."""
        # No row can give its beam more than `beam_size` of them.
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

    def _compare(self, log_prob: Tensor, tgt: Tensor) -> None:
        """Let the best of those that ended now replace an older one that it beats."""
        length = log_prob.new_tensor(tgt.size(2))
        score, slot = (log_prob / self.length_penalty(length)).max(dim=1)
        each = torch.arange(len(tgt), device=tgt.device)
        old, better = self.best, score > self.best.scores
        self.best = Hypotheses(
            torch.where(
                better[:, None],
                tgt[each, slot],
                F.pad(old.ids, (0, 1), value=self.config.pad_id),
            ),
            torch.where(better, log_prob[each, slot], old.log_probs),
            torch.where(better, score, old.scores),
        )
