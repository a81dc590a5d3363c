"""Settings of a training run: section 5 of the paper, the chapter on training."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from annotated_transformer.config import TransformerConfig
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.whole_numbers import store_whole_numbers

Kept = Literal["last", "best"]
LIMITS = ("steps", "minutes", "patience")


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Length, batch size, learning rate and precision; the defaults are the paper's, without a time limit.

    The command `train` has an option for each field, whose help is the first sentence below.

    Attributes:
        steps: Stop after this many updates of the weights; `None` means no limit. Training ends at the first
            limit that it reaches.
        minutes: Stop after this many minutes of training; `None` means no limit. It is the wall time over all
            sessions of a training run that was interrupted.
        patience: Stop early when the validation loss has not become lower for this many epochs; `None` means
            no limit. There must be a limit of steps or minutes, too.
        batch_tokens: Maximum number of tokens on each side of a batch, padding included.
        accumulate: Number of batches in one update: their gradients are added up, as if they were one batch.
            The last update of an epoch may have fewer.
        warmup_steps: Updates during which the learning rate rises.
        max_lr: Highest learning rate, at the end of the warm-up; `None` means the paper's.
        clip_norm: Scale the gradient down to this norm if it is longer; `None` means never.
        label_smoothing: Probability mass spread uniformly over the vocabulary; 0.1 in the paper.
        bf16: Compute matrix products in bfloat16, which is faster on CPUs and GPUs that support it, and many
            times slower on CPUs that emulate it.
        fast: On a CPU, compute by the accelerated modules and loss of `annotated_transformer.fast`, whose
            dropout masks differ, and whose process keeps the memory that it frees. They are compared with
            the model first, in float64, and refused if they differ: changed lines of what they replace
            would have no effect.
    """

    steps: int | None = 100_000
    minutes: float | None = None
    patience: int | None = None
    batch_tokens: int = 25_000
    accumulate: int = 1
    warmup_steps: int = 4000
    max_lr: float | None = None
    clip_norm: float | None = None
    label_smoothing: float = 0.1
    bf16: bool = False
    fast: bool = False

    def __post_init__(self) -> None:
        """Refuse settings that would train forever, or not at all."""
        store_whole_numbers(self)
        if self.steps is None and self.minutes is None:
            raise ValueError("steps=None and minutes=None: training would never end; give one of them")
        for name in (*LIMITS, "batch_tokens", "accumulate", "warmup_steps", "max_lr", "clip_norm"):
            value = getattr(self, name)
            whole = name not in ("minutes", "max_lr", "clip_norm")
            kind = "whole number" if whole else "number"
            if value is None:
                continue
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                raise TypeError(f"{name}={value!r} is not a number; give a positive {kind}")
            if not 0 < value < math.inf or (whole and value != int(value)):
                raise ValueError(f"{name}={value!r} is not a positive {kind}; give one")
        for name in ("bf16", "fast"):
            if not isinstance(value := getattr(self, name), bool):
                raise TypeError(f"{name}={value!r} is not a bool; give True or False")
        if not isinstance(self.label_smoothing, (int, float)) or not 0 <= self.label_smoothing < 1:
            raise ValueError(
                f"label_smoothing={self.label_smoothing!r} is not a probability; give 0 or more, below 1"
            )


@refuses_other_kinds
@dataclass(frozen=True, kw_only=True)
class Recipe:
    """All settings of a training run, apart from its corpus and its seed.

    Attributes:
        shape: The shape of the model. The tokenizer is trained for this `vocab_size`; if the corpus yields
            fewer tokens, so does the model's vocabulary.
        training: Length, batch size, learning rate and precision.
        bpe_dropout: Probability of leaving out a merge of the tokenizer, drawn anew in each epoch: p of
            `BPEDropout`.
        bidirectional: Number of initial epochs that also train the reverse direction: each pair occurs
            twice, once with source and target exchanged (Ding et al., 2021).
        average: Number of last epochs whose weights are averaged into the final model.
        keep: The epoch at which the final model is taken: the last one, or the one with the lowest
            validation loss. In both cases, `average` includes this epoch and those before it, and the
            validation loss is that of the epoch's own weights, not of the mean.
    """

    shape: TransformerConfig
    training: TrainingConfig
    bpe_dropout: float = 0.0
    bidirectional: int = 0
    average: int = 1
    keep: Kept = "last"

    def __post_init__(self) -> None:
        """Refuse settings that would fail only after hours of training."""
        store_whole_numbers(self)
        for name in ("pad_id", "bos_id", "eos_id"):
            if (id_ := getattr(self.shape, name)) != (needed := getattr(TransformerConfig, name)):
                raise ValueError(f"{name}={id_!r} is not that of the tokenizer, {needed}; leave it out")
        if self.average < 1:
            raise ValueError(f"average={self.average!r} epochs have no mean; give 1 or more epochs")
        if self.keep not in get_args(Kept):
            raise ValueError(
                f"keep={self.keep!r} is not an epoch to keep; give {' or '.join(get_args(Kept))}"
            )
        if self.bidirectional < 0:
            raise ValueError(
                f"bidirectional={self.bidirectional!r} is not a number of epochs; give 0 (none) or more"
            )
        if not 0 <= self.bpe_dropout < 1:
            raise ValueError(
                f"bpe_dropout={self.bpe_dropout!r} is not a probability; give 0 (none) or more, below 1"
            )


def refuse_seed(seed: int) -> None:
    """Refuse a seed that PyTorch's CPU generator would truncate."""
    if not 0 <= seed < 2**32:
        raise ValueError(
            f"seed={seed!r}, of which PyTorch's generator would use the last 32 bits, "
            f"{seed % 2**32}; give 0 to {2**32 - 1}"
        )
