"""Batches of pairs of similar length, with padding: section 5.1 of the paper, the chapter on training."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Int
from torch import Tensor

from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.text.sentence_pairs import SentencePair
from annotated_transformer.text.tokenizer import PAD_ID, Tokenizer
from annotated_transformer.whole_numbers import whole_number

# Source ids … EOS, and BOS … target ids … EOS. A language model has no source, and a classifier one target.
Pair = tuple[list[int], list[int]]


@refuses_other_kinds
def encode_pairs(tokenizer: Tokenizer, texts: list[SentencePair]) -> list[Pair]:
    """Return the ids of each pair of texts: source … EOS, and BOS … target … EOS.

    Raises:
        ValueError: If a source begins with the code of a language that the tokenizer does not have.
    """
    first_rows = dict[str, int]()
    for row, (source, _) in enumerate(texts, start=1):
        first_rows.setdefault(tokenizer.split_code(source)[0], row)
    for code, row in first_rows.items():
        if problem := tokenizer.code_problem(code):
            raise ValueError(f"the source of pair {row} of {len(texts)} {problem}")
    src, tgt = ([pair[side] for pair in texts] for side in (0, 1))
    return list(zip(tokenizer.encode_source(src), tokenizer.encode_target(tgt), strict=True))


@dataclass(frozen=True)
class Batch:
    """Pairs of a corpus as two padded tensors; `rows` has the indices of the pairs."""

    rows: list[int]
    src: Int[Tensor, "batch src_tokens"]
    tgt: Int[Tensor, "batch tgt_tokens"]
    pad_id: int = PAD_ID

    @property
    def decoder_input(self) -> Int[Tensor, "batch label_tokens"]:
        """Return the input of the decoder: the target from BOS on, *shifted right* relative to `labels`.

        The last column is dropped. It has the EOS of the longest targets and the padding of the others,
        which the decoder does not need as input. Every EOS remains in `labels`.
        """
        return self.tgt[:, :-1]

    @property
    def labels(self) -> Int[Tensor, "batch label_tokens"]:
        """Return the tokens to predict: at each position, the token after the decoder's input."""
        return self.tgt[:, 1:]

    @property
    def num_labels(self) -> int:
        """Count the labels that are not padding."""
        return int((self.labels != self.pad_id).sum())

    def to(self, device: torch.device) -> "Batch":
        """Return the same batch on `device`."""
        return replace(self, src=self.src.to(device), tgt=self.tgt.to(device))


@dataclass(frozen=True)
class ClassBatch(Batch):
    """Sentences with one class each, from pairs `(ids, [class])`: the label of a row is its class."""

    @property
    def classes(self) -> Int[Tensor, " batch"]:
        """Return the class of each row, a number from 0 on."""
        if self.tgt.size(1) != 1:
            raise ValueError(
                f"a pair among {[row + 1 for row in self.rows[:9]]} has {self.tgt.size(1)} classes; "
                f"give each one: (ids, [class])"
            )
        return self.tgt[:, 0]

    @property
    def num_labels(self) -> int:
        """Count the rows."""
        return len(self.tgt)


@refuses_other_kinds
def pad(sequences: list[list[int]], *, pad_id: int = PAD_ID) -> Int[Tensor, "batch tokens"]:
    """Return the sequences as one tensor, padded to the length of the longest."""
    if not sequences:
        raise ValueError("there are no sequences to pad; give at least one")
    width = max(len(sequence) for sequence in sequences)
    padded = [sequence + [pad_id] * (width - len(sequence)) for sequence in sequences]
    return torch.tensor(padded, dtype=torch.int64)  # which it would not be if all are empty


@refuses_other_kinds
def make_batches(
    pairs: list[Pair],
    *,
    batch_tokens: int,
    generator: torch.Generator | None = None,
    pad_id: int = PAD_ID,
) -> list[Batch]:
    """Return batches of pairs of similar length; each pair occurs once.

    A batch has at most `batch_tokens` source tokens and as many target tokens,
    padding included. With a `generator`, pairs of equal lengths are shuffled and
    the batches have a random order; without one, they are ordered from short to
    long. `pad_id` is that of the model.
    """
    _refuse_unfit(pairs, batch_tokens)
    rows = list(range(len(pairs)))
    if generator is not None:
        rows = torch.randperm(len(pairs), generator=generator).tolist()
    order = sorted(rows, key=lambda row: (len(pairs[row][1]), len(pairs[row][0])))
    groups = fill_batches(pairs, order, batch_tokens)
    if generator is not None:
        mixed = torch.randperm(len(groups), generator=generator).tolist()
        groups = [groups[place] for place in mixed]
    return [batch_of(pairs, rows, pad_id=pad_id) for rows in groups]


def fill_batches(
    pairs: list[Pair],
    rows: list[int],
    batch_tokens: int,
) -> list[list[int]]:
    """Return the rows of each batch, filled in the order of `rows`.

    A batch has at most `batch_tokens` tokens on each side, padding included.
    """
    groups: list[list[int]] = []
    longest = 0
    for row in rows:
        longest = max(longest, *map(len, pairs[row]))
        if not groups or longest * (len(groups[-1]) + 1) > batch_tokens:
            groups.append([])
            longest = max(map(len, pairs[row]))
        groups[-1].append(row)
    return groups


def batch_of(pairs: list[Pair], rows: list[int], *, pad_id: int = PAD_ID) -> Batch:
    """Return some of the pairs as one batch."""
    src, tgt = (pad([pairs[row][side] for row in rows], pad_id=pad_id) for side in (0, 1))
    return Batch(rows, src, tgt, pad_id)


def check_encoded(src: list[int], tgt: list[int], name: str) -> None:
    """Refuse a pair that is not encoded, or has no target; `name` is what the message calls it."""
    for side in (src, tgt):
        if not isinstance(side, list) or not all(
            type(id_) is int or whole_number(id_) is not None for id_ in side
        ):
            raise TypeError(
                f"{name} has {str(side)[:40]!r}, which is not a list of ids; give encode_pairs(…)"
            )
    if not tgt:
        raise ValueError(f"{name} has no target; give each source at least one id to predict")


def _refuse_unfit(pairs: list[Pair], batch_tokens: int) -> None:
    if not pairs:
        raise ValueError("there are no pairs to make batches of; give a corpus with at least one")
    for row, (src, tgt) in enumerate(pairs, start=1):
        check_encoded(src, tgt, f"pair {row}")
        if max(len(src), len(tgt)) > batch_tokens:
            raise ValueError(
                f"pair {row} has {len(src)} source and {len(tgt)} target tokens, more than "
                f"batch_tokens={batch_tokens}; give {max(len(src), len(tgt))} or more, or drop the pair"
            )
