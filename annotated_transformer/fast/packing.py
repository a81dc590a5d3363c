"""Sentences side by side in one row of tokens, instead of one below the other with padding.

For training on a GPU: the chapter on training. No product and no norm is spent on padding, and the row is
filled up to one of a few lengths, because a GPU's work can only be recorded for tensors of fixed shapes.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from annotated_transformer.fast.recording import power_of_2

UNIT = 8  # tokens: matrix products are faster if their sizes are multiples of it
SHORTEST = 16  # tokens that the longest sequence counts as, at least

try:
    from torch.nn.attention import varlen
except ImportError:  # PyTorch 2.9 or older
    KERNEL = None
else:
    KERNEL = varlen.varlen_attn


@dataclass(frozen=True)
class Sequences:
    """Sequences side by side, without padding between them.

    The last tokens may be padding, which is cut into sequences of its own, and the last sequences may be
    empty. So every token belongs to one sequence, and none of them attends to nothing.

    Attributes:
        ids: The tokens of all sequences.
        starts: Where each sequence starts, and at the end, the number of tokens.
        longest: No sequence has more tokens than that.
    """

    ids: Int[Tensor, " tokens"]
    starts: Int[Tensor, " boundaries"]
    longest: int

    @cached_property
    def rows(self) -> Int[Tensor, " tokens"]:
        """Return the sequence that each token belongs to."""
        tokens = torch.arange(len(self.ids), device=self.ids.device, dtype=self.starts.dtype)
        return torch.searchsorted(self.starts[1:], tokens, right=True)

    @cached_property
    def positions(self) -> Int[Tensor, " tokens"]:
        """Return the position of each token in its sequence."""
        return torch.arange(len(self.ids), device=self.ids.device) - self.starts[self.rows]

    def padded(self, x: Float[Tensor, "tokens heads width"]) -> Float[Tensor, "rows heads capacity width"]:
        """Return a row for each sequence; what lies behind its last token is arbitrary, but finite."""
        places = self.starts[:-1, None] + torch.arange(self.longest, device=x.device)
        return x[places % len(x)].transpose(1, 2)

    @cached_property
    def mask(self) -> Bool[Tensor, "rows 1 1 capacity"]:
        """Return where `padded` has tokens, and True for the first place of an empty sequence."""
        places = torch.arange(self.longest, device=self.starts.device)
        return (places < self.starts.diff()[:, None].clamp(min=1))[:, None, None]

    def side_by_side(
        self, x: Float[Tensor, "rows heads capacity width"]
    ) -> Float[Tensor, "tokens heads width"]:
        """Return the tokens of all rows, which is the inverse of `padded`."""
        return x.transpose(1, 2)[self.rows, self.positions]


@dataclass(frozen=True)
class PackedBatch:
    """A batch of pairs as two rows of tokens.

    Sequence i of the one is the source of sequence i of the other.

    Attributes:
        src: The sources.
        tgt: The inputs of the decoder.
        labels: The tokens to predict, and padding where there is none.
    """

    src: Sequences
    tgt: Sequences
    labels: Int[Tensor, " tokens"]

    def tensors(self) -> tuple[Tensor, ...]:
        """Return all tensors, in an order of their own."""
        return self.src.ids, self.src.starts, self.tgt.ids, self.tgt.starts, self.labels

    def shape(self) -> tuple[int, ...]:
        """Return what two batches must have in common for the same operations of the same sizes."""
        return *(len(x) for x in self.tensors()), self.src.longest, self.tgt.longest

    def with_tensors(self, tensors: tuple[Tensor, ...]) -> "PackedBatch":
        """Return a batch of the same shape with other tensors, in the order of `tensors`."""
        src_ids, src_starts, tgt_ids, tgt_starts, labels = tensors
        src = replace(self.src, ids=src_ids, starts=src_starts)
        return PackedBatch(src, replace(self.tgt, ids=tgt_ids, starts=tgt_starts), labels)

    def to(self, device: torch.device) -> "PackedBatch":
        """Return the same batch on `device`; the CPU does not wait for the copies to a GPU."""
        if self.labels.device == device:
            return self
        moved = (x.pin_memory().to(device, non_blocking=True) for x in self.tensors())
        return self.with_tensors(tuple(moved))


def pack(batch: Any, *, unit: int | None = None) -> PackedBatch:
    """Return a `Batch`, which must be on the CPU, as two rows of tokens.

    With a `unit`, there are few shapes: both rows are filled up with padding to a multiple of `unit` tokens,
    and the number of sequences and the length of the longest are rounded up to powers of two.
    """
    rounded = power_of_2 if unit else int
    unit = unit or UNIT
    real = [batch.src != batch.pad_id, batch.labels != batch.pad_id]
    lengths = [own.sum(dim=1) for own in real]
    longest = [max(rounded(int(own.max())), SHORTEST) for own in lengths]
    # at least one token each, and as many pieces of padding on one side as on the other
    rest = [unit - int(own.sum()) % unit for own in lengths]
    while min(rest) < (pieces := max(-(-n // most) for n, most in zip(rest, longest, strict=True))):
        rest = [n + unit * (n < pieces) for n in rest]
    sequences = rounded(len(batch.src) + pieces)
    sides = []
    for ids, own, count, most, more in zip(
        (batch.src, batch.decoder_input), real, lengths, longest, rest, strict=True
    ):
        cut = torch.full((pieces,), more // pieces) + (torch.arange(pieces) < more % pieces)
        ends = torch.cat([count, cut]).cumsum(0)
        starts = F.pad(F.pad(ends, (1, 0)), (0, sequences - len(ends)), value=int(ends[-1]))
        sides.append(Sequences(F.pad(ids[own], (0, more), value=batch.pad_id), starts.int(), most))
    labels = F.pad(batch.labels[real[1]], (0, rest[1]), value=batch.pad_id)
    src, tgt = sides
    return PackedBatch(src, tgt, labels)


def packed_attention(
    query: Float[Tensor, "queries heads d_k"],
    key: Float[Tensor, "keys heads d_k"],
    value: Float[Tensor, "keys heads d_v"],
    queries: Sequences,
    keys: Sequences,
    *,
    causal: bool = False,
) -> Float[Tensor, "queries heads d_v"]:
    """Return attention in which a token of a sequence attends to the tokens of its counterpart alone.

    If `causal`, both are the same sequences, and none attends to a later token. In half precision on a GPU,
    PyTorch's kernel for sequences of different lengths computes it. Otherwise, each sequence becomes a row
    with padding, and PyTorch's kernel for these does, with a mask of one number for each key.
    """
    if _has_kernel(query, value):
        window = (-1, 0) if causal else (-1, -1)
        lengths = queries.starts, keys.starts, queries.longest, keys.longest
        return cast(Tensor, cast(Any, KERNEL)(query, key, value, *lengths, window_size=window))
    mask = None if causal else keys.mask  # padding comes last, so a causal mask hides it from tokens
    padded = F.scaled_dot_product_attention(
        queries.padded(query), keys.padded(key), keys.padded(value), attn_mask=mask, is_causal=causal
    )
    return queries.side_by_side(padded)


def _has_kernel(query: Tensor, value: Tensor) -> bool:
    half = query.is_cuda and query.dtype in (torch.bfloat16, torch.float16)
    width = query.size(-1)
    known = "window_size" in (getattr(KERNEL, "__kwdefaults__", None) or {})  # from PyTorch 2.11 on
    fits = width == value.size(-1) and width % 8 == 0 and width <= 256
    return known and half and fits and torch.cuda.get_device_capability(query.device) >= (8, 0)
